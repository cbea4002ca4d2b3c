/* When a page asks again: as often as it says, while it is looked at, and not while it waits for an answer.
   And whether the server is there: where it is not a banner says so, and goes when it is back. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const dash = (window.dash_clientside = window.dash_clientside || {});
  const ADDRESS = "/_dash-update-component";
  const AGAIN_MS = 2000;
  const GONE = [502, 503, 504];

  /* ---- asking again ------------------------------------------------------------------------- */

  let everyMs = 0;
  let asked = 0;
  let timer;

  /** Begin to wait for the next time. */
  function wait() {
    window.clearTimeout(timer);
    if (everyMs > 0 && !document.hidden && !forkmap.paused) timer = window.setTimeout(ask, everyMs);
  }

  /** Ask what the page shows now, at the address that stands in the address bar. */
  function ask() {
    window.clearTimeout(timer);
    const { href, search } = window.location;
    /* The whole address too: Dash loads the page of the one it knows where it is not the one in the bar. */
    if (window.dash_component_api.getLayout("url").props.search !== search) dash.set_props("url", { href, search });
    else dash.set_props("poll", { n_intervals: (asked += 1) });
  }

  /** How often the page wants to be asked again, in milliseconds; 0 is never. */
  function every(ms) {
    everyMs = ms ?? 0;
    wait();
  }

  /** Stop asking, or go on at once. */
  function pause(on) {
    forkmap.paused = on;
    document.documentElement.toggleAttribute("data-paused", on);
    if (on) wait();
    else if (everyMs > 0) ask();
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden || forkmap.paused || everyMs === 0) wait();
    else ask();
  });

  /* ---- the server --------------------------------------------------------------------------- */

  function banner(sentence, more) {
    const place = document.getElementById("banner") ?? document.createElement("div");
    Object.assign(place, { id: "banner", className: "banner", role: "alert" });
    place.replaceChildren(sentence, ...(more ? [" ", more] : []));
    document.body.append(place);
  }

  const calm = () => document.getElementById("banner")?.remove();
  let away = false;

  /** Say that the server is gone, and look for it until it is back. */
  function gone() {
    banner("Not connected to Forkmap; trying again…");
    if (away) return;
    away = true;
    window.setTimeout(look, AGAIN_MS);
  }

  async function look() {
    const answer = document.hidden ? null : await fetched("/healthz", { cache: "no-store" }).catch(() => null);
    if (!answer?.ok) return window.setTimeout(look, AGAIN_MS);
    away = false;
    calm();
    ask();
  }

  function refused(sentence) {
    const link = document.createElement("a");
    Object.assign(link, { href: window.location.href, textContent: "Load this page again" });
    banner(sentence.trim().slice(0, 300) || "This could not be answered.", link);
  }

  async function judge(answer) {
    if (answer.status === 401) {
      const here = window.location.pathname + window.location.search;
      window.location.assign(`/signin?next=${encodeURIComponent(here)}`);
    } else if (GONE.includes(answer.status)) gone();
    else if (answer.status >= 400) refused(await answer.clone().text());
    else if (!away) calm();
  }

  /* Whatever a page asks for passes here. */
  const fetched = window.fetch.bind(window);
  window.fetch = async (...asking) => {
    const of = String(asking[0]?.url ?? asking[0]);
    try {
      const answer = await fetched(...asking);
      if (answer.status === 401 || of.includes(ADDRESS)) await judge(answer);
      return answer;
    } catch (error) {
      if (error.name !== "AbortError") gone();
      throw error;
    } finally {
      if (of.includes(ADDRESS)) wait();
    }
  };

  forkmap.paused = false;
  forkmap.pause = pause;
  dash.forkmap = Object.assign({}, dash.forkmap, { every });
})();
