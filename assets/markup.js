/* forkmap.Markup: elements that only stand there, drawn without asking Dash about each. Links lead to other pages of
   the application as Dash's own do; text stays text. */
(function () {
  "use strict";
  const React = window.React;
  const forkmap = (window.forkmap = window.forkmap || {});
  const LINES = new Set(["Tr", "Li", "Details"]);
  const TAGS = { Link, MapEl: "map", ObjectEl: "object" };

  /** Go to a page of the application. */
  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }

  function Link({ children, ...props }) {
    const follow = (event) => {
      if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || props.target) return;
      event.preventDefault();
      go(props.href);
    };
    return React.createElement("a", { ...props, onClick: follow }, children);
  }

  /** What a line is about: its first link, else its first words. */
  function about(part) {
    if (part === null || typeof part !== "object") return part;
    if (Array.isArray(part)) return part.reduce((found, each) => found ?? about(each), null);
    return part.props.href ?? about(part.props.children ?? null);
  }

  /** Lines are known again by what they are about, wherever they stand; everything else by its place. */
  function listed(children) {
    const seen = new Map();
    return (Array.isArray(children) ? children : [children]).map((part) => {
      if (!LINES.has(part?.type)) return draw(part);
      const name = part.props["data-key"] ?? about(part);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      return draw(part, `${name}#${seen.get(name)}`);
    });
  }

  function draw(part, key) {
    if (Array.isArray(part)) return React.createElement(React.Fragment, null, ...listed(part));
    if (part === null || typeof part !== "object") return part;
    const { children, ...props } = part.props;
    return React.createElement(TAGS[part.type] ?? part.type.toLowerCase(), { ...props, key }, ...listed(children ?? null));
  }

  forkmap.go = go;
  forkmap.Markup = React.memo(({ tree }) => draw(tree));
})();
