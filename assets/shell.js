/* What every page can do by key: go to a page, filter, find, choose a theme, copy.
   Everything is delegated from the document, so it does not matter when Dash draws what. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const GO_MS = 1200;
  const COPIED_MS = 1400;

  const KEYS = [
    [["/"], "filter the steps of the tree"],
    [["Ctrl K"], "find a run, trace, ticket or agent"],
    [["g", "a"], "go to the agents"],
    [["g", "m"], "go to the map"],
    [["g", "r"], "go to the runs"],
    [["g", "l"], "go to the runs in flight"],
    [["g", "c"], "go to the calibration"],
    [["g", "d"], "go to compare two runs"],
    [["g", "f"], "go to the fuses"],
    [["n", "p"], "go to the next difference, the previous one"],
    [["t"], "change the theme"],
    [["?"], "this list"],
    [["↑", "↓", "Home", "End", "PgUp", "PgDn"], "move in the tree"],
    [["→", "←"], "open or enter, close or leave a step"],
    [["*"], "open all steps beside this one"],
    [["a…z"], "go to the next step that begins so"],
    [["Esc"], "leave; in the overview, go back up"],
  ];

  /** An element with text or elements in it; text stays text. */
  function make(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  }

  /* ---- sheets ------------------------------------------------------------------------------ */

  function show(name, heading, ...inside) {
    const id = `sheet-${name}`;
    document.getElementById(id)?.remove();
    const title = make("h2", { id: `${id}-title` }, heading);
    const sheet = make("dialog", { id, className: "sheet" }, title, ...inside);
    sheet.setAttribute("aria-labelledby", title.id);
    sheet.addEventListener("close", () => sheet.remove());
    sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
    document.body.append(sheet);
    sheet.showModal();
    return sheet;
  }

  function showKeys() {
    const list = make("dl", { className: "keys" });
    for (const [keys, what] of KEYS) {
      const signs = keys.flatMap((key) => [make("kbd", {}, key), " "]);
      list.append(make("dt", {}, ...signs), make("dd", {}, what));
    }
    show("keys", "Keys", list, make("p", {}, closing("Close")));
  }

  function closing(text) {
    const button = make("button", { type: "button", className: "button" }, text);
    button.addEventListener("click", () => button.closest("dialog").close());
    return button;
  }

  function showFind() {
    const box = make("input", { type: "search", name: "q", autocomplete: "off", spellcheck: false, required: true });
    box.setAttribute("aria-label", "Run id, trace id, ticket or agent");
    const form = make("form", { method: "get", action: "/go" }, box);
    form.addEventListener("submit", () => {
      box.value = box.value.trim();
    });
    const hint = make("p", { className: "dim" }, "Paste a run id, a trace id (with dashes or without), a ticket or an agent, then Enter.");
    show("find", "Find", form, hint);
    box.focus();
  }

  /* ---- actions ----------------------------------------------------------------------------- */

  function changeTheme() {
    say(`Theme: ${forkmap.theme.next()}`);
    labelTheme();
  }

  /** The button says which theme is chosen. */
  function labelTheme() {
    for (const button of document.querySelectorAll('[data-does="theme"]')) {
      const text = `Theme: ${forkmap.theme.choice()}`;
      if (button.textContent !== text) button.textContent = text;
    }
  }

  /** Tell those who do not see the change. */
  function say(text) {
    let place = document.getElementById("said");
    if (!place) {
      place = make("div", { id: "said", className: "unseen" });
      place.setAttribute("role", "status");
      document.body.append(place);
    }
    place.textContent = text;
  }

  async function copy(button) {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch (refused) {
      button.textContent = "Not allowed";
    }
    say(button.textContent);
    window.setTimeout(() => {
      button.textContent = before;
    }, COPIED_MS);
  }

  /** Follow the link of the navigation that has this letter. */
  function goTo(letter) {
    const links = [...document.querySelectorAll(".top nav [data-go]")];
    links.find((link) => link.dataset.go === letter)?.querySelector("a").click();
  }

  /** Go so many differences on, from the one that is gone to or that stands highest in view. */
  function goOn(by) {
    const rows = [...document.querySelectorAll("[data-difference]")];
    const here = document.activeElement.closest("[data-difference]");
    const next = here ? rows.indexOf(here) + by : by > 0 ? 0 : rows.length - 1;
    const row = rows[Math.max(0, Math.min(next, rows.length - 1))];
    if (!row) return;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
    say(`Difference ${row.dataset.difference} of ${rows.length}`);
  }

  function pause() {
    forkmap.pause(!forkmap.paused);
    say(forkmap.paused ? "Paused" : "Goes on");
    labelPause();
  }

  /** The button says what it would do. */
  function labelPause() {
    for (const button of document.querySelectorAll('[data-does="pause"]')) {
      const text = forkmap.paused ? "Go on" : "Pause";
      if (button.textContent !== text) button.textContent = text;
    }
  }

  const ACTIONS = { theme: changeTheme, pause, keys: showKeys, find: showFind, print: () => window.print() };
  const ON = { n: 1, p: -1 };

  /* ---- events ------------------------------------------------------------------------------ */

  const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");
  let goAt = -Infinity;

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-does], [data-copy]");
    if (!button) return;
    if (button.dataset.copy !== undefined) copy(button);
    else ACTIONS[button.dataset.does]?.();
  });

  document.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!plain && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") showFind();
    else if (!plain || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    else if (event.timeStamp - goAt < GO_MS) {
      goAt = -Infinity;
      goTo(event.key.toLowerCase());
    } else if (event.key === "g") goAt = event.timeStamp;
    else if (event.key === "?") showKeys();
    else if (event.key === "t") changeTheme();
    else if (event.key in ON && document.querySelector("[data-difference]")) goOn(ON[event.key]);
    else if (event.key === "/") (document.querySelector(".tree-query") || document.getElementById("search"))?.focus();
    else return;
    event.preventDefault();
  });

  const label = () => [labelTheme, labelPause].forEach((each) => each());
  new MutationObserver(label).observe(document.documentElement, { childList: true, subtree: true });
})();
