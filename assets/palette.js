/* The palette: pages, actions, and whatever is called like what is typed, by keyboard. A pasted text goes where it
   leads with Enter, as it does in the box above every page. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const SOON_MS = 120;

  /** A line that leads somewhere or does something. */
  const line = (kind, name, follow, keys = "") => ({ kind, name, follow, keys });

  function pages() {
    const links = [...document.querySelectorAll(".top nav [data-go]")];
    return links.map((link) => line("page", link.textContent, () => link.querySelector("a").click(), `g ${link.dataset.go}`));
  }

  const actions = () => forkmap.actions().map(({ name, act, keys }) => line("action", name, act, keys));
  const holds = (text) => (each) => each.name.toLowerCase().includes(text.trim().toLowerCase());

  async function named(text, signal) {
    const answer = await window.fetch(`/palette?${new URLSearchParams({ q: text })}`, { signal });
    if (!answer.ok) return [];
    const found = await answer.json();
    return found.map(({ kind, name, href }) => line(kind, name, () => window.location.assign(href)));
  }

  function open() {
    const { make } = forkmap;
    if (document.querySelector("dialog[open]")) return;
    const list = make("ul", { id: "palette-list", className: "palette-list", role: "listbox" });
    list.setAttribute("aria-label", "What is called so");
    const box = make("input", { type: "search", name: "q", autocomplete: "off", spellcheck: false, required: true, maxLength: 4000 });
    const form = make("form", { method: "get", action: "/go" }, box);
    const hint = make("p", { className: "dim small" }, "Enter goes to the marked line; without one, to whatever the text names: a run, a trace (with dashes or without, in an address or alone), a ticket, an agent.");
    const sheet = forkmap.sheet("find", "Find", form, list, hint);
    for (const [name, value] of Object.entries({ role: "combobox", "aria-label": "Run id, trace id, ticket, agent or page", "aria-controls": list.id, "aria-autocomplete": "list", "aria-expanded": "true" }))
      box.setAttribute(name, value);

    let lines = [];
    let marked = -1;
    let asking = new AbortController();
    let soon;

    function mark(place) {
      marked = place;
      [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === place)));
      const item = list.children[place];
      if (item) {
        box.setAttribute("aria-activedescendant", item.id);
        item.scrollIntoView({ block: "nearest" });
      } else box.removeAttribute("aria-activedescendant");
    }

    function draw(found) {
      lines = found;
      list.replaceChildren(...found.map((each, place) => item(each, place)));
      list.hidden = !found.length;
      box.setAttribute("aria-expanded", String(found.length > 0));
      mark(-1);
    }

    function item({ kind, name, keys }, place) {
      const more = keys ? keys.split(" ").map((key) => make("kbd", {}, key)) : [make("span", { className: "dim small" }, kind)];
      const element = make("li", { id: `palette-${place}`, role: "option" }, make("bdi", { className: "clip" }, name), make("span", {}, ...more));
      element.addEventListener("click", () => follow(place));
      return element;
    }

    function follow(place) {
      sheet.close();
      lines[place].follow();
    }

    /** First what is here, then what the store knows. */
    function ask() {
      asking.abort();
      asking = new AbortController();
      window.clearTimeout(soon);
      const text = box.value.trim();
      const here = [...pages(), ...actions()].filter(holds(text));
      if (!text) return draw(here);
      const { signal } = asking;
      soon = window.setTimeout(async () => {
        const there = await named(text, signal).catch(() => []);
        if (!signal.aborted) draw([...there, ...here]);
      }, SOON_MS);
    }

    box.addEventListener("input", ask);
    box.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by && lines.length) mark((marked + by + (marked < 0 && by < 0 ? 1 : 0) + lines.length) % lines.length);
      else if (event.key === "Enter" && marked >= 0) follow(marked);
      else return;
      event.preventDefault();
    });
    form.addEventListener("submit", () => (box.value = box.value.trim()));
    sheet.addEventListener("close", () => asking.abort());
    ask();
    box.focus();
  }

  forkmap.palette = open;
})();
