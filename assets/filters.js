/* A form of filters asks only what is filled in, so that its answer is an address worth passing on. */
(function () {
  "use strict";
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.filters")) return;
    const empty = [...event.target.elements].filter((field) => field.name && !field.value);
    for (const field of empty) field.disabled = true;
    /* Back may bring the page as it stood. */
    window.setTimeout(() => empty.forEach((field) => (field.disabled = false)));
  });
})();
