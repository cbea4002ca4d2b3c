"""The dashboard: pages over the engine, and the ``forkmap`` command."""
