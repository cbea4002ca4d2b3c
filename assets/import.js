/* Trace files, dropped on the list of agents or chosen there: sent as they are, one after the other, and told of in
   a tray that no redraw touches. */
(function () {
  "use strict";
  const waiting = [];
  let asked = null;

  /** An element with text or elements in it; text stays text. */
  function make(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  }

  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  /** Whether a file holds anything; a folder is given as a file is, and cannot be read as one. */
  const holds = (file) => file.slice(0, 1).arrayBuffer().then((bytes) => bytes.byteLength > 0, () => false);
  const chooser = () => document.querySelector("[data-sends]");

  /* ---- the tray ---------------------------------------------------------------------------- */

  function tray() {
    const found = document.getElementById("tray");
    if (found) return found;
    const heading = make("h2", { id: "tray-title" }, "Import");
    const close = make("button", { type: "button", className: "button small" }, "Close");
    close.addEventListener("click", closeTray);
    const place = make(
      "section",
      { id: "tray", className: "tray" },
      make("div", { className: "tray-head" }, heading, close),
      make("ul", {}),
      make("p", { id: "tray-said", className: "unseen", role: "status" }),
    );
    place.setAttribute("aria-labelledby", "tray-title");
    (document.querySelector(".shell") || document.body).append(place);
    return place;
  }

  /** Closing it ends what is under way: what was read by then stays. */
  function closeTray() {
    waiting.length = 0;
    asked?.abort();
    document.getElementById("tray")?.remove();
    chooser()?.focus();
  }

  /** How many files are done, where the tray is headed. */
  function tell() {
    const items = [...document.querySelectorAll("#tray > ul > li")];
    const done = items.filter((item) => ["right", "wrong"].includes(item.className)).length;
    const heading = document.getElementById("tray-title");
    if (heading) heading.textContent = items.length > 1 ? `Import: ${done} of ${items.length} files done` : "Import";
  }

  /** A file's line: its name, how far it is, what became of it. */
  function line(name) {
    const bar = make("progress", { max: 1 });
    bar.setAttribute("aria-label", `Import of ${name}`);
    const said = make("p", {}, "Waiting…");
    const item = make("li", { className: "waits" }, make("bdi", { className: "tray-name" }, name), said);
    tray().querySelector("ul").append(item);
    return {
      begin() {
        item.className = "";
        said.before(bar);
        item.scrollIntoView({ block: "nearest" });
      },
      far(part, text) {
        if (part === null) bar.removeAttribute("value");
        else bar.value = part;
        said.textContent = text;
      },
      end(text, kind, ...more) {
        bar.remove();
        said.textContent = text;
        item.className = kind;
        item.append(...more);
        tell();
        document.getElementById("tray-said").textContent = `${name}: ${text}`;
      },
    };
  }

  /* ---- what became of a file --------------------------------------------------------------- */

  function report(done) {
    const counts = `${done.imported.toLocaleString("en")} imported, ${done.unchanged.toLocaleString("en")} unchanged`;
    const refused = `${done.refused.toLocaleString("en")} refused`;
    const late = done.waiting ? ` ${count(done.waiting, "outcome")} wait for runs not seen yet.` : "";
    const fault = done.fault ? ` It stopped there: ${done.fault}` : "";
    return `${counts}, ${refused}; ${count(done.runs, "run")}.${late}${fault}`;
  }

  /** What was refused, by line, as far as it is told. */
  function refusals(done) {
    if (!done.refusals.length) return [];
    const items = done.refusals.map(({ line, reason }) =>
      make("li", {}, make("span", { className: "dim" }, line ? `line ${line.toLocaleString("en")}` : "the file"), ` ${reason}`),
    );
    const more = done.refused - done.refusals.length;
    if (more > 0) items.push(make("li", { className: "dim" }, `${count(more, "more")} refused: forkmap import names them all.`));
    const summary = make("summary", {}, "What was refused, and why");
    return [make("details", { open: items.length < 6 }, summary, make("ul", {}, ...items))];
  }

  /* ---- sending ----------------------------------------------------------------------------- */

  /** The last whole line of what was answered so far. */
  function latest(text) {
    const end = text.lastIndexOf("\n");
    return end < 0 ? null : JSON.parse(text.slice(text.lastIndexOf("\n", end - 1) + 1, end));
  }

  function send(request, file, place, url) {
    return new Promise((over) => {
      const broken = () => place.end("The connection broke. What was read by then is kept: send it again for the rest.", "wrong");
      request.open("POST", `${url}?name=${encodeURIComponent(file.name)}`);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.onprogress = ({ loaded }) =>
        place.far((0.5 * loaded) / file.size, `Sending: ${size(loaded)} of ${size(file.size)}`);
      request.upload.onload = () => place.far(null, "Sent. Reading…");
      request.onprogress = () => {
        const told = request.status === 200 && latest(request.responseText);
        if (!told || told.done) return;
        const folding = told.read >= told.size ? " Folding into runs…" : "";
        place.far(0.5 + (0.5 * told.read) / Math.max(told.size, 1), `${count(told.imported, "record")} imported.${folding}`);
      };
      request.onload = () => {
        const done = request.status === 200 && latest(request.responseText)?.done;
        if (request.status === 401) window.location.assign(`/signin?next=${encodeURIComponent("/")}`);
        else if (done) place.end(report(done), done.refused || done.fault ? "wrong" : "right", ...refusals(done));
        else if (request.status === 200) broken();
        else place.end(sentence(request), "wrong");
      };
      request.onerror = broken;
      request.onloadend = over;
      request.send(file);
    });
  }

  /** Why a file was not taken, in the server's words where it has any. */
  function sentence(request) {
    const isText = (request.getResponseHeader("Content-Type") || "").startsWith("text/plain");
    return isText && request.responseText ? request.responseText : `It was not taken (${request.status}).`;
  }

  async function take(files) {
    const button = chooser();
    if (!button || !files.length) return;
    const { sends, most } = button.dataset;
    for (const file of files) waiting.push({ file, sends, most: Number(most), place: line(file.name) });
    tell();
    if (asked) return;
    while (waiting.length) {
      const { file, sends: url, most: bytes, place } = waiting.shift();
      asked = new XMLHttpRequest();
      if (file.size > bytes) place.end(`It holds more than ${size(bytes)}: import it with the command, forkmap import.`, "wrong");
      else if (!(await holds(file))) place.end("The file is empty, or a folder: choose the files in it.", "wrong");
      else {
        place.begin();
        await send(asked, file, place, url);
        refresh();
      }
    }
    asked = null;
  }

  /** The page shows what came. */
  function refresh() {
    window.dash_clientside?.set_props?.("poll", { n_intervals: Date.now() % 1e9 });
  }

  /* ---- dropping and choosing --------------------------------------------------------------- */

  const brings = (event) => chooser() && [...(event.dataTransfer?.types || [])].includes("Files");
  const veil = (on) => document.documentElement.classList.toggle("dropping", on);

  document.addEventListener("dragover", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    veil(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || veil(false));
  document.addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    veil(false);
    take([...event.dataTransfer.files]);
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-sends]")) return;
    const input = make("input", { type: "file", multiple: true });
    input.addEventListener("change", () => take([...input.files]));
    input.click();
  });
})();
