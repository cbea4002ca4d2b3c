"""A real browser and a real server for it; a machine without Chromium skips these tests."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from playwright.sync_api import Browser, sync_playwright
from waitress import create_server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for the whole session."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@contextmanager
def served(server: Flask) -> Iterator[str]:
    """Serve an application on a free port of this machine; gives its address."""
    listener = create_server(server, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=listener.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.effective_port}"
    listener.close()
    thread.join(5)
