"""Engine values as components: pure functions, no store, clock or thread."""
