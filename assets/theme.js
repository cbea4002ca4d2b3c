/* What a person chose for themselves, put on the page before anything is drawn, and kept in this browser:
   the theme (without a choice the system's), how dense the rows are, and which zone times are told in. */
(function () {
  "use strict";
  const CHOICES = { theme: ["auto", "light", "dark"], density: ["comfortable", "compact"], times: ["UTC", "local"] };
  const forkmap = (window.forkmap = window.forkmap || {});
  const chosen = {};

  function kept(what) {
    try {
      return window.localStorage.getItem(`forkmap.${what}`);
    } catch (refused) {
      return null; /* storage can be switched off: then the choice lasts as long as the page */
    }
  }

  function keep(what, choice) {
    try {
      window.localStorage.setItem(`forkmap.${what}`, choice);
    } catch (refused) {
      /* see above */
    }
  }

  /** The first choice is no choice, and leaves no mark. */
  function apply(what, choice) {
    chosen[what] = choice;
    if (choice === CHOICES[what][0]) delete document.documentElement.dataset[what];
    else document.documentElement.dataset[what] = choice;
  }

  function choose(what, choice) {
    apply(what, choice);
    keep(what, choice);
    window.dispatchEvent(new CustomEvent("forkmap.taste", { detail: what }));
    return choice;
  }

  for (const [what, choices] of Object.entries(CHOICES)) {
    const before = kept(what);
    apply(what, choices.includes(before) ? before : choices[0]);
  }

  /* Another tab of this browser follows. */
  window.addEventListener("storage", ({ key, newValue }) => {
    const what = key?.replace("forkmap.", "");
    if (CHOICES[what]?.includes(newValue)) choose(what, newValue);
  });

  forkmap.taste = {
    choice: (what) => chosen[what],
    next: (what) => choose(what, CHOICES[what][(CHOICES[what].indexOf(chosen[what]) + 1) % CHOICES[what].length]),
  };
})();
