"""What every test shares: one browser, and patience, so that no slow machine fails a test."""

from __future__ import annotations

from hypothesis import settings
from playwright.sync_api import expect

from tests.browser import chromium

__all__ = ["chromium"]

settings.register_profile("forkmap", deadline=None)
settings.load_profile("forkmap")
expect.set_options(timeout=30_000)
