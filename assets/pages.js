/* What the pages do in the browser: select a node, keep the URL, follow the theme. */
(function () {
  "use strict";
  /* So much of the panel on show is enough. */
  const PANEL_PX = 200;
  const TYPED_MS = 300;
  const CHOSEN_MS = 100;
  const forkmap = (window.forkmap = window.forkmap || {});
  const dash = (window.dash_clientside = window.dash_clientside || {});

  /* The tree, the overview and the lists select the same node, in one go: one frame shows it. */
  function select(key) {
    for (const id of ["tree", "icicle"]) dash.set_props(id, { selected: key });
    markFinding(key);
    rememberNode(key);
  }

  document.addEventListener("click", (event) => {
    const picked = event.target.closest("[data-pick]")?.dataset.pick;
    if (!picked) return;
    showPanel();
    select(picked);
  });

  /* What was picked in a list is told in the panel: bring it into view where it is not. */
  function showPanel() {
    const panel = document.getElementById("node-panel");
    const { top } = panel.getBoundingClientRect();
    if (top >= 0 && top < window.innerHeight - PANEL_PX) return;
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    panel.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }

  /* Of the lists' lines the one whose node is selected is the current one. */
  function markFinding(key) {
    for (const line of document.querySelectorAll(".finding")) {
      if (line.dataset.pick === key) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  /* The address bar always names what is looked at; Back is not littered with every step. */
  function remember(chosen) {
    const url = new URL(window.location.href);
    for (const [name, value] of Object.entries(chosen)) {
      if (value) url.searchParams.set(name, value);
      else url.searchParams.delete(name);
    }
    if (url.href !== window.location.href) window.history.replaceState(window.history.state, "", url);
  }

  const waiting = {};

  /* Not at each letter, nor at each step of a key that is held: browsers count how often an address changes. */
  function later(what, wait_ms, chosen) {
    window.clearTimeout(waiting[what]);
    waiting[what] = window.setTimeout(() => remember(chosen), wait_ms);
  }

  /* What was chosen on a page that was left is not of the next one. */
  for (const way of ["popstate", "_dashprivate_pushstate"]) {
    window.addEventListener(way, () => Object.values(waiting).forEach(window.clearTimeout));
  }

  const rememberNode = (key) => later("node", CHOSEN_MS, { node: key });

  function rememberFilter(query, filter) {
    later("filter", TYPED_MS, { find: query.trim(), only: filter === "all" ? "" : filter });
  }

  const themeName = () =>
    document.documentElement.dataset.theme ||
    (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  function figure(figures) {
    return (figures && figures[themeName()]) || { data: [], layout: {} };
  }

  function title(text) {
    if (text) document.title = text;
  }

  const tellTheme = () => dash.set_props && dash.set_props("theme", { data: themeName() });
  new MutationObserver(tellTheme).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tellTheme);

  forkmap.select = select;
  dash.forkmap = Object.assign({}, dash.forkmap, { rememberFilter, figure, title });
})();
