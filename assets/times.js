/* Times are sent in UTC; here they are told in the zone of whoever reads them, if they want that.

   A <time> says the moment in `datetime` and how it is written in `data-form`: as a moment, as a time of the day,
   or as how long ago it was. Pointing at it shows the moment in both zones. */
(function () {
  "use strict";
  const forkmap = (window.forkmap = window.forkmap || {});
  const FORMS = { moment: (date, zone) => `${day(date, zone)} ${clock(date, zone)}`, clock, ago: null };
  const OPTIONS = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const formats = {
    UTC: new Intl.DateTimeFormat("en", { ...OPTIONS, timeZone: "UTC", timeZoneName: "short" }),
    local: new Intl.DateTimeFormat("en", { ...OPTIONS, timeZoneName: "short" }),
  };
  /* What stood there as it was sent, and what was put in its place. */
  const sent = new WeakMap();

  const parts = (date, zone) => Object.fromEntries(formats[zone].formatToParts(date).map(({ type, value }) => [type, value]));

  function day(date, zone) {
    const { year, month, day } = parts(date, zone);
    return `${year}-${month}-${day}`;
  }

  function clock(date, zone) {
    const { hour, minute, second, timeZoneName } = parts(date, zone);
    return `${hour}:${minute}:${second} ${timeZoneName}`;
  }

  function tell(element) {
    const date = new Date(element.dateTime);
    const text = element.firstChild;
    if (Number.isNaN(date.getTime()) || !text) return;
    const before = sent.get(element);
    if (!before || before.put !== text.nodeValue) sent.set(element, { was: text.nodeValue, put: text.nodeValue });
    const zone = forkmap.taste.choice("times");
    const write = FORMS[element.dataset.form];
    const known = sent.get(element);
    known.put = write && zone === "local" ? write(date, zone) : known.was;
    if (text.nodeValue !== known.put) text.nodeValue = known.put;
    const both = ["UTC", "local"].map((each) => FORMS.moment(date, each));
    element.title = both[0] === both[1] ? both[0] : both.join(" · ");
  }

  const tellAll = (inside) => inside.querySelectorAll("time[datetime]").forEach(tell);

  function follow(changes) {
    for (const { type, target, addedNodes } of changes) {
      const around = (type === "characterData" ? target.parentElement : target)?.closest("time[datetime]");
      if (around) tell(around);
      for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) node.matches("time[datetime]") ? tell(node) : tellAll(node);
    }
  }

  window.addEventListener("forkmap.taste", ({ detail }) => detail === "times" && tellAll(document));
  new MutationObserver(follow).observe(document.documentElement, {
    childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["datetime"],
  });
  tellAll(document);
})();
