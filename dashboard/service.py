"""What every page is given: the store, the built maps and the clock of its questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dash.development.base_component import Component

from engine.backoff import back_off
from engine.backtest import Trials
from engine.builder import Maps, Ready
from engine.checks import Checked, nothing_known
from engine.erasing import nothing_held
from engine.ingest.limits import LIMITS, Limits
from engine.keys import ANYONE, Caller
from engine.metering import UNMETERED, Meter
from engine.questions import Questions
from engine.runs import Cohort
from engine.selections import Selection
from engine.store import Receipt, Store
from engine.triage import Known

Check: TypeAlias = Callable[[str, str, str | None], Checked]
Erase: TypeAlias = Callable[[str, Selection, str], Receipt]


@dataclass(frozen=True, slots=True)
class Service:
    """The engine as the pages see it.

    Attributes
    ----------
    now_ns : callable
        The clock; a demo store's stands still, then ``frozen`` is True.
    caller : callable
        Who asks, at the moment of each request.
    limits : Limits
        How much one request of spans may bring.
    meter : Meter
        Told what is counted.
    check : callable
        ``(tenant, run id, next step or None)`` to whether the run may go on.
    erase : callable
        ``(tenant, what is to be forgotten, who asks)`` to the receipt.
    """

    store: Store
    maps: Maps
    now_ns: Callable[[], int]
    caller: Callable[[], Caller] = lambda: ANYONE
    frozen: bool = False
    limits: Limits = LIMITS
    meter: Meter = UNMETERED
    check: Check = nothing_known
    erase: Erase = nothing_held

    @property
    def tenant(self) -> str:
        """Whose runs are looked at: the caller's, and nobody else's."""
        return self.caller().tenant

    def known(self, cohort: Cohort) -> Known | None:
        """What runs in flight are looked at by, or None; a map that is missing is requested."""
        found = self.maps.index(cohort)
        return Known(found[1], self.maps.made(cohort, found[0], back_off)) if found else None

    def trials(self, cohort: Cohort, asked: Ready[Questions]) -> Trials:
        """The backtests of a cohort's runs that are over, as far as somebody asked for them."""
        return self.maps.made(cohort, asked, Trials, "questions")


class Page(NamedTuple):
    """What a URL shows.

    Attributes
    ----------
    waiting : bool
        True while something on it is still being built: the browser asks again soon.
    stamp : str
        What the page was made from; while it stays the same, nothing is redrawn.
    agent : str
        The agent that is looked at, for the navigation.
    refresh_s : float
        How often the browser asks again while the page is in view, in seconds; 0 for never. While the
        ``stamp`` stays the same nothing is drawn; else only what differs is, and the place that a person
        is at is kept (``assets/redraw.js``). ``data-key`` tells rows apart that look alike; a button
        "Pause" with ``data-does="pause"`` stops the asking until it is pressed again.
    """

    title: str
    body: Component
    waiting: bool = False
    stamp: str = ""
    agent: str = ""
    refresh_s: float = 0.0
