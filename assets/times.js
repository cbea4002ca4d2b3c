/* Times are sent in UTC; here they are told in the zone of whoever reads them, if they want that.

   A <time> says the moment in `datetime` and how it is written in `data-form`: as a moment, as a time of the day,
   or as anything else about it. Pointing at it shows the moment in both zones. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const TIMES = "time[datetime]";
  /* What stood there as it was sent, and what was put in its place. */
  const sent = new WeakMap();

  const two = (number) => String(number).padStart(2, "0");

  /** The zone as its distance from UTC, which differs from summer to winter. */
  function zone(date) {
    const minutes = -date.getTimezoneOffset();
    if (minutes === 0) return "UTC";
    const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
    return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${two(rest)}` : ""}`;
  }

  const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ${zone(date)}`;
  const moment = (date) => `${day(date)} ${clock(date)}`;
  const utc = (date) => `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const FORMS = { moment, clock };

  const isLocal = () => forkmap.taste.choice("times") === "local";
  const isMoment = (date) => !Number.isNaN(date.getTime());

  function tell(element) {
    const date = new Date(element.dateTime);
    const text = element.firstChild;
    const write = FORMS[element.dataset.form];
    if (!write || !text || !isMoment(date)) return;
    if (sent.get(element)?.put !== text.nodeValue) sent.set(element, { was: text.nodeValue });
    const known = sent.get(element);
    known.put = isLocal() ? write(date) : known.was;
    if (text.nodeValue !== known.put) text.nodeValue = known.put;
  }

  const tellAll = (inside) => inside.querySelectorAll(TIMES).forEach(tell);

  function follow(changes) {
    if (!isLocal()) return;
    for (const { type, target, addedNodes } of changes) {
      const around = (type === "characterData" ? target.parentElement : target)?.closest(TIMES);
      if (around) tell(around);
      for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) node.matches(TIMES) ? tell(node) : tellAll(node);
    }
  }

  /** Pointing at it shows the moment in both zones. */
  function explain({ target }) {
    const element = target.closest(TIMES);
    const date = element && new Date(element.dateTime);
    if (date && isMoment(date)) element.title = zone(date) === "UTC" ? utc(date) : `${utc(date)} · ${moment(date)}`;
  }

  document.addEventListener("pointerover", explain, { passive: true });
  window.addEventListener("forkmap.taste", ({ detail }) => detail === "times" && tellAll(document));
  new MutationObserver(follow).observe(document.documentElement, {
    childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["datetime"],
  });
})();
