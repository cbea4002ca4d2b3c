/* The theme a person chose, put on the page before anything is drawn; without a choice the system's. */
(function () {
  "use strict";
  const CHOICES = ["auto", "light", "dark"];
  const forkmap = (window.forkmap = window.forkmap || {});

  function read() {
    try {
      const kept = window.localStorage.getItem("forkmap.theme");
      return CHOICES.includes(kept) ? kept : "auto";
    } catch (refused) {
      return "auto"; /* storage can be switched off: then the choice lasts as long as the page */
    }
  }

  function apply(choice) {
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }

  let choice = read();
  apply(choice);

  forkmap.theme = {
    choice: () => choice,
    next() {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      apply(choice);
      try {
        window.localStorage.setItem("forkmap.theme", choice);
      } catch (refused) {
        /* see above */
      }
      return choice;
    },
  };
})();
