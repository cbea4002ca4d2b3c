/* forkmap.TreeGrid: a map as a virtualised WAI-ARIA treegrid. Plain JavaScript; React comes from Dash. */
(function () {
  "use strict";
  const React = window.React;
  const h = React.createElement;
  const forkmap = (window.forkmap = window.forkmap || {});
  const columns = forkmap.columns;

  const ROW_PX = 32;
  const OVERSCAN = 3;
  const CHAIN_SHOWN = 4;
  const TYPING_MS = 600;

  /* ---- parts of a row ---------------------------------------------------------------------- */

  const icon = (path, size = 12) =>
    h(
      "svg",
      { viewBox: "0 0 12 12", width: size, height: size, "aria-hidden": true },
      h("path", {
        d: path, fill: "none", stroke: "currentColor", strokeWidth: 1.5, strokeLinecap: "round", strokeLinejoin: "round",
      })
    );
  const CHEVRON = "M4.5 3l3 3-3 3";
  const FORK = "M6 11V7L2.5 3.5M6 7l3.5-3.5M2.5 6V3.5H5";
  const STAR = "M6 1.5l1.4 3 3.1.3-2.4 2.1.7 3.1L6 8.4l-2.8 1.6.7-3.1-2.4-2.1 3.1-.3z";
  const SCATTER = "M1.5 6h4L9.5 2.5M5.5 6h5M5.5 6l4 3.5";

  /** A step as text: names come from traces and are never read as markup. */
  function Step({ data, node, chosen, onClick }) {
    const { kind, name, bucket } = columns.step(data, node);
    return h(
      "span",
      { className: chosen ? "step chosen" : "step", onClick },
      kind && h("span", { className: `kind kind-${kind}` }, kind),
      h("bdi", { className: "step-name" }, name),
      bucket && h("span", { className: "step-repeat" }, bucket)
    );
  }

  /** The steps that share a row; of a long chain the first two, the last, and the selected one. */
  function Chain({ data, head, selected, onStep }) {
    const nodes = columns.chain(data, head);
    const last = nodes[nodes.length - 1];
    const long = nodes.length > CHAIN_SHOWN;
    const shown = long ? nodes.filter((node) => node < head + 2 || node === last || node === selected) : nodes;
    return shown.map((node, place) => {
      const hidden = place ? node - shown[place - 1] - 1 : 0;
      return h(
        React.Fragment,
        { key: node },
        place > 0 && h("span", { className: "tree-then", "aria-hidden": true }, "›"),
        hidden > 0 && h("span", { className: "tree-more" }, `${hidden} more ›`),
        h(Step, { data, node, chosen: node === selected && nodes.length > 1, onClick: (event) => onStep(event, node) })
      );
    });
  }

  /** The part of a badge that a narrow tree leaves out. */
  const word = (text) => h("span", { className: "badge-word" }, text);

  /** A fork that may be chance is outlined only, and says so. */
  const forkMark = (name, look, p, doubt) =>
    doubt === undefined
      ? { className: `badge badge-${look}`, title: `${name}: p ${p}` }
      : { className: `badge badge-${look} maybe`, title: `${name}: p ${p}; may be chance: q ${doubt}` };

  function Badges({ data, head, tail }) {
    const p = data.fork[head];
    const better = data.golden[head];
    const bits = data.hotspot[tail];
    const live = data.live[head];
    return [
      p !== undefined &&
        h("span", { key: "fork", ...forkMark("Fatal fork", "fork", p, data.doubt[head]) }, icon(FORK), word("fatal fork")),
      better !== undefined &&
        h("span", { key: "golden", ...forkMark("Golden fork", "golden", better, data.doubt[head]) }, icon(STAR), word("golden fork")),
      bits !== undefined &&
        h(
          "span",
          { key: "hot", className: "badge badge-hot", title: `Hotspot: ${bits.toFixed(2)} bits of entropy in the step taken next` },
          icon(SCATTER),
          bits.toFixed(2),
          word("bits")
        ),
      live > 0 &&
        h("span", { key: "live", className: "badge badge-live", title: "Live runs here or below; in no rate" }, columns.count(live), word("live")),
      data.cut[tail] !== undefined &&
        h("span", { key: "cut", className: "badge badge-cut", title: "The map's bound left out rarer steps after this one" }, "cut"),
    ];
  }

  function Interval({ data, node }) {
    const at = (perMille) => `${perMille / 10}%`;
    const width = `max(4px, ${(data.high[node] - data.low[node]) / 10}%)`;
    return h(
      "span",
      { className: `whisker tone${data.tone[node]}`, "aria-hidden": true },
      h("span", { className: "whisker-bar", style: { left: at(data.low[node]), width } }),
      h("span", { className: "whisker-point", style: { left: at(data.rate[node]) } })
    );
  }

  function Runs({ data, node }) {
    const share = 100 * (data.support[node] / (data.support[0] || 1));
    return [
      h("span", { key: "count" }, columns.count(data.support[node])),
      h("span", { key: "share", className: "tree-share", style: { width: `${share}%` }, "aria-hidden": true }),
    ];
  }

  function Figures({ data, node }) {
    return [
      h("b", { key: "rate" }, `${columns.percent(data.rate[node])}%`),
      h("span", { key: "low" }, columns.percent(data.low[node])),
      h("span", { key: "to", className: "tree-to" }, "–"),
      h("span", { key: "high" }, columns.percent(data.high[node])),
    ];
  }

  const cell = (name, props, ...children) => h("div", { role: "gridcell", className: `tree-${name}`, ...props }, ...children);

  /** Deep levels are indented less, or names would have no room. */
  const indent = (level) => Math.min(level, 12) + 0.25 * Math.max(0, level - 12);

  /** A row is drawn again only where something of it differs: of a move up or down it is two of them. */
  const Row = React.memo(function Row({ id, data, head, row, level, place, siblings, current, chosen, open, expandable, hit, actions }) {
    const tail = columns.structure(data).end[head];
    const tone = data.tone[tail];
    const names = columns.chain(data, head).map((node) => columns.step(data, node));
    const title = names.map(({ kind, name, bucket }) => `${kind && kind + " "}${name}${bucket}`).join(" › ");
    const style = { top: row * ROW_PX, "--level": indent(level) };
    const className = ["tree-row", `tone${tone}`, current && "current", !hit && "context"].filter(Boolean).join(" ");
    return h(
      "div",
      {
        id: `${id}-${head}`,
        role: "row",
        className,
        style,
        "aria-level": level + 1,
        "aria-rowindex": row + 2,
        "aria-posinset": place,
        "aria-setsize": siblings,
        "aria-selected": current,
        "aria-expanded": expandable ? open : undefined,
        onClick: () => actions.select(columns.target(data, head)),
        onDoubleClick: () => actions.toggle(head),
      },
      cell(
        "name",
        { title },
        h("span", { className: "tree-edge", "aria-hidden": true }),
        h("span", { className: "tree-indent", "aria-hidden": true }),
        h(
          "span",
          {
            className: `tree-toggle${expandable ? "" : " leaf"}${open ? " open" : ""}`,
            "aria-hidden": true,
            onClick: (event) => {
              event.stopPropagation();
              actions.toggle(head);
            },
            onDoubleClick: (event) => event.stopPropagation(),
          },
          icon(CHEVRON, 16)
        ),
        h(
          "span",
          { className: "tree-chain" },
          h(Chain, {
            data,
            head,
            selected: chosen,
            onStep: (event, node) => {
              if (tail === head) return;
              event.stopPropagation();
              actions.select(node);
            },
          })
        ),
        h(Badges, { data, head, tail })
      ),
      cell("runs", {}, h(Runs, { data, node: tail })),
      cell("interval", { "aria-label": columns.toneInWords(tone) }, h(Interval, { data, node: tail })),
      cell("figures", {}, h(Figures, { data, node: tail }))
    );
  });

  /* ---- head and tools ---------------------------------------------------------------------- */

  const heading = (name, ...children) => h("div", { role: "columnheader", className: `tree-${name}` }, ...children);

  function Head({ base }) {
    const near = (end) => base !== null && Math.abs(base - end) < 360;
    const middle = base === null ? 500 : Math.min(840, Math.max(160, base));
    return h(
      "div",
      { role: "rowgroup", className: "tree-headgroup" },
      h(
        "div",
        { role: "row", className: "tree-head", "aria-rowindex": 1 },
        heading("name", "Step"),
        heading("runs", "Runs"),
        heading(
          "interval",
          h(
            "span",
            { className: "tree-axis" },
            !near(0) && h("i", { style: { left: 0 } }, "0"),
            base !== null && h("b", { style: { left: `${middle / 10}%` } }, `base ${columns.percent(base)}%`),
            !near(1000) && h("i", { style: { right: 0 } }, "100")
          )
        ),
        heading("figures", h("b", null, "Success"), h("span", { className: "tree-ci" }, "95% interval"))
      )
    );
  }

  const FILTERS = [["all", "All steps"], ["forks", "Fatal forks"], ["golden", "Golden forks"], ["hotspots", "Hotspots"], ["decided", "Off the base rate"]];

  const SHADES = [
    "The 95% interval holds the base rate, or there are under 10 runs",
    "The 95% interval ends less than 10 points from the base rate",
    "The 95% interval ends further than 10 points from the base rate",
    "The 95% interval ends further than 25 points from the base rate",
  ];

  function Tools({ id, query, filter, hits, onChange, onLeave }) {
    const swatch = (tone) => h("i", { key: tone, className: `swatch tone${tone}`, title: SHADES[Math.abs(tone)] });
    const tones = (from) => [from, from + 1, from + 2].map(swatch);
    return h(
      "div",
      { className: "tree-tools" },
      h("input", {
        type: "search",
        className: "tree-query",
        value: query,
        placeholder: "Filter steps",
        "aria-label": "Filter steps by name",
        "aria-keyshortcuts": "/",
        "aria-controls": id,
        autoComplete: "off",
        spellCheck: false,
        onChange: (event) => onChange({ query: event.target.value }),
        onKeyDown: (event) => {
          if (event.key === "Escape" && query) onChange({ query: "" });
          else if (["Escape", "Enter", "ArrowDown"].includes(event.key)) onLeave();
          else return;
          event.preventDefault();
        },
      }),
      h(
        "select",
        { value: filter, "aria-label": "Which steps", onChange: (event) => onChange({ filter: event.target.value }) },
        FILTERS.map(([value, text]) => h("option", { key: value, value }, text))
      ),
      h("span", { className: "dim", role: "status" }, hits === null ? "" : hits === 1 ? "1 step" : `${columns.count(hits)} steps`),
      h(
        "span",
        { className: "legend" },
        h("span", null, tones(-3), "below base by over 25, 10, 0 points"),
        h("span", null, swatch(0), "undecided"),
        h("span", null, tones(1), "above by over 0, 10, 25")
      )
    );
  }

  /* ---- keys -------------------------------------------------------------------------------- */

  /** What a key does, by the treegrid pattern; each is given the grid's moves. */
  const KEYS = {
    ArrowDown: (move) => move.to(move.row + 1),
    ArrowUp: (move) => move.to(move.row - 1),
    ArrowRight: (move) => (move.expandable && !move.open ? move.toggle() : move.expandable && move.to(move.row + 1)),
    ArrowLeft: (move) => (move.expandable && move.open ? move.toggle() : move.up()),
    Home: (move) => move.to(0),
    End: (move) => move.to(Infinity),
    PageDown: (move) => move.to(move.row + move.page),
    PageUp: (move) => move.to(move.row - move.page),
    Enter: (move) => move.expandable && move.toggle(),
    " ": (move) => move.expandable && move.toggle(),
    "*": (move) => move.openSiblings(),
  };

  /** Row of the next step whose name begins with what was typed just now; -1 if there is none. */
  function typeahead(data, shown, row, typed) {
    const from = typed.length > 1 ? Math.max(row, 0) : row + 1;
    for (let ahead = 0; ahead < shown.head.length; ahead++) {
      const candidate = (from + ahead) % shown.head.length;
      if (columns.step(data, shown.head[candidate]).name.toLowerCase().startsWith(typed)) return candidate;
    }
    return -1;
  }

  /* ---- the component ----------------------------------------------------------------------- */

  function useHeight(box) {
    const [height, setHeight] = React.useState(600);
    React.useLayoutEffect(() => {
      const measure = () => setHeight(box.current.clientHeight - ROW_PX);
      const observer = new ResizeObserver(measure);
      observer.observe(box.current);
      measure();
      return () => observer.disconnect();
    }, []);
    return height;
  }

  /** What is filtered for: kept here so that typing is never behind, and told to the page. */
  function useFilter({ query = "", filter = "all", setProps }) {
    const [asked, setAsked] = React.useState({ query, filter });
    React.useEffect(() => setAsked({ query, filter }), [query, filter]);
    const ask = (change) => {
      setAsked({ ...asked, ...change });
      setProps(change);
    };
    return [asked, ask];
  }

  /** What was open and scrolled to in the maps looked at last: a person who comes back finds it so. */
  const left = new Map();
  const LEFT = 8;

  function leave(place, state) {
    left.delete(place);
    left.set(place, state);
    if (left.size > LEFT) left.delete(left.keys().next().value);
  }

  /** Which nodes stand open: at first those of `opening`, then what a person made of them, build after build. */
  function useOpen(place, data) {
    return React.useMemo(() => {
      const before = place && left.get(place);
      const open = before ? columns.carry(before.data, before.open, data) : columns.opening(data);
      leave(place, { ...before, data, open });
      return open;
    }, [data]);
  }

  /** Where the grid is scrolled to; what is looked at stays where it is when rows come or go above it. */
  function useScroll(box, place, { data, shown, row, height }) {
    const [top, setTop] = React.useState(0);
    const before = React.useRef({});
    React.useLayoutEffect(() => {
      const was = before.current;
      if (!was.data) box.current.scrollTop = left.get(place).top || 0;
      else if (was.data !== data) {
        const seen = was.row >= 0 && was.row * ROW_PX >= was.top && (was.row + 1) * ROW_PX <= was.top + height;
        const anchor = seen ? was.row : Math.ceil(was.top / ROW_PX);
        const now = shown.at.get(columns.find(data, was.data.key[was.shown.head[anchor]]));
        if (now !== undefined) box.current.scrollTop += (now - anchor) * ROW_PX;
      }
    }, [data]);
    React.useLayoutEffect(() => {
      before.current = { data, shown, row, top };
      leave(place, { ...left.get(place), top });
    });
    return [top, setTop];
  }

  function Grid(props) {
    const { id, data, src, selected, label } = props;
    const [{ query, filter }, ask] = useFilter(props);
    const box = React.useRef(null);
    const typing = React.useRef({ text: "", at: 0 });
    const height = useHeight(box);
    const [change, setChange] = React.useState(0);
    const tree = columns.structure(data);
    const place = columns.place(src);
    const open = useOpen(place, data);
    const kept = React.useMemo(() => columns.match(data, query, filter), [data, query, filter]);
    const shut = React.useMemo(() => new Uint8Array(tree.nodes), [kept]);
    const isOpen = (tail) => (kept ? !shut[tail] : open[tail] === 1);
    const shown = React.useMemo(() => columns.rows(data, isOpen, kept), [data, kept, change]);

    const node = Math.max(0, columns.find(data, selected));
    const head = tree.head[node];
    const row = shown.at.has(head) ? shown.at.get(head) : -1;
    const [top, setTop] = useScroll(box, place, { data, shown, row, height });
    const family = kept ? kept.children : tree.children;
    const expandable = (each) => family[tree.end[each]] > 0;

    const setOpen = (heads, on) => {
      for (const each of heads) (kept ? shut : open)[tree.end[each]] = Number(on !== Boolean(kept));
      setChange((changes) => changes + 1);
    };
    const actions = React.useRef({}).current; /* the same for every drawing, so that rows can be */
    actions.select = (each) => data.key[each] !== selected && forkmap.select(data.key[each]);
    actions.toggle = (each) => expandable(each) && setOpen([each], !isOpen(tree.end[each]));

    /* A selection from elsewhere opens the way to itself and comes into view. */
    React.useEffect(() => {
      if (columns.openTo(tree.parent, open, head)) setChange((changes) => changes + 1);
    }, [selected]);
    React.useEffect(() => {
      if (row < 0) return;
      const y = row * ROW_PX;
      if (y < box.current.scrollTop) box.current.scrollTop = y;
      else if (y + ROW_PX > box.current.scrollTop + height) box.current.scrollTop = y + ROW_PX - height;
    }, [selected, kept, row < 0, height]);

    const moves = () => ({
      row,
      page: Math.max(1, Math.floor(height / ROW_PX) - 1),
      open: isOpen(tree.end[head]),
      expandable: row >= 0 && expandable(head),
      to: (place) => actions.select(columns.target(data, shown.head[Math.max(0, Math.min(shown.head.length - 1, place))])),
      up: () => tree.parent[head] >= 0 && actions.select(columns.target(data, tree.head[tree.parent[head]])),
      toggle: () => actions.toggle(head),
      openSiblings: () => setOpen(shown.head.filter((each) => tree.parent[each] === tree.parent[head] && expandable(each)), true),
    });

    const onKeyDown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (KEYS[event.key]) KEYS[event.key](moves());
      else if (event.key.length === 1 && !"/?".includes(event.key)) {
        const now = Date.now();
        const { text, at } = typing.current;
        typing.current = { text: (now - at < TYPING_MS ? text : "") + event.key.toLowerCase(), at: now };
        const found = typeahead(data, shown, row, typing.current.text);
        if (found >= 0) moves().to(found);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };

    const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN);
    const last = Math.min(shown.head.length, Math.ceil((top + height) / ROW_PX) + OVERSCAN);
    const drawn = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
    if (row >= 0 && (row < first || row >= last)) drawn.push(row); /* aria-activedescendant has to exist */
    const draw = (each) => {
      const from = shown.head[each];
      const until = tree.end[from];
      return h(Row, {
        key: from,
        id,
        data,
        head: from,
        row: each,
        level: shown.level[each],
        place: shown.place[each],
        siblings: shown.siblings[each],
        current: each === row,
        chosen: node >= from && node <= until ? node : -1,
        open: isOpen(until) && expandable(from),
        expandable: expandable(from),
        hit: !kept || columns.chain(data, from).some((step) => kept.keep[step] === 2),
        actions,
      });
    };

    return h(
      React.Fragment,
      null,
      h(Tools, { id, query, filter, hits: kept && kept.hits, onChange: ask, onLeave: () => box.current.focus() }),
      h(
        "div",
        {
          id,
          ref: box,
          role: "treegrid",
          tabIndex: 0,
          className: "tree-grid",
          "aria-label": label || "Behaviour tree",
          "aria-rowcount": shown.head.length + 1,
          "aria-activedescendant": row >= 0 ? `${id}-${head}` : undefined,
          onKeyDown,
          onScroll: (event) => setTop(event.currentTarget.scrollTop),
        },
        h(Head, { base: data.base }),
        h(
          "div",
          {
            role: "rowgroup",
            className: data.base === null ? "tree-body" : "tree-body based",
            style: { height: shown.head.length * ROW_PX, "--base": data.base / 1000 },
          },
          drawn.map(draw)
        ),
        kept && !kept.hits && h("p", { className: "tree-none dim" }, "No step matches.")
      )
    );
  }

  /** Whatever stands in a component's place until its columns are there. */
  function Waiting({ id, error, retry, className }) {
    if (!error) return h("div", { id, className: `${className} waiting`, "aria-busy": true });
    return h("div", { id, className, role: "alert" }, h("p", null, error), h("button", { type: "button", className: "button", onClick: retry }, "Try again"));
  }
  forkmap.Waiting = Waiting;

  forkmap.TreeGrid = function TreeGrid(props) {
    const { data, error, retry } = columns.useColumns(props);
    const className = `treegrid ${props.className || ""}`;
    if (!data || !data.token.length) return h(Waiting, { id: props.id, error, retry, className });
    return h("div", { className }, h(Grid, { ...props, data }));
  };
})();
