"""Forkmap's engine: from spans to runs, paths, behaviour maps and what they say."""
