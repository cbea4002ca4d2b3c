"""What every test shares: one browser, and properties that no slow machine can fail."""

from __future__ import annotations

from hypothesis import settings

from tests.browser import chromium

__all__ = ["chromium"]

settings.register_profile("forkmap", deadline=None)
settings.load_profile("forkmap")
