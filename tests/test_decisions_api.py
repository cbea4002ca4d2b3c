"""What programs read of decisions: those of one run, and how two compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dashboard.app import create_app
from engine.store.sqlite import open_store
from tests import decided
from tests.decided import EDIT, READ, SEARCH, Pick

Server = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What a server answers: status and JSON."""
    store = open_store(tmp_path_factory.mktemp("api") / "s.sqlite", create=True)
    decided.send(store, "good", [SEARCH, READ])
    decided.send(store, "bad", [SEARCH, EDIT])
    decided.send(
        store, "other/run", [Pick("search", {"search": 0.75, "edit": 0.5}, {"file": "a.py"}, "edit")]
    )
    decided.send(store, "plain", [SEARCH, EDIT], decided.Told(recorded=False))
    client = create_app(store).server.test_client()

    def ask(path: str, **query: Any) -> tuple[int, Any]:
        answer = client.get(f"/api/v1{path}", query_string=query)
        return answer.status_code, answer.json

    yield ask
    store.close()


def test_the_decisions_of_a_run_with_their_calls_and_what_is_wrong_with_them(server: Server) -> None:
    status, found = server("/runs/other%2Frun/decisions")
    (decision,) = found["decisions"]
    assert (status, found) == (
        200,
        {
            "run_id": "other/run",
            "recorded": True,
            "decisions": [
                {
                    "span_id": "d0",
                    "ts": decision["ts"],
                    "goal": "fix the test",
                    "options": [
                        {"tool": "search", "score": 0.75, "reason": None},
                        {"tool": "edit", "score": 0.5, "reason": None},
                    ],
                    "chosen": "search",
                    "policy": "argmax",
                    "margin": 0.25,
                    "calls": [
                        {"span_id": "c0", "tool": "edit", "args": {"file": "a.py"}, "ok": True, "bytes": None}
                    ],
                }
            ],
            "calls_without_decision": [],
            "findings": [
                {
                    "kind": "choice_mismatch",
                    "event": 2,
                    "span_id": "c0",
                    "detail": "search->edit",
                    "sentence": "search was chosen, and edit was called.",
                }
            ],
        },
    )
    assert decision["ts"].endswith("Z")


def test_a_run_that_recorded_none_says_so(server: Server) -> None:
    nothing: dict[str, list[Any]] = {"decisions": [], "calls_without_decision": [], "findings": []}
    assert server("/runs/plain/decisions") == (200, {"run_id": "plain", "recorded": False, **nothing})


def test_two_runs_compare_by_their_decisions(server: Server) -> None:
    status, found = server("/compare", a="good", b="bad")
    assert (status, found["by"], found["diagnosis"], found["fork"]["place"]) == (200, "decisions", "menu", 1)
    assert (found["fork"]["only_a"], found["fork"]["only_b"]) == (["read"], [])


def test_a_run_is_named_by_a_trace_of_it_too(server: Server) -> None:
    assert server("/compare", a="trace-good", b="trace-bad") == server("/compare", a="good", b="bad")


def test_beside_a_run_without_decisions_both_compare_by_steps(server: Server) -> None:
    _, found = server("/compare", a="good", b="plain")
    assert (found["by"], found["diagnosis"], found["answers"]["b"]["chosen_ran"]) == (
        "steps",
        "unrecorded",
        None,
    )


def test_the_threshold_is_the_askers(server: Server) -> None:
    assert server("/compare", a="good", b="bad", low_margin=0.5)[1]["fork"]["a"]["low"] is True
    assert server("/compare", a="good", b="bad")[1]["fork"]["a"]["low"] is False


@pytest.mark.parametrize(
    ("path", "query", "status", "detail"),
    [
        ("/runs/none/decisions", {}, 404, "No run 'none' is in the store."),
        ("/compare", {"a": "good", "b": "none"}, 404, "No run 'none' is in the store."),
        ("/compare", {"a": "good"}, 400, "b: missing."),
        ("/compare", {"a": "good", "b": ""}, 400, "b: expected `str` of length >= 1."),
        (
            "/compare",
            {"a": "good", "b": "bad", "low_margin": "nan"},
            400,
            "low_margin: expected `float` >= 0.0.",
        ),
        (
            "/compare",
            {"a": "good", "b": "bad", "low_margin": "-1"},
            400,
            "low_margin: expected `float` >= 0.0.",
        ),
    ],
)
def test_what_cannot_be_answered_is_told(
    server: Server, path: str, query: dict[str, str], status: int, detail: str
) -> None:
    code, problem = server(path, **query)
    assert (code, problem["detail"]) == (status, detail)
