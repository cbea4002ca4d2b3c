/* What one function of Dash's own scripts needs of a library for old browsers, which is not loaded: it is
   written as a state machine that is stepped through, with nothing to catch. */
window.regeneratorRuntime ??= {
  mark: (machine) => machine,
  wrap(step) {
    const state = { prev: 0, next: 0, sent: undefined, done: false, stop: () => void (state.done = true) };
    return {
      next(sent) {
        state.sent = sent;
        const value = step(state);
        return { value, done: state.done };
      },
      throw(error) {
        throw error;
      },
    };
  },
};
