/* What the pages do in the browser: select a node, keep the URL, follow the theme. */
(function () {
  "use strict";
  /* So much of the panel on show is enough. */
  const PANEL_PX = 200;
  const TYPED_MS = 300;
  const dash = (window.dash_clientside = window.dash_clientside || {});

  /* The tree, the overview and the lists select the same node. */
  function pick(inTree, inOverview) {
    const from = dash.callback_context.triggered_id;
    if (from === "tree") return [dash.no_update, inTree];
    return from === "icicle" ? [inOverview, dash.no_update] : [dash.no_update, dash.no_update];
  }

  document.addEventListener("click", (event) => {
    const picked = event.target.closest("[data-pick]")?.dataset.pick;
    if (!picked) return;
    showPanel();
    dash.set_props("tree", { selected: picked });
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

  function rememberNode(key) {
    markFinding(key);
    if (key) remember({ node: key });
  }

  let typing;

  /* Not at each letter: browsers count how often an address changes. */
  function rememberFilter(query, filter) {
    window.clearTimeout(typing);
    const { pathname } = window.location;
    const keep = () => window.location.pathname === pathname && remember({ find: query.trim(), only: filter === "all" ? "" : filter });
    typing = window.setTimeout(keep, TYPED_MS);
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

  dash.forkmap = Object.assign({}, dash.forkmap, { pick, rememberNode, rememberFilter, figure, title });
})();
