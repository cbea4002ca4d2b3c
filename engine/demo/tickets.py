"""The tickets of the demo's repo-agent: two runs of each, for whoever compares decision traces.

Each pair differs in one way only. Most differ in what was decided, the last but three in how that was
recorded: there a run shows what the audit finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from engine.decisions.trace import Kind
from engine.runs import Outcome

AGENT = "repo-agent"
Wire = Literal["events", "spans", "calls"]
"""How a run was recorded: events, spans with attributes, or its calls alone without any decision."""


class Pick(NamedTuple):
    """A decision, and the call that carries it out.

    Attributes
    ----------
    menu : mapping
        Every tool that was offered, with its score.
    fault : Kind or None
        In which way it was recorded badly.
    """

    goal: str
    menu: Mapping[str, float | None]
    chosen: str
    args: Mapping[str, Any]
    policy: str = "argmax_score"
    ok: bool = True
    fault: Kind | None = None


class Told(NamedTuple):
    """A run of a ticket."""

    outcome: Outcome
    version: str
    picks: tuple[Pick, ...]
    wire: Wire = "events"


class Ticket(NamedTuple):
    """What was asked for, and the runs that tried."""

    name: str
    runs: tuple[Told, ...]


_OLD, _NEW = "1.3.0", "1.4.0"

_FIND = Pick(
    "find what reads the clock",
    {"search_code": 0.78, "read_file": 0.41, "run_tests": 0.22},
    "search_code",
    {"query": "datetime.now", "limit": 20},
)
_READ = Pick(
    "see how the invoice test sets its date",
    {"read_file": 0.71, "edit_file": 0.45, "run_tests": 0.18},
    "read_file",
    {"module": "tests.invoice", "lines": [1, 80]},
)
_EDIT = Pick(
    "give the test a clock of its own",
    {"edit_file": 0.83, "read_file": 0.36, "ask_reviewer": 0.09},
    "edit_file",
    {"module": "tests.invoice", "change": {"line": 12, "text": "clock = FixedClock('2026-01-31')"}},
)
_TEST = Pick(
    "see whether the invoice tests pass",
    {"run_tests": 0.91, "read_file": 0.2, "open_pull_request": 0.14},
    "run_tests",
    {"target": "tests/test_invoice.py", "repeat": 5},
)
_OPEN = Pick(
    "hand the change to a reviewer",
    {"open_pull_request": 0.88, "run_tests": 0.3},
    "open_pull_request",
    {"title": "Give the invoice test a clock of its own", "draft": False},
)
_WHOLE = (_FIND, _READ, _EDIT, _TEST, _OPEN)
_BLIND = _EDIT._replace(
    args={"module": "billing.invoice", "change": {"line": 40, "text": "today = date(2026, 1, 31)"}}
)
_RED = _TEST._replace(ok=False)


def _well(*picks: Pick, wire: Wire = "events", version: str = _NEW) -> Told:
    return Told(Outcome.SUCCESS, version, picks, wire)


def _badly(*picks: Pick, wire: Wire = "events", version: str = _OLD) -> Told:
    return Told(Outcome.FAILURE, version, picks, wire)


def _by_rule(*picks: Pick) -> tuple[Pick, ...]:
    """The same picks by a router that has rules and no scores."""
    return tuple(
        pick._replace(menu=dict.fromkeys(pick.menu), policy=f"rule: {pick.chosen} first") for pick in picks
    )


_WITHOUT_READING = {"edit_file": 0.45, "run_tests": 0.18}
_ALMOST_TIED = {"edit_file": 0.52, "read_file": 0.5, "run_tests": 0.18}
_OTHER_RANKS = {"search_code": 0.6, "run_tests": 0.44, "read_file": 0.41}
_LONG = "see how the invoice test sets its date; " * 6

TICKETS = (
    Ticket(
        "repo-menu",
        (
            *2 * (_badly(_FIND, _BLIND._replace(goal=_READ.goal, menu=_WITHOUT_READING), _RED),),
            _well(*_WHOLE),
        ),
    ),
    Ticket(
        "repo-scoring",
        (
            _badly(
                _FIND._replace(menu=_OTHER_RANKS),
                _BLIND._replace(goal=_READ.goal, menu=_ALMOST_TIED),
                _RED,
            ),
            _well(*_WHOLE),
        ),
    ),
    Ticket(
        "repo-policy",
        (
            _badly(_FIND, _BLIND._replace(goal=_READ.goal, menu=_READ.menu, policy="explore_10"), _RED),
            _well(*_WHOLE),
        ),
    ),
    Ticket("repo-ended", (_badly(*_by_rule(*_WHOLE[:3])), _well(*_by_rule(*_WHOLE)))),
    Ticket(
        "repo-latent",
        (
            _badly(
                _FIND,
                _READ,
                _EDIT._replace(menu={"edit_file": 0.83, "read_file": 0.36}),
                _RED._replace(menu={"run_tests": 0.91, "open_pull_request": 0.33, "read_file": 0.2}),
                _OPEN,
                wire="spans",
            ),
            _well(*_WHOLE, wire="spans"),
        ),
    ),
    Ticket(
        "repo-arguments",
        (_badly(_FIND, _READ, _BLIND, _RED, _OPEN, wire="spans"), _well(*_WHOLE, wire="spans")),
    ),
    Ticket("repo-identical", (_badly(*_WHOLE, version=_NEW), _well(*_WHOLE))),
    Ticket(
        "repo-long",
        (
            _badly(
                *_WHOLE[:4],
                *3 * _WHOLE[1:4],
                _BLIND._replace(goal=_READ.goal, menu=_ALMOST_TIED),
                _RED,
                _EDIT,
                _OPEN,
            ),
            _well(*_WHOLE[:4], *3 * _WHOLE[1:4], _READ, _EDIT, _TEST, _OPEN),
        ),
    ),
    Ticket(
        "repo-journal",
        (
            _badly(
                _FIND._replace(fault=Kind.DUPLICATE_SPAN),
                _READ._replace(fault=Kind.DUPLICATE_OPTION),
                _EDIT._replace(goal=_READ.goal, menu=_READ.menu),
                _EDIT._replace(fault=Kind.CHOICE_MISMATCH),
                _TEST._replace(fault=Kind.MISSING_DECISION),
                _READ._replace(goal=_LONG),
                _EDIT._replace(fault=Kind.BAD_MARGIN),
                _RED._replace(fault=Kind.TIME_REVERSED),
                _EDIT._replace(fault=Kind.CHOSEN_MISSING),
                _OPEN._replace(fault=Kind.UNCONSUMED_DECISION),
            ),
            _well(*_WHOLE),
        ),
    ),
    Ticket(
        "repo-attributes",
        (
            _badly(
                _FIND,
                _READ._replace(fault=Kind.BAD_JSON),
                _EDIT._replace(fault=Kind.BAD_RECORD),
                _RED,
                wire="spans",
            ),
            _well(*_WHOLE, wire="spans"),
        ),
    ),
    Ticket("repo-unrecorded", (_badly(_FIND, _BLIND, _RED, wire="calls"), _well(*_WHOLE, wire="spans"))),
)
"""One for each diagnosis, a long one, and two that were recorded badly in every way there is."""
