"""What goes out to browsers compressed, and what does not."""

from __future__ import annotations

import gzip
import re

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard.app import Settings, create_app
from tests.memory_store import NOW_NS, MemoryStore, corpus


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    app = create_app(MemoryStore(corpus()), Settings(now_ns=lambda: NOW_NS))
    made: FlaskClient = app.server.test_client()
    return made


def asked(client: FlaskClient, path: str, **headers: str) -> TestResponse:
    """The whole answer to a browser that takes gzip."""
    sent = {"Accept-Encoding": "gzip"} | {name.replace("_", "-"): text for name, text in headers.items()}
    return client.get(path, headers=sent, buffered=True)


@pytest.mark.parametrize("path", ["/assets/app.css", "/assets/shell.js"])
def test_a_browser_gets_files_compressed(client: FlaskClient, path: str) -> None:
    packed, plain = asked(client, path), asked(client, path, Accept_Encoding="identity")
    assert (packed.headers["Content-Encoding"], "Content-Encoding" in plain.headers) == ("gzip", False)
    assert gzip.decompress(packed.data) == plain.data
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert int(packed.headers["Content-Length"]) == len(packed.data)


def test_pages_are_compressed(client: FlaskClient) -> None:
    assert b"<!DOCTYPE html>" in gzip.decompress(asked(client, "/").data)


def test_a_file_that_is_there_is_not_sent_again(client: FlaskClient) -> None:
    tag = asked(client, "/assets/app.css").headers["ETag"]
    again = asked(client, "/assets/app.css", If_None_Match=tag)
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("path", ["/assets/fonts/inter-latin.woff2", "/api/v1/agents", "/healthz"])
def test_what_is_small_or_packed_or_for_programs_is_left_as_it_is(client: FlaskClient, path: str) -> None:
    assert "Content-Encoding" not in asked(client, path).headers


def test_scripts_that_no_page_needs_are_not_asked_for(client: FlaskClient) -> None:
    page = gzip.decompress(asked(client, "/").data).decode()
    scripts = re.findall(r'<script src="([^"]+)"', page)
    assert any("dash_renderer" in each for each in scripts)
    assert [each for each in scripts if re.search("polyfill|dash_table|plotly", each)] == []
