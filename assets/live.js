/* forkmap.LiveRuns: runs in flight as a table. Plain JavaScript; React comes from Dash.

   Dash makes thousands of components where these are a few hundred lines of text that change every two seconds.
   The lines come in order, worst first; while the pointer or the focus is among them they keep their places, and what
   is in flight no longer stays until it is left. */
(function () {
  "use strict";
  const React = window.React;
  const h = React.createElement;
  const forkmap = (window.forkmap = window.forkmap || {});
  const HEADS = [
    ["Verdict", "first"], ["Estimate", "number estimate"], ["0–100%", "odds"], ["Success", "number rate"], ["Run", "run"], ["Last step", "last"],
    ["Idle", "number idle"], ["Fuses that would fire", "fuse"],
  ];

  const ESTIMATE = "Of the runs on this path and, the fewer they are, of those that came less far; it ranks and decides nothing";

  /* ---- order ------------------------------------------------------------------------------- */

  /** The lines in the order they were in: those that are gone are marked, new ones come last. */
  function held(before, now) {
    const fresh = new Map(now.map((line) => [line.run, line]));
    const known = new Set(before.map((line) => line.run));
    return [...before.map((line) => fresh.get(line.run) ?? { ...line, over: true }), ...now.filter((line) => !known.has(line.run))];
  }

  /* ---- links ------------------------------------------------------------------------------- */

  /** Go to a page of the application, as Dash's own links do. */
  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }

  function follow(event) {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(event.currentTarget.getAttribute("href"));
  }

  /** A link to a name; names come from traces and are never read as markup. */
  const link = (href, text, className) => h("a", { href, title: text, className: `clip ${className || ""}`, onClick: follow }, h("bdi", null, text));

  /** A press on a line opens its run, but for what is a link itself and where a text is being selected. */
  function open(event) {
    if (event.target.closest("a") || !document.getSelection().isCollapsed) return;
    event.currentTarget.querySelector(".live-run").click();
  }

  /* ---- a line ------------------------------------------------------------------------------ */

  const at = (share) => `${100 * share}%`;

  function Whisker({ odds: { tone, base, low, high, rate } }) {
    return h(
      "span",
      { className: `whisker tone${tone}`, "aria-hidden": true },
      base !== null && h("span", { className: "whisker-base", style: { left: at(base) } }),
      low !== null && h("span", { className: "whisker-bar", style: { left: at(low), width: at(high - low) } }),
      rate !== null && h("span", { className: "whisker-point", style: { left: at(rate) } })
    );
  }

  function Step({ parts: [kind, name, bucket] }) {
    return h(
      "span",
      { className: "step", title: name },
      kind && h("span", { className: `kind kind-${kind}` }, kind),
      h("bdi", { className: "step-name" }, name),
      bucket && h("span", { className: "step-repeat" }, bucket)
    );
  }

  const below = (...inside) => h("span", { className: "live-below" }, ...inside);

  function Line({ line }) {
    const { odds, fork, ticket, fuses } = line;
    return h(
      "tr",
      { className: `${line.look}${line.over ? " over" : ""}`, onClick: open },
      h(
        "td",
        { className: "verdict-cell" },
        h("span", { className: "live-verdict" }, line.over ? "No longer in flight" : line.verdict),
        fork && below(link(fork.href, fork.text, "live-fork"))
      ),
      h("td", { className: "number", title: ESTIMATE }, line.estimate),
      h("td", null, odds && h(Whisker, { odds })),
      h(
        "td",
        { className: "number", title: odds ? odds.of : undefined },
        odds ? h("b", null, odds.success) : "–",
        odds && below(odds.interval)
      ),
      h(
        "th",
        { scope: "row" },
        link(line.href, line.run, "run-id live-run"),
        below(link(line.map, line.agent), ticket && link(ticket.href, ticket.text, "live-ticket"))
      ),
      h("td", null, line.last && h(Step, { parts: line.last }), below(line.steps)),
      h("td", { className: "number" }, h("time", { dateTime: line.when.replace(" UTC", "Z").replace(" ", "T"), "data-form": "ago" }, line.idle)),
      h(
        "td",
        null,
        fuses.map((fuse) =>
          h("span", { key: fuse.name, className: "live-fuse" }, link(fuse.href, fuse.name), h("span", { className: fuse.look }, fuse.text))
        ),
        !fuses.length && h("span", { className: "dim" }, "–"),
        line.more > 0 && h("span", { className: "dim small" }, `and ${line.more} more`)
      )
    );
  }

  /* ---- the table --------------------------------------------------------------------------- */

  const PAGE_KEYS = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

  /** Move to the run above or below; from elsewhere to the first, or the last. */
  function move(table, by) {
    const links = [...table.querySelectorAll(".live-run")];
    const here = links.indexOf(document.activeElement.closest("tr")?.querySelector(".live-run"));
    const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
    links[Math.max(0, Math.min(next, links.length - 1))]?.focus();
  }

  const isBusy = (event) =>
    event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") ||
    event.target.closest("button, summary, select, input, textarea, [contenteditable]");

  function useKeys(table) {
    React.useEffect(() => {
      const onKey = (event) => {
        if (isBusy(event)) return;
        if (event.key in PAGE_KEYS) move(table.current, PAGE_KEYS[event.key]);
        else if (event.key === " ") document.querySelector('[data-does="pause"]')?.click();
        else return;
        event.preventDefault();
      };
      document.addEventListener("keydown", onKey);
      return () => document.removeEventListener("keydown", onKey);
    }, []);
  }

  forkmap.LiveRuns = function LiveRuns({ id, data, label }) {
    const table = React.useRef(null);
    const shown = React.useRef([]);
    const [under, setUnder] = React.useState(false);
    const [focused, setFocused] = React.useState(false);
    const hold = under || focused;
    useKeys(table);
    shown.current = hold ? held(shown.current, data) : data;
    const onBlur = (event) => event.currentTarget.contains(event.relatedTarget) || setFocused(false);
    return h(
      "table",
      { id, ref: table, className: "rates live" },
      h(
        "caption",
        null,
        label,
        h("span", { className: "live-held", "data-held": hold }, "Order held while you are in the list.")
      ),
      h("thead", null, h("tr", null, HEADS.map(([text, className]) => h("th", { key: text, scope: "col", className }, text)))),
      h(
        "tbody",
        {
          onPointerEnter: () => setUnder(true),
          onPointerLeave: () => setUnder(false),
          onFocus: () => setFocused(true),
          onBlur,
        },
        shown.current.map((line) => h(Line, { key: line.run, line }))
      )
    );
  };
})();
