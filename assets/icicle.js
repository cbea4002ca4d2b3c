/* forkmap.Icicle: the whole map at a glance on a canvas. A column is a step, height the share of
   runs, colour the tone. A double click makes a step the root, Escape goes back up. */
(function () {
  "use strict";
  const React = window.React;
  const h = React.createElement;
  const forkmap = (window.forkmap = window.forkmap || {});
  const columns = forkmap.columns;

  const HEIGHT_PX = 220;
  const THINNEST_PX = 1.5;
  const COLUMN_PX = 76;
  const MOST_COLUMNS = 16;
  const ROOT_PX = 64;
  const LABEL_PX = 13;

  /* ---- layout: what is drawn, in pixels ---------------------------------------------------- */

  /** Blocks of the steps below a root; steps too thin to see are gathered into one block a parent. */
  function layout(data, root, height) {
    const { parent, size } = columns.structure(data);
    const until = root + size[root];
    const blocks = new Map([[root, { node: root, column: 0, y: 0, height, used: 0, rest: 0 }]]);
    let deepest = 0;
    for (let node = root + 1; node < until; ) {
      const above = blocks.get(parent[node]);
      const tall = (above.height * data.support[node]) / Math.max(1, data.support[parent[node]]);
      if (tall < THINNEST_PX) {
        above.rest += tall;
        above.rarer = (above.rarer || 0) + 1;
        node += size[node];
        continue;
      }
      const column = data.depth[node] - data.depth[root];
      blocks.set(node, { node, column, y: above.y + above.used, height: tall, used: 0, rest: 0 });
      above.used += tall;
      deepest = Math.max(deepest, column);
      node++;
    }
    return { blocks: [...blocks.values()], at: blocks, deepest };
  }

  /** Left edge and width of a column; the start needs little room. */
  function ruler(deepest, width, narrowRoot) {
    const shown = Math.max(1, Math.min(deepest + 1, MOST_COLUMNS, Math.max(3, Math.floor(width / COLUMN_PX))));
    const first = narrowRoot && shown > 1 ? Math.min(ROOT_PX, width / shown) : width / shown;
    const rest = shown > 1 ? (width - first) / (shown - 1) : 0;
    return { shown, left: (column) => (column ? first + (column - 1) * rest : 0), width: (column) => (column ? rest : first) };
  }

  function hit(blocks, scale, x, y) {
    const found = blocks.find(
      ({ column, y: top, height }) =>
        column < scale.shown && x >= scale.left(column) && x < scale.left(column) + scale.width(column) && y >= top && y < top + height
    );
    return found ? found.node : -1;
  }

  /* ---- drawing ----------------------------------------------------------------------------- */

  const TOKENS = [
    ...[-3, -2, -1, 0, 1, 2, 3].map((tone) => [`area${tone}`, `--area${tone}`]),
    ...[0, 1, 2, 3].map((strength) => [`on${strength}`, `--on-area${strength}`]),
    ...["panel", "ink", "dim", "line", "fork", "fork-soft"].map((name) => [name, `--${name}`]),
  ];

  /** The theme's colours as the browser resolves them. */
  function readColours(element) {
    const probe = element.appendChild(document.createElement("i"));
    const colours = {};
    for (const [name, property] of TOKENS) {
      probe.style.color = `var(${property})`;
      colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return { ...colours, font: getComputedStyle(element).fontFamily };
  }

  /** Text cut in its middle to a width: steps beside each other often differ in their ends only. */
  function fit(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    const signs = Array.from(text);
    const cut = (kept) => signs.slice(0, (kept + 1) >> 1).join("") + "…" + signs.slice(signs.length - (kept >> 1)).join("");
    let [fits, tooLong] = [0, signs.length];
    while (fits + 1 < tooLong) {
      const middle = (fits + tooLong) >> 1;
      if (context.measureText(cut(middle)).width <= width) fits = middle;
      else tooLong = middle;
    }
    return fits ? cut(fits) : "";
  }

  /** A step's name with its repeat bucket whole; isolated, so that a right-to-left name stays in its place. */
  function label(context, { name, bucket }, width) {
    const room = width - (bucket ? context.measureText(bucket).width : 0);
    const cut = fit(context, name, room);
    return cut ? `\u2068${cut}\u2069${bucket}` : fit(context, bucket, width);
  }

  /** The blocks with their labels, drawn once: what is selected or pointed at is framed on top of them. */
  function drawBlocks({ data, plan, scale, colours, width, height, density }) {
    const canvas = document.createElement("canvas");
    const context = sized(canvas, width, height, density);
    context.textBaseline = "middle";
    for (const block of plan.blocks) {
      if (block.column >= scale.shown) continue;
      const x = scale.left(block.column);
      drawBlock(context, block, x, scale.width(block.column) - 1, data, colours);
      if (block.rest > 0 && block.column + 1 < scale.shown) {
        drawRest(context, block, scale.left(block.column + 1), scale.width(block.column + 1) - 1, colours);
      }
    }
    return canvas;
  }

  /** A canvas of a size in CSS pixels, cleared; its context. */
  function sized(canvas, width, height, density) {
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    const context = canvas.getContext("2d");
    context.scale(density, density);
    return context;
  }

  function drawBlock(context, { node, y, height }, x, width, data, colours) {
    const tone = data.tone[node];
    const gap = height > 4 ? 1 : 0;
    context.fillStyle = colours[`area${tone}`];
    context.fillRect(x, y, width, Math.max(height - gap, 0.75));
    const fork = data.fork[node] !== undefined;
    const pill = fork && height > 16 && width > 120 ? 62 : 0;
    if (height > LABEL_PX && width > 28) {
      context.font = `500 11px ${colours.font}`;
      context.fillStyle = colours[`on${Math.abs(tone)}`];
      context.fillText(label(context, columns.step(data, node), width - 12 - pill), x + 6, y + height / 2);
    }
    if (pill) drawPill(context, x + width - pill - 4, y + height / 2, pill, colours, data.doubt[node] !== undefined);
    else if (fork) {
      context.fillStyle = colours.fork;
      context.fillRect(x + width - 5, y, 5, Math.max(height - gap, 2));
    }
  }

  /** The mark of a fatal fork; one that may be chance is outlined only. */
  function drawPill(context, x, middle, width, colours, maybe) {
    context.fillStyle = colours[maybe ? "panel" : "fork-soft"];
    context.strokeStyle = colours.fork;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x, middle - 8, width, 16, 8);
    context.fill();
    if (maybe) context.stroke();
    context.font = `650 10.5px ${colours.font}`;
    context.fillStyle = colours.fork;
    context.fillText("fatal fork", x + 7, middle + 0.5);
  }

  function drawRest(context, { y, used, rest, rarer }, x, width, colours) {
    context.save();
    context.beginPath();
    context.rect(x, y + used, width, Math.max(rest - 0.5, 0.75));
    context.clip();
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let step = -rest; step < width; step += 5) {
      context.moveTo(x + step, y + used + rest);
      context.lineTo(x + step + rest, y + used);
    }
    context.stroke();
    context.restore();
    if (rest > LABEL_PX && width > 60) {
      context.font = `500 11px ${colours.font}`;
      context.fillStyle = colours.dim;
      context.fillText(fit(context, `${columns.count(rarer)} rarer`, width - 12), x + 6, y + used + rest / 2);
    }
  }

  function outline(context, { data, plan, scale, colours, selected, hovered }) {
    const { parent } = columns.structure(data);
    const frame = (node, lineWidth, dash) => {
      const block = plan.at.get(node);
      if (!block || block.column >= scale.shown) return;
      context.lineWidth = lineWidth;
      context.setLineDash(dash);
      const inset = lineWidth / 2;
      const left = scale.left(block.column) + inset;
      const width = scale.width(block.column) - 1 - lineWidth;
      context.strokeRect(left, block.y + inset, width, Math.max(block.height - 1 - lineWidth, 1));
    };
    context.strokeStyle = colours.ink;
    for (let node = parent[selected]; node >= 0; node = parent[node]) frame(node, 1, []);
    frame(nearest(plan, parent, selected), 2.5, []);
    if (hovered >= 0) frame(hovered, 1.5, [3, 2]);
    context.setLineDash([]);
  }

  /** The step itself, or the nearest one above it that is tall enough to be drawn. */
  function nearest(plan, parent, node) {
    while (node >= 0 && !plan.at.has(node)) node = parent[node];
    return node;
  }

  /* ---- the component ----------------------------------------------------------------------- */

  const contains = (tree, root, node) => node >= root && node < root + tree.size[root];

  function useWidth(frame) {
    const [width, setWidth] = React.useState(0);
    React.useLayoutEffect(() => {
      const measure = () => setWidth(frame.current.clientWidth);
      const observer = new ResizeObserver(measure);
      observer.observe(frame.current);
      measure();
      return () => observer.disconnect();
    }, []);
    return width;
  }

  /** Changes whenever the colours may have: another theme, or the font has come. */
  function useAppearance() {
    const [version, setVersion] = React.useState(0);
    React.useEffect(() => {
      const again = () => setVersion((last) => last + 1);
      const observer = new MutationObserver(again);
      observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      const system = window.matchMedia("(prefers-color-scheme: dark)");
      system.addEventListener("change", again);
      document.fonts.ready.then(again);
      return () => {
        observer.disconnect();
        system.removeEventListener("change", again);
      };
    }, []);
    return version;
  }

  /** The stack of roots: the last one is drawn; it must hold what is selected. */
  function useRoots(tree, data, node) {
    const [keys, setKeys] = React.useState([]);
    const found = keys.map((key) => columns.find(data, key));
    const roots = [0, ...found.filter((root) => root > 0 && contains(tree, root, node))];
    const root = roots[roots.length - 1];
    const keep = (chosen) => setKeys(chosen.map((each) => data.key[each]));
    const into = (next) => tree.children[next] > 0 && next !== root && keep([...roots, next]);
    return { root, into, up: () => keep(roots.slice(0, -1)) };
  }

  function Tip({ data, node, plan, scale, width, height }) {
    const block = plan.at.get(node);
    const { kind, name, bucket } = columns.step(data, node);
    const left = Math.max(0, Math.min(scale.left(block.column) + 8, width - 300));
    const low = block.y + Math.min(block.height, 40) + 6;
    const style = low + 56 > height ? { left, bottom: Math.max(0, height - block.y + 4) } : { left, top: low };
    return h(
      "div",
      { className: "icicle-tip", style },
      h("b", null, kind && `${kind} `, h("bdi", null, name), bucket),
      h("div", null, `${columns.count(data.successes[node])} of ${columns.count(data.support[node])} runs succeeded: ${columns.percent(data.rate[node])}%`),
      h("div", null, `95% interval ${columns.percent(data.low[node])}–${columns.percent(data.high[node])}%, ${columns.toneInWords(data.tone[node])}`)
    );
  }

  /** Where the zoom stands, and the way to a selected step that is too thin or too deep to be drawn. */
  function Way({ data, tree, root, hidden, into, up }) {
    const zoom =
      hidden > root && h("button", { type: "button", className: "button small", onClick: () => into(hidden) }, "Zoom to the selected step");
    if (root === 0) {
      return h("p", { className: "icicle-way dim" }, zoom || "Double-click a step to zoom into it; Escape goes back up.");
    }
    const path = [];
    for (let node = root; node >= 0; node = tree.parent[node]) path.unshift(columns.step(data, node));
    const shown = path.length > 5 ? [path[0], { name: "…", bucket: "" }, ...path.slice(-3)] : path;
    return h(
      "p",
      { className: "icicle-way" },
      h("button", { type: "button", className: "button small", onClick: up }, "Back up"),
      h("span", null, shown.map(({ name, bucket }, place) => h("bdi", { key: place }, (place ? " › " : "") + name + bucket))),
      zoom
    );
  }

  function Overview({ id, data, selected, height = HEIGHT_PX, label }) {
    const frame = React.useRef(null);
    const canvas = React.useRef(null);
    const width = useWidth(frame);
    const appearance = useAppearance();
    const [hovered, setHovered] = React.useState(-1);
    const tree = columns.structure(data);
    const node = Math.max(0, columns.find(data, selected));
    const { root, into, up } = useRoots(tree, data, node);
    const plan = React.useMemo(() => layout(data, root, height), [data, root, height]);
    const scale = React.useMemo(() => ruler(plan.deepest, width, root === 0), [plan, width, root]);
    const colours = React.useMemo(() => frame.current && readColours(frame.current), [appearance, width]);
    const block = plan.at.get(node);
    const hidden = block && block.column < scale.shown ? -1 : tree.parent[node];
    const drawnHover = plan.at.has(hovered) ? hovered : -1;

    const density = window.devicePixelRatio || 1;
    const picture = { data, plan, scale, colours, width, height, density };
    const drawn = React.useMemo(() => (width && colours ? drawBlocks(picture) : null), Object.values(picture));

    React.useLayoutEffect(() => {
      if (drawn) sized(canvas.current, width, height, density);
    }, [drawn]);
    React.useLayoutEffect(() => {
      if (!drawn) return;
      const context = canvas.current.getContext("2d");
      context.clearRect(0, 0, width, height);
      context.drawImage(drawn, 0, 0, width, height);
      outline(context, { ...picture, selected: node, hovered: drawnHover });
    }, [drawn, node, drawnHover]);

    const under = (event) => {
      const place = canvas.current.getBoundingClientRect();
      return hit(plan.blocks, scale, event.clientX - place.left, event.clientY - place.top);
    };
    const select = (found) => found >= 0 && data.key[found] !== selected && forkmap.select(data.key[found]);
    const onKeyDown = (event) => {
      if (event.key !== "Escape" || root === 0) return;
      up();
      event.preventDefault();
    };
    const what = label || "Overview of the map: a column is a step, height the share of runs. The tree below says the same by keyboard.";
    return h(
      "div",
      { onKeyDown },
      h(
        "div",
        { ref: frame, id, className: "icicle-frame", style: { height } },
        h("canvas", {
          ref: canvas,
          role: "img",
          tabIndex: -1,
          "aria-label": what,
          style: { height },
          onMouseMove: (event) => setHovered(under(event)),
          onMouseLeave: () => setHovered(-1),
          onClick: (event) => select(under(event)),
          onDoubleClick: (event) => under(event) >= 0 && into(under(event)),
        }),
        drawnHover >= 0 && h(Tip, { data, node: drawnHover, plan, scale, width, height })
      ),
      h(Way, { data, tree, root, hidden, into, up })
    );
  }

  forkmap.Icicle = function Icicle(props) {
    const { data, error, retry } = columns.useColumns(props);
    const className = `icicle ${props.className || ""}`;
    if (!data || !data.token.length) return h(forkmap.Waiting, { id: props.id, error, retry, className });
    return h("div", { className }, h(Overview, { ...props, data }));
  };
})();
