"""Saying how a run ended, by hand or by a program, and taking it back."""

from __future__ import annotations

from typing import NamedTuple

from engine.paths import identifier
from engine.runs import Declaration, Outcome
from engine.store import Store

BY_HAND = "by hand"
"""How outcomes that a person gave on a page are told from others."""
BY_API = "by API"
"""How outcomes that a program gave over HTTP are told from others."""


class Said(NamedTuple):
    """What became of a declaration: whether it is new, and whether its run is yet to be seen."""

    declaration: Declaration
    new: bool
    waiting: bool


def signed(how: str, name: str) -> str:
    """Who says it, and how.

    >>> signed(BY_HAND, "ann"), signed(BY_HAND, "")
    ('by hand: ann', 'by hand')
    """
    return f"{how}: {name}" if name else how


def is_by_hand(declaration: Declaration) -> bool:
    """Whether a person gave it on a page.

    >>> is_by_hand(Declaration("r", Outcome.SUCCESS, 0, "by hand: ann"))
    True
    """
    return declaration.by.partition(":")[0] == BY_HAND


def run_named(store: Store, tenant: str, name: str) -> str | None:
    """Id of the run that has this id, else of the one that has a trace of it, with dashes or without."""
    found = store.runs_of(tenant, [name, name.replace("-", "").lower()], [name])
    own = identifier(name)
    return own if own in found else next(iter(found), None)


def say_now(store: Store, tenant: str, run_id: str, outcome: Outcome, by: str, now_ns: int) -> Declaration:
    """Declare what holds from now on: it is dated after all that was said of the run before.

    So it counts whatever clock the others went by.
    """
    before = store.declarations(tenant, run_id)
    time_ns = max(now_ns, before[0].time_ns + 1) if before else now_ns
    declaration = Declaration(run_id, outcome, time_ns, by)
    store.declare(tenant, [declaration])
    return declaration


def say(
    store: Store, tenant: str, run_id: str, outcome: Outcome, by: str, time_ns: int | None, now_ns: int
) -> Said:
    """Declare an outcome; one without a time holds now, and said again by the same source changes nothing."""
    known = run_named(store, tenant, run_id)
    waiting, run_id = known is None, known or run_id
    if time_ns is not None:
        declaration = Declaration(run_id, outcome, time_ns, by)
        return Said(declaration, store.declare(tenant, [declaration]).new > 0, waiting)
    last = next((each for each in store.declarations(tenant, run_id) if each.by == by), None)
    if last is not None and last.outcome is outcome:
        return Said(last, False, waiting)
    return Said(say_now(store, tenant, run_id, outcome, by, now_ns), True, waiting)


def take_back(store: Store, tenant: str, run_id: str, by: str) -> int:
    """Withdraw all that a source declared for a run; how many there were."""
    run_id = run_named(store, tenant, run_id) or run_id
    told = [each for each in store.declarations(tenant, run_id) if each.by == by]
    return sum(store.withdraw(tenant, each) for each in told)
