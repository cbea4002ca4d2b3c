"""A real browser and a real server for it.

Chromium is what FORKMAP_CHROMIUM names, else one on the path, else Playwright's own; without
any the tests fail and say so: ``make test`` installs one.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def find_chromium() -> str | None:
    """Path of the browser, or None where Playwright's own is meant."""
    found = (shutil.which(name) for name in NAMES)
    return os.environ.get("FORKMAP_CHROMIUM") or next((path for path in found if path), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for the whole session."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(server: Flask) -> Iterator[str]:
    """Serve an application on a free port of this machine; gives its address."""
    listener = make_server("127.0.0.1", 0, server, threaded=True)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.server_port}"
    listener.shutdown()
    thread.join(5)
