"""What every test shares: one browser, and patience, so that no slow machine fails a test."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import expect

from tests.browser import chromium

__all__ = ["chromium"]

settings.register_profile("forkmap", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("forkmap")
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs the browser last: while Playwright runs, its thread can run no other loop."""
    items.sort(key=lambda item: "chromium" in getattr(item, "fixturenames", ()))
