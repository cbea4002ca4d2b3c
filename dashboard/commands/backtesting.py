"""What the command prints of a fuse that was tried on runs that are over."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from dashboard.commands.terminal import shown
from engine.backtest import Fuse, Promise, Trials, Tried, promises
from engine.fuses import LARGEST
from engine.queries import Bounds, load_questions
from engine.runs import Cohort
from engine.store import Lines, Store, Tally

_COLUMNS = ("stopped", "rightly", "wrongly", "false stops", "interval", "lead", "steps", "tokens", "brings")


class Done(NamedTuple):
    """A fuse that was tried, what the policies of the agent promise, and the ledger."""

    tried: Tried
    promises: list[Promise]
    tallies: list[Tally]


def load(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds, asked: Namespace) -> Done:
    """Try the fuse that the flags describe, and the policies that are set."""
    trials = Trials(load_questions(store, cohort, now_ns, bounds))
    fuse = Fuse(asked.support, asked.after, asked.earlier)
    kept = promises(trials, cohort.agent, store.policies(cohort.tenant), fuse.earlier)
    tallies = store.tally(cohort.tenant, now_ns, Lines(agent=cohort.agent))
    return Done(trials.tried(fuse, asked.cost, asked.odds), kept, tallies)


def table(done: Done) -> RenderableType:
    """What it would have done: in words, then a line for each change of the curve, then what was promised."""
    from dashboard.components import backtesting  # With Dash, which no other command needs.

    tried = done.tried
    if not tried.found.runs:
        return shown("No run is over in this time: --all looks at all time.")
    parts = []
    if tried.chosen is not None:
        would, saved = backtesting.done(tried.found, tried.chosen), backtesting.saved(tried.chosen)
        odds_below = f"With odds {backtesting.below(tried.chosen)}"
        parts.append(shown(f"{odds_below} {would[0].lower()}{would[1:]}", style="bold"))
        parts += [shown(saved)] if saved else []
    said = (
        backtesting.advice(tried.best, tried.cost),
        backtesting.checked(tried.held, tried.found.runs // 2),
        backtesting.judged(tried.fuse, tried.found),
    )
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn.add_column("odds below", no_wrap=True)
    for name in _COLUMNS:
        drawn.add_column(name, justify="right", no_wrap=True)
    for line in backtesting.lines(tried.found.points, tried.chosen):
        drawn.add_row(backtesting.span(line), *backtesting.cells(line[0], tried.cost))
    return Group(*parts, *map(shown, said), drawn, *map(shown, _kept(done)))


def _kept(done: Done) -> Iterator[str]:
    """A line for each policy and each action and mode it had."""
    from dashboard.components import practice

    for promise in done.promises:
        name, tried = promise.policy.name, practice.tried(promise)
        tallies = [each for each in done.tallies if each.policy == name]
        for each in tallies:
            ledger = f"in the ledger, {practice.fired(each)}"
            yield f"{name}: tried here, {tried}; {ledger}. {practice.kept(promise.point, each)}"
        if not tallies:
            yield f"{name}: tried here, {tried}; it has not fired yet."


def odds(text: str) -> float:
    """Odds in percent, as a flag has them.

    >>> odds("35%"), odds("12.5")
    (0.35, 0.125)
    """
    value = number(text.strip().removesuffix("%"))
    if not 0 < value <= 100:
        raise ArgumentTypeError(f"{text!r} is no percentage over 0")
    return value / 100


def number(text: str) -> float:
    """A number from 0 on."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LARGEST:
        raise ArgumentTypeError(f"{text!r} is no number from 0 to {LARGEST:,}")
    return value


def steps(text: str) -> int:
    """A whole number from 0 on."""
    value = number(text)
    if not value.is_integer():
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return int(value)


def support(text: str) -> int:
    """A whole number from 1 on."""
    if not (value := steps(text)):
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return value
