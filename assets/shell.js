/* What every page can do by key: go to a page, filter, find, choose how it looks, copy.
   Everything is delegated from the document, so it does not matter when Dash draws what. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const GO_MS = 1200;
  const COPIED_MS = 1400;

  const KEYS = [
    [["/"], "filter the steps of the tree"],
    [["Ctrl K"], "find a run, trace, ticket, agent, page or action"],
    [["g", "a"], "go to the agents"],
    [["g", "m"], "go to the map"],
    [["g", "r"], "go to the runs"],
    [["g", "l"], "go to the runs in flight"],
    [["g", "w"], "go to what changed"],
    [["g", "c"], "go to the calibration"],
    [["g", "d"], "go to compare two runs"],
    [["g", "f"], "go to the fuses"],
    [["n", "p"], "go to the next difference, the previous one"],
    [["j", "k"], "go to the next run in flight, the previous one"],
    [["Enter"], "open the run in flight"],
    [["Space"], "pause the runs in flight, or go on"],
    [["t"], "change the theme"],
    [["v"], "change how dense the rows are"],
    [["u"], "tell times in UTC, or in local time"],
    [["y"], "copy a link to the page as it is now"],
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

  /* ---- actions ----------------------------------------------------------------------------- */

  const NEXT = {
    theme: (choice) => `Theme: ${choice}`,
    density: (choice) => `Rows: ${choice}`,
    times: (choice) => (choice === "UTC" ? "UTC" : "Local"),
  };

  /** Go on to the next choice of what a person sets for themselves. */
  const change = (what) => () => say(`${what[0].toUpperCase()}${what.slice(1)}: ${forkmap.taste.next(what)}`);

  function pause() {
    forkmap.pause(!forkmap.paused);
    say(forkmap.paused ? "Paused" : "Goes on");
    label();
  }

  /** Buttons say what is chosen, or what they would do. */
  function label() {
    for (const button of document.querySelectorAll("[data-does]")) {
      const does = button.dataset.does;
      const text = does === "pause" ? (forkmap.paused ? "Go on" : "Pause") : NEXT[does]?.(forkmap.taste.choice(does));
      if (text && button.textContent !== text) button.textContent = text;
    }
  }

  /** A link to what is shown now: it does not move on with the clock, as the last 30 days do. */
  function link() {
    const url = new URL(forkmap.link ?? window.location.href, window.location.href);
    const node = new URL(window.location.href).searchParams.get("node");
    if (node) url.searchParams.set("node", node);
    return url.href;
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

  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return "Copied";
    } catch (refused) {
      return "Not allowed";
    }
  }

  /** Put a text on the clipboard; the button says so for a moment. */
  async function copy(button, text) {
    const before = button.textContent;
    button.textContent = await write(text);
    say(button.textContent);
    window.setTimeout(() => {
      button.textContent = before;
    }, COPIED_MS);
  }

  async function copyLink() {
    const button = document.querySelector('.view[open] [data-does="link"]');
    if (button) copy(button, link());
    else tell(`${await write(link())}: a link to this page as it is now`);
  }

  /** Say something for a moment, to everybody. */
  function tell(text) {
    document.getElementById("told")?.remove();
    const place = make("div", { id: "told", className: "told-briefly", role: "status" }, text);
    document.body.append(place);
    window.setTimeout(() => place.remove(), 2 * COPIED_MS);
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

  const ACTIONS = {
    theme: change("theme"),
    density: change("density"),
    times: change("times"),
    link: copyLink,
    print: () => window.print(),
    keys: showKeys,
    find: () => forkmap.palette(),
    pause,
  };
  const LETTERS = { t: "theme", v: "density", u: "times", y: "link", "?": "keys" };
  const NAMED = {
    theme: "Change the theme",
    density: "Change how dense the rows are",
    times: "Tell times in UTC, or in local time",
    link: "Copy a link to this page as it is now",
    print: "Print this page",
    keys: "List the keys",
  };
  const keyOf = (does) => Object.keys(LETTERS).find((key) => LETTERS[key] === does) ?? "";
  const ON = { n: 1, p: -1 };

  /* ---- events ------------------------------------------------------------------------------ */

  const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");
  let goAt = -Infinity;

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-does], [data-copy]");
    if (!button) return;
    if (button.dataset.copy !== undefined) copy(button, button.dataset.copy);
    else ACTIONS[button.dataset.does]?.();
  });

  document.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!plain && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") forkmap.palette();
    else if (!plain || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    else if (event.timeStamp - goAt < GO_MS) {
      goAt = -Infinity;
      goTo(event.key.toLowerCase());
    } else if (event.key === "g") goAt = event.timeStamp;
    else if (event.key in LETTERS) ACTIONS[LETTERS[event.key]]();
    else if (event.key in ON && document.querySelector("[data-difference]")) goOn(ON[event.key]);
    else if (event.key === "/") (document.querySelector(".tree-query") || document.getElementById("search"))?.focus();
    else return;
    event.preventDefault();
  });

  /* The menu closes as menus do. */
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".view[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest(".view[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  new MutationObserver(label).observe(document.documentElement, { childList: true, subtree: true });
  window.addEventListener("forkmap.taste", label);
  forkmap.make = make;
  forkmap.sheet = show;
  forkmap.actions = () => Object.entries(NAMED).map(([does, name]) => ({ name, act: ACTIONS[does], keys: keyOf(does) }));
})();
