"""Files that a page sends: imported as the command imports them, told line by line, and never left behind."""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard.app import Settings, create_app
from dashboard.uploads import AT_ONCE, FAULT, NAMED, SEVERAL, file_name, too_long
from engine.errors import UnwritableStoreError
from engine.ingest.limits import LIMITS
from engine.keys import Role, mint
from engine.runs import ALL_TIME
from engine.spans import Span
from engine.store import Appended, Store
from engine.store.sqlite import open_store
from tests.memory_store import MemoryStore

NOW_NS = time.time_ns()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "forkmap.sqlite", create=True)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where files are kept meanwhile; nothing may be left there."""
    folder = tmp_path / "aside"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [*folder.iterdir()] == []


def client_of(store: Store, max_bytes: int = LIMITS.max_file_bytes) -> FlaskClient:
    settings = Settings(limits=LIMITS._replace(max_file_bytes=max_bytes))
    client: FlaskClient = create_app(store, settings).server.test_client()
    return client


def lines(runs: int, agent: str = "desk") -> bytes:
    """Runs in Forkmap's own lines, a span each."""
    return b"\n".join(
        json.dumps(
            {
                **{"type": "span", "trace_id": f"t{n}", "span_id": f"s{n}", "name": "x"},
                **{"start": NOW_NS + n, "end": NOW_NS + n + 1},
                "attributes": {"forkmap.kind": "tool", "forkmap.name": "x", "gen_ai.agent.name": agent},
            }
        ).encode()
        for n in range(runs)
    )


def sent(client: FlaskClient, body: bytes, name: str = "runs.jsonl", **headers: str) -> TestResponse:
    return client.post("/import", query_string={"name": name}, data=body, headers=headers)


def done(answer: TestResponse) -> dict[str, Any]:
    assert answer.status_code == 200
    with answer:
        found: dict[str, Any] = json.loads(answer.text.splitlines()[-1])["done"]
    return found


def test_a_file_is_imported_and_the_report_is_that_of_the_command(store: Store) -> None:
    client, body = client_of(store), lines(3) + b"\n[]\n"
    kinds = "span, outcome, decision, tool_call, tool_result, run"
    reason = f'an object was expected whose "type" is one of {kinds}'
    refusals = [{"file": "runs.jsonl", "line": 4, "reason": reason}]
    report = {"refused": 1, "refusals": refusals, "runs": 3, "waiting": 0, "fault": ""}
    assert done(sent(client, body)) == {"imported": 3, "unchanged": 0, **report}
    assert done(sent(client, body)) == {"imported": 0, "unchanged": 3, **report}
    assert [each.agent for each in store.agents("default", ALL_TIME, NOW_NS)] == ["desk"]


def test_what_was_done_so_far_is_told_as_it_is_done(store: Store) -> None:
    body = lines(11_000)
    answer = sent(client_of(store), body)
    told = [json.loads(line) for line in answer.text.splitlines()]
    answer.close()
    assert [line["imported"] for line in told[:-1]] == [5_000, 10_000, 11_000, 11_000]
    assert [line["size"] for line in told[:-1]] == [len(body)] * 4
    assert [line["read"] for line in told[:-1]] == sorted(line["read"] for line in told[:-1])
    assert told[-2]["read"] == len(body)
    assert told[-1]["done"]["runs"] == 11_000


def test_a_packed_file_is_unpacked(store: Store) -> None:
    assert done(sent(client_of(store), gzip.compress(lines(2)), "runs.jsonl.gz"))["imported"] == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"", "the file is empty"), (b"\x89PNG\r\n\x1a\n\0\0", "no format fits"), (b"hello", "no format fits")],
)
def test_a_file_that_is_none_gets_its_sentence(store: Store, body: bytes, reason: str) -> None:
    report = done(sent(client_of(store), body, "holiday.png"))
    assert (report["imported"], report["refused"]) == (0, 1)
    (refusal,) = report["refusals"]
    assert (refusal["file"], refusal["line"]) == ("holiday.png", 0)
    assert reason in refusal["reason"]


def test_the_first_refusals_are_named_and_all_are_counted(store: Store) -> None:
    report = done(sent(client_of(store), lines(1) + b"\n{oops" * (NAMED + 5)))
    assert (report["refused"], len(report["refusals"])) == (NAMED + 5, NAMED)


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_that_is_too_long_is_refused_in_a_sentence(store: Store, declared: bool) -> None:
    body = lines(50)
    how = {} if declared else {"headers": {"Transfer-Encoding": "chunked"}, "environ_overrides": CHUNKED}
    answer = client_of(store, len(body) - 1).post("/import", data=body, **how)
    assert (answer.status_code, answer.text) == (413, too_long(len(body) - 1))
    assert done(sent(client_of(store, len(body)), body))["imported"] == 50


CHUNKED = {"wsgi.input_terminated": True, "CONTENT_LENGTH": None}


def test_only_so_many_are_imported_at_once(store: Store) -> None:
    client = client_of(store)
    held = [client.post("/import", data=lines(1), buffered=False) for _ in range(AT_ONCE)]
    refused = sent(client, lines(1))
    assert (refused.status_code, refused.text) == (503, SEVERAL)
    held[0].close()
    assert done(sent(client, lines(1)))["runs"] == 1
    held[1].close()


def test_who_goes_away_leaves_nothing_behind(store: Store, aside: Path) -> None:
    answer = client_of(store).post("/import", data=lines(11_000), buffered=False)
    first = next(iter(answer.response))
    assert json.loads(first)["imported"] == 5_000  # type: ignore[arg-type]
    assert len([*aside.iterdir()]) == 1
    answer.close()
    assert [*aside.iterdir()] == []
    assert store.settle("default") != set()


@pytest.mark.parametrize(("role", "status"), [(Role.READ, 403), (Role.INGEST, 200), (Role.ADMIN, 200)])
def test_it_takes_a_key_that_may_send_and_goes_into_its_tenant(store: Store, role: Role, status: int) -> None:
    key, text = mint("acme", role, "", NOW_NS)
    store.add_key(key)
    client = client_of(store)
    assert sent(client, lines(2)).status_code == 401
    with sent(client, lines(2), Authorization=f"Bearer {text}") as answer:
        assert answer.status_code == status
    agents = [len(store.agents(tenant, ALL_TIME, NOW_NS)) for tenant in ("acme", "default")]
    assert agents == [1 if status == 200 else 0, 0]


def test_a_page_of_another_site_sends_nothing(store: Store) -> None:
    assert sent(client_of(store), lines(1), Origin="https://evil.example").status_code == 403
    assert store.agents("default", ALL_TIME, NOW_NS) == []


class FullStore(MemoryStore):
    """A store on a full disk."""

    def append(self, tenant: str, spans: Sequence[Span]) -> Appended:
        raise UnwritableStoreError("the disk is full")


def test_a_fault_is_said_in_the_report() -> None:
    """Of the store in its own words, of the program without them."""
    body = lines(1) + b"\n{oops"
    full, broken = (done(sent(client_of(store), body)) for store in (FullStore(), MemoryStore()))
    assert (full["imported"], full["refused"], full["fault"]) == (0, 1, "the disk is full")
    assert broken["fault"] == FAULT


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("", "traces"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\x.json", "x.json"),
        ("a\0b\n.jsonl", "ab.jsonl"),
        ("é" * 300 + ".json", "é" * 97 + ".json"),
        (". .", "traces"),
        ("\udcff.json", ".json"),
    ],
)
def test_a_file_is_kept_under_a_name_that_leads_nowhere(told: str, kept: str) -> None:
    assert file_name(told) == kept
