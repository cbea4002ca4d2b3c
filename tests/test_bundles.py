"""What a browser is given at first: two files for thirty, and the addresses of what it will ask for."""

from __future__ import annotations

import re
import time
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard import app as dashboard_app
from dashboard.app import Settings, create_app
from dashboard.bundles import bundles
from tests.memory_store import NOW_NS, MemoryStore, corpus

AGENT = "support-agent"


@pytest.fixture
def client() -> FlaskClient:
    app = create_app(MemoryStore(corpus()), Settings(now_ns=lambda: NOW_NS))
    client: FlaskClient = app.server.test_client()
    return client


def early(client: FlaskClient, url: str) -> list[str]:
    """Addresses of answers that the page at a URL has the browser ask for at once."""
    return [unescape(each) for each in re.findall(r'as="fetch" href="([^"]*)"', client.get(url).text)]


def test_files_stand_one_after_the_other_by_their_names_but_for_the_one_of_the_head(tmp_path: Path) -> None:
    for name, text in {"b.js": "two", "a.js": "one", "theme.js": "head", "a.css": "look"}.items():
        (tmp_path / name).write_text(text)
    assert {kind: each.body for kind, each in bundles(tmp_path).items()} == {
        "js": b"one\ntwo",
        "css": b"look",
    }


def test_an_address_is_of_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("one")
    before = bundles(tmp_path)
    assert bundles(tmp_path) == before
    (tmp_path / "a.js").write_text("two")
    assert bundles(tmp_path)["js"].address != before["js"].address


def test_the_page_names_each_bundle_once_and_no_other_file_but_that_of_the_head(client: FlaskClient) -> None:
    made = bundles(dashboard_app.assets())
    named = re.findall(r'(?:script src|stylesheet" href)="(/assets/[^"]*)"', client.get("/").text)
    assert named == ["/assets/theme.js", made["css"].address, made["js"].address]


@pytest.mark.parametrize("kind", ["css", "js"])
def test_a_bundle_is_kept_for_good(client: FlaskClient, kind: str) -> None:
    made = bundles(dashboard_app.assets())[kind]
    answer = client.get(made.address)
    assert (answer.data, answer.headers["Cache-Control"]) == (
        made.body,
        "public, max-age=31536000, immutable",
    )


@pytest.mark.parametrize("kind", ["css", "js"])
def test_under_the_address_of_another_version_it_is_not_kept(client: FlaskClient, kind: str) -> None:
    """A page of the new version may be answered by a server that is still the old one."""
    made = bundles(dashboard_app.assets())[kind]
    for address in (f"/assets/all.{kind}", f"/assets/all.{kind}?m=0123456789abcdef"):
        answer = client.get(address)
        assert (answer.data, answer.headers["Cache-Control"]) == (made.body, "no-store")


def test_no_other_kind_is_bundled(client: FlaskClient) -> None:
    assert client.get("/assets/all.py").status_code == 404


def test_what_every_page_asks_first_is_asked_for_at_once(client: FlaskClient) -> None:
    assert early(client, "/") == ["/_dash-layout", "/_dash-dependencies"]


def test_a_page_of_a_map_begins_its_build_and_asks_for_its_columns_once_they_are_there(
    client: FlaskClient,
) -> None:
    deadline = time.monotonic() + 10
    while len(found := early(client, f"/map?agent={AGENT}")) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert found[2].startswith(f"/data/map?agent={AGENT}&")
    assert client.get(found[2]).status_code == 200


@pytest.mark.parametrize("url", ["/map?agent=nobody", "/map", "/map?agent=support-agent&from=never"])
def test_a_map_that_is_none_is_told_by_its_page(client: FlaskClient, url: str) -> None:
    assert client.get(url).status_code == 200
