/* What a page says anew is put into what stands there: only what changed is drawn again.

   Dash makes every element anew when a page's children are set, so whatever a person did to them would be lost.
   Here the new body is compared with the one that is shown, and each difference set where it is. What has to be
   made anew (a list that grew) gets back its focus, its open details, its scrolling, what was typed into it and
   what was selected; and whatever is under the cursor, or focused, or in view, stays where it is. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const dash = (window.dash_clientside = window.dash_clientside || {});
  /* So long after a change the rest of it may still come: charts are drawn late. */
  const SETTLING_MS = 700;
  /* Parts that speak when they appear: Dash hears them only as a part of the whole page. */
  const SPEAKING = new Set(["figures", "graph", "tree", "icicle", "node-panel"]);
  const BLOCKS = "tr, li, details, summary, button, a, input, select, textarea, figure, h1, h2, h3, p, dl, section";
  const SCRIPTS = document.currentScript.getAttribute("src");
  const ACTS = ["pointerdown", "keydown", "wheel", "touchstart"];

  /* ---- what differs ------------------------------------------------------------------------ */

  const isComponent = (part) => part !== null && typeof part === "object" && "props" in part && "namespace" in part;
  const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);
  const idOf = (part) => JSON.stringify(part.props.id ?? null);
  const isLike = (one, other) => one.type === other.type && one.namespace === other.namespace && idOf(one) === idOf(other);

  /** The changes that make one component into another, or null where it has to be made anew: it may also be that
      a callback has put something else there meanwhile. */
  function changes(old, now, path) {
    const there = window.dash_component_api.getLayout(path);
    if (!isLike(old, now) || !there || !isLike(there, now)) return null;
    const found = [];
    const props = {};
    for (const key of new Set([...Object.keys(old.props), ...Object.keys(now.props)])) {
      if (same(old.props[key], now.props[key])) continue;
      const inside = key === "children" && below(old.props.children, now.props.children, [...path, "props", "children"]);
      if (inside) found.push(...inside);
      else if (key === "children" && speaks(now.props.children)) return null;
      else props[key] = now.props[key] ?? null;
    }
    if (Object.keys(props).length) found.unshift([now.props.id ?? path, props]);
    return found;
  }

  /** The changes inside, or null where the children have to be set as a whole. */
  function below(old, now, path) {
    if (isComponent(old) && isComponent(now)) return changes(old, now, path);
    if (!Array.isArray(old) || !Array.isArray(now) || old.length !== now.length) return null;
    const found = [];
    for (const [place, part] of now.entries()) {
      if (same(old[place], part)) continue;
      const inside = isComponent(old[place]) && isComponent(part) ? changes(old[place], part, [...path, place]) : null;
      if (!inside) return null;
      found.push(...inside);
    }
    return found;
  }

  /** Whether something in it has to be heard by Dash when it appears. */
  function speaks(part) {
    if (Array.isArray(part)) return part.some(speaks);
    return isComponent(part) && (SPEAKING.has(part.props.id) || speaks(part.props.children ?? null));
  }

  /** Where a component stands in Dash's layout. */
  function pathOf(id, part = window.dash_component_api.getLayout(["components"]), path = ["components"]) {
    if (Array.isArray(part)) return part.reduce((found, each, place) => found ?? pathOf(id, each, [...path, place]), null);
    if (!isComponent(part)) return null;
    return part.props.id === id ? path : pathOf(id, part.props.children ?? null, [...path, "props", "children"]);
  }

  /* ---- what a person did to it -------------------------------------------------------------- */

  const typed = new WeakSet();
  let pointer = null;
  const page = () => document.getElementById("page");

  /** What tells an element from others of its kind, whatever numbers it shows. */
  function sign(element) {
    if (element.id) return `#${element.id}`;
    const row = element.closest("[data-key]");
    const own = element.getAttribute("href") ?? element.name ?? "";
    const text = (element.matches("details") ? element.querySelector("summary") : element)?.textContent ?? "";
    return [row?.dataset.key ?? "", own, element.className, text.replace(/\d+/g, "#").slice(0, 80)].join("|");
  }

  /** How to find an element again once it has been made anew. */
  function mark(element) {
    const alike = [...page().querySelectorAll(element.tagName)].filter((each) => sign(each) === sign(element));
    return { element, tag: element.tagName, sign: sign(element), place: alike.indexOf(element) };
  }

  function found({ element, tag, sign: wanted, place }) {
    if (element.isConnected) return element;
    const alike = [...page().querySelectorAll(tag)].filter((each) => sign(each) === wanted);
    return alike[place] ?? alike[alike.length - 1];
  }

  /** What must stay where it is: what is under the cursor, else focused, else on top in view. */
  function anchor() {
    const under = pointer && document.elementFromPoint(pointer.x, pointer.y)?.closest(BLOCKS);
    const focused = document.activeElement;
    const inView = () => [...page().querySelectorAll(BLOCKS)].find((each) => each.getBoundingClientRect().top > 0);
    const element = [under, focused].find((each) => each && each !== page() && page().contains(each));
    const kept = element ?? (window.scrollY > 0 ? inView() : null);
    return kept ? { ...mark(kept), top: kept.getBoundingClientRect().top } : null;
  }

  function selection() {
    const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = document.getSelection();
    if (isCollapsed || !page().contains(anchorNode) || !page().contains(focusNode)) return null;
    const end = (node) => {
      const holder = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      return { node, holder: mark(holder), place: [...holder.childNodes].indexOf(node) };
    };
    return { from: end(anchorNode), to: end(focusNode), anchorOffset, focusOffset };
  }

  /** The place that a person is at. */
  function take() {
    const all = [...page().querySelectorAll("*")];
    const focused = document.activeElement;
    return {
      anchor: anchor(),
      focus: page().contains(focused) && focused !== page() ? mark(focused) : null,
      caret: focused.selectionStart === undefined ? null : caretOf(focused),
      open: all.filter((each) => each.matches("details")).map((each) => ({ ...mark(each), open: each.open })),
      scrolled: all.filter((each) => each.scrollTop || each.scrollLeft).map((each) => ({ ...mark(each), top: each.scrollTop, left: each.scrollLeft })),
      typed: all.filter((each) => typed.has(each)).map((each) => ({ ...mark(each), value: each.value })),
      selection: selection(),
    };
  }

  function caretOf(field) {
    try {
      return [field.selectionStart, field.selectionEnd, field.selectionDirection];
    } catch (refused) {
      return null; /* a field of numbers has none */
    }
  }

  /** Lead back to it, as far as it is still there. */
  function put(place) {
    for (const each of place.open) {
      const details = found(each);
      if (details && details !== each.element) details.open = each.open;
    }
    for (const each of place.typed) fill(found(each), each);
    for (const each of place.scrolled) {
      const element = found(each);
      if (element && element !== each.element) element.scrollTo({ top: each.top, left: each.left, behavior: "instant" });
    }
    if (place.focus && !page().contains(document.activeElement)) focus(found(place.focus), place.caret);
    if (place.selection && document.getSelection().isCollapsed) select(place.selection);
    const kept = place.anchor && found(place.anchor);
    const moved = kept ? kept.getBoundingClientRect().top - place.anchor.top : 0;
    if (Math.abs(moved) >= 1) window.scrollBy({ top: moved, behavior: "instant" });
  }

  function fill(field, { element, value }) {
    if (!field || field === element || field.value === value) return;
    const kind = Object.getPrototypeOf(field);
    Object.getOwnPropertyDescriptor(kind, "value").set.call(field, value);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function focus(element, caret) {
    if (!element) return;
    element.focus({ preventScroll: true });
    if (caret && element.setSelectionRange) element.setSelectionRange(...caret);
  }

  function select({ from, to, anchorOffset, focusOffset }) {
    const node = (end) => (end.node.isConnected ? end.node : found(end.holder)?.childNodes[end.place]);
    const [first, last] = [node(from), node(to)];
    if (!first || !last || anchorOffset > first.length || focusOffset > last.length) return;
    document.getSelection().setBaseAndExtent(first, anchorOffset, last, focusOffset);
  }

  /** Hold the place while a change arrives, until the person goes on. */
  function hold(change) {
    const place = take();
    const watcher = new MutationObserver(() => put(place));
    const end = () => {
      watcher.disconnect();
      window.clearTimeout(timer);
      for (const act of ACTS) document.removeEventListener(act, end, true);
    };
    const timer = window.setTimeout(end, SETTLING_MS);
    for (const act of ACTS) document.addEventListener(act, end, { capture: true, passive: true });
    watcher.observe(page(), { childList: true, subtree: true, characterData: true });
    change();
  }

  document.addEventListener("input", (event) => typed.add(event.target));
  document.addEventListener("pointermove", ({ clientX: x, clientY: y, pointerType }) => (pointer = pointerType === "touch" ? null : { x, y }), { passive: true });
  document.documentElement.addEventListener("pointerleave", () => (pointer = null));

  /* ---- drawing ------------------------------------------------------------------------------ */

  let shown = null;

  /** The page's children: all of them for another page; for the same one what differs is set, and no more. */
  function draw(text) {
    if (!text) return dash.no_update;
    const now = JSON.parse(text);
    const before = shown;
    /* A newer server answers with what only its own scripts know how to draw. */
    if (before && now.scripts !== SCRIPTS) {
      window.location.reload();
      return dash.no_update;
    }
    shown = now;
    forkmap.link = now.link;
    if (!before || before.at !== now.at) {
      if (forkmap.paused) forkmap.pause(false);
      return now.body;
    }
    const path = pathOf("page");
    const found = path && changes(before.body, now.body, [...path, "props", "children"]);
    if (!found) {
      hold(() => {});
      return now.body;
    }
    if (found.length) hold(() => found.forEach(([where, props]) => dash.set_props(where, props)));
    return dash.no_update;
  }

  forkmap.hold = hold;
  dash.forkmap = Object.assign({}, dash.forkmap, { draw });
})();
