/* forkmap.columns: a map's columns, what follows from them, and where they come from.
   The columns are those of dashboard/components/treegrid.py: one value a node, in pre-order. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});

  /* ---- structure: everything that the depths and supports imply, once a map ---------------- */

  const known = new WeakMap();

  /** Structure of a map's columns; the same object for the same columns. */
  function structure(data) {
    if (!known.has(data)) known.set(data, derive(data));
    return known.get(data);
  }

  function derive(data) {
    const { depth, support } = data;
    const nodes = depth.length;
    const parent = new Int32Array(nodes).fill(-1);
    const size = new Int32Array(nodes).fill(1);
    const children = new Int32Array(nodes);
    const lastAt = [];
    for (let node = 0; node < nodes; node++) {
      lastAt[depth[node]] = node;
      if (node === 0) continue;
      parent[node] = lastAt[depth[node] - 1];
      children[parent[node]]++;
    }
    for (let node = nodes - 1; node > 0; node--) size[parent[node]] += size[node];
    const joins = (node) => node > 0 && children[parent[node]] === 1 && support[node] === support[parent[node]];
    const head = new Int32Array(nodes);
    const end = new Int32Array(nodes);
    for (let node = 0; node < nodes; node++) head[node] = joins(node) ? head[parent[node]] : node;
    for (let node = nodes - 1; node >= 0; node--) {
      end[node] = children[node] === 1 && joins(node + 1) ? end[node + 1] : node;
    }
    return { nodes, parent, size, children, head, end, texts: searchTexts(data), byKey: null };
  }

  function searchTexts({ kinds, names, buckets }) {
    return names.map((name, token) => `${kinds[token]}:${name}${buckets[token]}`.toLowerCase());
  }

  /** The node with that stable key, or -1. */
  function find(data, key) {
    const tree = structure(data);
    if (!tree.byKey) tree.byKey = new Map(data.key.map((each, node) => [each, node]));
    return tree.byKey.has(key) ? tree.byKey.get(key) : -1;
  }

  /** The nodes that share a row: a chain of only children with their parent's support. */
  function chain(data, head) {
    const { end } = structure(data);
    return Array.from({ length: end[head] - head + 1 }, (_, place) => head + place);
  }

  /** The node that selecting a row means: the fatal or golden fork it starts with, else where it leads. */
  function target(data, head) {
    return data.fork[head] === undefined && data.golden[head] === undefined ? structure(data).end[head] : head;
  }

  const ROWS_OPENED = 24;

  /* ---- filtering and rows ------------------------------------------------------------------ */

  const FILTERS = {
    forks: (data, node) => data.fork[node] !== undefined,
    golden: (data, node) => data.golden[node] !== undefined,
    hotspots: (data, node) => data.hotspot[node] !== undefined,
    decided: (data, node) => data.tone[node] !== 0,
  };

  /** Which nodes a query and a filter keep: 2 a hit, 1 above a hit; null if all are kept. */
  function match(data, query, filter) {
    const words = (query || "").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = FILTERS[filter];
    if (!words.length && !wanted) return null;
    const { nodes, parent, texts } = structure(data);
    const named = texts.map((text) => words.every((word) => text.includes(word)));
    const keep = new Uint8Array(nodes);
    const children = new Int32Array(nodes);
    let hits = 0;
    for (let node = nodes - 1; node >= 0; node--) {
      const token = data.token[node];
      if ((token < 0 ? !words.length : named[token]) && (!wanted || wanted(data, node))) {
        keep[node] = 2;
        hits++;
      }
      if (!keep[node] || node === 0) continue;
      children[parent[node]]++;
      if (!keep[parent[node]]) keep[parent[node]] = 1;
    }
    keep[0] = keep[0] || 1;
    return { keep, children, hits };
  }

  /** The rows on show, top to bottom: columns of head, level, place among and number of siblings. */
  function rows(data, isOpen, kept) {
    const { nodes, parent, size, children, end } = structure(data);
    const family = kept ? kept.children : children;
    const shown = { head: [], level: [], place: [], siblings: [], at: new Map() };
    const places = new Map();
    const ends = [];
    let node = 0;
    while (node < nodes) {
      while (ends.length && node >= ends[ends.length - 1]) ends.pop();
      if (kept && !kept.keep[node]) {
        node += size[node];
        continue;
      }
      const tail = end[node];
      const above = parent[node];
      const place = (places.get(above) || 0) + 1;
      places.set(above, place);
      shown.at.set(node, shown.head.length);
      shown.head.push(node);
      shown.level.push(ends.length);
      shown.place.push(place);
      shown.siblings.push(above < 0 ? 1 : family[above]);
      ends.push(tail + size[tail]);
      node = family[tail] && isOpen(tail) ? tail + 1 : tail + size[tail];
    }
    return shown;
  }

  /** Nodes that stand open at first: as many levels as fit a screen, and the way to every fatal fork. */
  function opening(data) {
    const { nodes, parent, head, end } = structure(data);
    const open = new Uint8Array(nodes);
    const level = new Int32Array(nodes);
    const rowsAt = [1];
    for (let node = 1; node < nodes; node++) {
      level[node] = level[parent[node]] + (head[node] === node ? 1 : 0);
      if (head[node] === node) rowsAt[level[node]] = (rowsAt[level[node]] || 0) + 1;
    }
    let deepest = 1;
    for (let fits = rowsAt[0] + (rowsAt[1] || 0); deepest < rowsAt.length; deepest++) {
      fits += rowsAt[deepest + 1] || 0;
      if (fits > ROWS_OPENED) break;
    }
    for (let node = 0; node < nodes; node++) if (level[node] < deepest) open[end[node]] = 1;
    for (const fork of Object.keys(data.fork)) openTo(parent, open, Number(fork));
    return open;
  }

  /** What is open in one build of a map, carried over to another by the steps' keys.
      Steps that shared a row were in sight of each other, and stay so where they part. */
  function carry(from, open, data) {
    if (from === data) return open;
    const { end } = structure(from);
    return Uint8Array.from(data.key, (key) => {
      const node = find(from, key);
      return node >= 0 && (end[node] !== node || open[node]) ? 1 : 0;
    });
  }

  /** Open everything above a node; whether that changed anything. */
  function openTo(parent, open, node) {
    let changed = false;
    for (let above = parent[node]; above >= 0; above = parent[above]) {
      changed = changed || !open[above];
      open[above] = 1;
    }
    return changed;
  }

  /* ---- words ------------------------------------------------------------------------------- */

  /** A step's kind, name and repeat bucket; a name that nobody could see is spelt out. */
  function step(data, node) {
    const token = data.token[node];
    if (token < 0) return { kind: "", name: "start", bucket: "" };
    return { kind: data.kinds[token], name: legible(data.names[token]), bucket: data.buckets[token] };
  }

  const INVISIBLE = /^[\p{Cf}\p{Z}\p{M}\u115f\u1160\u3164\u2800]*$/u;

  function legible(name) {
    if (!INVISIBLE.test(name)) return name;
    return Array.from(name, (sign) => "U+" + sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")).join(" ");
  }

  /** Per mille as a percentage with one decimal: 544 is 54.4. */
  const percent = (perMille) => (perMille / 10).toFixed(1);

  /* Made once: toLocaleString makes one of these at each call. */
  const { format: count } = new Intl.NumberFormat("en");

  const TONES = { "-1": "below the base rate", 0: "not told apart from the base rate", 1: "above the base rate" };
  const toneInWords = (tone) => TONES[Math.sign(tone)];

  /* ---- where columns come from ------------------------------------------------------------- */

  const KEPT_ANSWERS = 4;
  const answers = new Map();

  /** Columns behind a URL; asked for once, however many components want them. */
  function load(src) {
    if (!answers.has(src)) {
      if (answers.size >= KEPT_ANSWERS) answers.delete(answers.keys().next().value);
      const answer = ask(src);
      answers.set(src, answer);
      answer.catch(() => answers.delete(src));
    }
    return answers.get(src);
  }

  const RELOADED = "forkmap.reloaded";
  const RELOAD_AGAIN_MS = 10_000;
  const AGAIN_MS = 5_000;
  const GONE = 409;

  async function ask(src) {
    const response = await fetch(src, { headers: { Accept: "application/json" } });
    if (response.ok) return response.json();
    const said =
      response.status === GONE
        ? "The map has been built anew since this page was opened. Load the page again."
        : `The map did not come (the server answered ${response.status}).`;
    throw Object.assign(new Error(said), { status: response.status });
  }

  /** The page is older than the map: load it again, but never over and over. */
  function reload() {
    if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_AGAIN_MS) return false;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    window.location.reload();
    return true;
  }

  /** What a URL of columns is of, whenever they were built. */
  const place = (src) => (src || "").replace(/[?&]built=[^&]*/, "");

  /** React hook: { data } once the columns are there, { error, retry } if they did not come.
      A map that was built anew takes the place of the one on show when it is there, not before. */
  function useColumns({ data, src }) {
    const [answer, setAnswer] = window.React.useState({});
    const [attempt, setAttempt] = window.React.useState(0);
    const known = answer.data && place(answer.src) === place(src);
    window.React.useEffect(() => {
      if (!src) return undefined;
      let wanted = true;
      const again = () => wanted && setAttempt((n) => n + 1);
      load(src).then(
        (columns) => wanted && setAnswer({ src, data: columns }),
        (error) => {
          if (!wanted) return;
          if (known) window.setTimeout(again, AGAIN_MS);
          else if (error.status !== GONE || !reload()) setAnswer({ src, error: error.message, retry: again });
        }
      );
      return () => {
        wanted = false;
      };
    }, [src, attempt]);
    if (!src) return { data };
    return known || answer.src === src ? answer : {};
  }

  forkmap.columns = {
    structure, find, chain, target, match, rows, opening, carry, openTo, step, percent, count, toneInWords, load, place, useColumns,
  };
})();
