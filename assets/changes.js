/* The tree of ways by the keyboard, as in any tree: up and down go from row to row, right opens, left closes or goes up. */
(() => {
  "use strict";

  const rows = (tree) => [...tree.querySelectorAll("summary")].filter((row) => row.checkVisibility());

  const MOVES = {
    ArrowDown: (row, all) => all[all.indexOf(row) + 1],
    ArrowUp: (row, all) => all[all.indexOf(row) - 1],
    Home: (row, all) => all[0],
    End: (row, all) => all[all.length - 1],
    ArrowRight: (row, all) => {
      if (row.parentNode.open) return all[all.indexOf(row) + 1];
      row.parentNode.open = true;
      return row;
    },
    ArrowLeft: (row) => {
      if (!row.parentNode.open) return row.closest(".way-list").closest("details")?.querySelector("summary");
      row.parentNode.open = false;
      return row;
    },
  };

  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("[data-ways] summary");
    if (!row || event.target !== row || event.ctrlKey || event.altKey || event.metaKey || !MOVES[event.key]) return;
    event.preventDefault();
    MOVES[event.key](row, rows(row.closest("[data-ways]")))?.focus();
  });
})();
