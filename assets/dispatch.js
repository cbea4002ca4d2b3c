/* Dash tells its store of every element that is new, though there is nothing to forget about it, and the store then
   asks every element on the page whether that concerns it: with two thousand of them that takes ten seconds.
   What changes nothing is left out. */
(function () {
  "use strict";
  const stores = (window.dash_stores = window.dash_stores || []);

  /** Whether something is remembered of what stands at a path, or below. */
  function isKnown(store, path) {
    const prefix = path.join(",");
    for (const key in store.getState().layoutHashes) if (key.startsWith(prefix)) return true;
    return false;
  }

  function quieted(store) {
    const { dispatch } = store;
    store.dispatch = (action) => {
      const path = action.type === "RESET_COMPONENT_STATE" && action.payload.itempath;
      return path && !isKnown(store, path) ? action : dispatch(action);
    };
    return store;
  }

  stores.push = (...more) => Array.prototype.push.apply(stores, more.map(quieted));
})();
