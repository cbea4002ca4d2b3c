"""``forkmap diff``: two runs of one ticket, each out of a file or out of the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import NamedTuple

from msgspec import structs
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.decisions import wording
from engine.decisions.diff import Diff
from engine.decisions.incident import unread
from engine.decisions.menus import side_by_side
from engine.decisions.schema import Option
from engine.decisions.sides import Side, lanes, side
from engine.decisions.trace import Choice, Finding, Kind
from engine.errors import UnknownRunError
from engine.ingest import Refusal, read_file
from engine.runs import assemble, run_key
from engine.spans import Span

LISTED = 10
"""Runs of a file that are named."""
SHOWN = 200
"""Options, and places in the arguments, that are shown; as JSON all of them are."""


class Compared(NamedTuple):
    """Two runs, and how they compare."""

    diff: Diff
    a: Side
    b: Side


def place(text: str) -> tuple[Path, str] | None:
    """The file that is meant, and the run of it that ``#`` names, "" if none; None if no such file is there.

    >>> place("no such file#run_91") is None
    True
    """
    cuts = [len(text), *(at for at, letter in enumerate(text) if letter == "#")]
    named = ((Path(text[:cut]), text[cut + 1 :]) for cut in cuts)
    return next((found for found in named if isfile(found[0])), None)


def read_run(file: Path, run_id: str) -> tuple[Side, list[Refusal]]:
    """A run of a file in any format, and what of the file could not be read.

    Parameters
    ----------
    run_id : str
        Which run; "" if the file holds just one.

    Raises
    ------
    InputError
        The file cannot be read at all.
    UnknownRunError
        It holds no run, not this one, or several and none is named.
    """
    traces: defaultdict[str, list[Span]] = defaultdict(list)
    refusals: list[Refusal] = []
    for each in read_file(file):
        if isinstance(each, Span):
            traces[each.trace_id].append(each)
        elif isinstance(each, Refusal):
            refusals.append(each)
    runs: defaultdict[str, list[Span]] = defaultdict(list)
    for spans in traces.values():
        runs[run_key(spans)] += spans
    if not runs:
        why = "".join(f"; line {each.line}: {each.reason}" for each in refusals[:1])
        raise UnknownRunError(f"{file}: there is no run in it{why}")
    found = next(iter(runs)) if not run_id and len(runs) == 1 else run_id
    if found not in runs:
        raise UnknownRunError(f"{file}: {_known(list(runs), run_id)}")
    return with_losses(side(assemble(found, runs[found]), runs[found]), refusals)


def with_losses(found: Side, refusals: Sequence[Refusal] = ()) -> tuple[Side, list[Refusal]]:
    """A run whose trace knows of lines that could not be read, and those with what is wrong in its trace."""
    if found.trace is None:
        return found, list(refusals)
    told = [Refusal(found.name, each.line, each.detail) for each in unread(found.trace)]
    lost = (Finding(each.line, Kind.BAD_RECORD, each.reason) for each in refusals)
    trace = structs.replace(found.trace, findings=(*found.trace.findings, *lost))
    return structs.replace(found, trace=trace), [*refusals, *told]


def _known(run_ids: list[str], asked: str) -> str:
    """Which runs a file holds, where what was asked for is none of them."""
    names = ", ".join(run_ids[:LISTED]) + (" …" if len(run_ids) > LISTED else "")
    if asked:
        return f"there is no run {asked!r} in it, but {words.count(len(run_ids), 'run')}: {names}"
    return f"there are {len(run_ids)} runs in it, name one behind a #: {names}"


def report(found: Compared) -> RenderableType:
    """The diagnosis, the sequences side by side, the options at the fork, and the four answers."""
    diff, a, b = found
    return Group(
        shown(wording.NAMES[diff.diagnosis], style="bold"),
        shown(wording.headline(diff)),
        shown(wording.look_first(diff)),
        _sequences(diff, a, b),
        *_options(diff, a, b),
        *_changes(diff),
        *_arguments(diff),
        _answers(diff),
    )


def _sequences(diff: Diff, a: Side, b: Side) -> RenderableType:
    table = _table(f"A: {a.name}", "", f"B: {b.name}")
    for ours, mark, theirs in lanes(diff, a, b):
        table.add_row(shown(ours), mark, shown(theirs), style="" if mark == "=" else "bold")
    return table


def _options(diff: Diff, a: Side, b: Side) -> list[RenderableType]:
    ours, theirs = a.choice(diff, diff.fork), b.choice(diff, diff.fork)
    if diff.fork is None or not (ours or theirs):
        return []
    table = _table(f"options at decision {diff.fork + 1}", "A", "B")
    menus = (choice.options if choice else () for choice in (ours, theirs))
    options = list(side_by_side(*menus))
    for tool, option_a, option_b in options[:SHOWN]:
        table.add_row(shown(tool), shown(_offered(option_a, ours)), shown(_offered(option_b, theirs)))
    if (more := len(options) - SHOWN) > 0:
        table.add_row(f"{more:,} more, see --format json", "", "")
    picks = [wording.picked(side, choice) for side, choice in (("A", ours), ("B", theirs)) if choice]
    return [table, *map(shown, picks)]


def _offered(option: Option | None, choice: Choice | None) -> str:
    if choice is None:
        return "no decision"
    return wording.offered(option) + (", chosen" if option and option.tool == choice.chosen else "")


def _changes(diff: Diff) -> list[RenderableType]:
    if not diff.changes:
        return []
    return [
        shown("\nSame choices from other menus or ranks:", style="bold"),
        *(shown(f"- {wording.change(each)}") for each in diff.changes),
    ]


def _arguments(diff: Diff) -> list[RenderableType]:
    if diff.mismatch is None or diff.mismatch.tool_a != diff.mismatch.tool_b:
        return []
    table = _table("arguments of the first call that differs", "A", "B")
    for line in diff.mismatch.lines[:SHOWN]:
        table.add_row(*map(shown, (line.path or "all", wording.argument(line.a), wording.argument(line.b))))
    if (more := len(diff.mismatch.lines) - SHOWN) > 0:
        table.add_row(f"{more:,} more, see --format json", "", "")
    return [table]


def _answers(diff: Diff) -> RenderableType:
    table = _table("", "A", "B")
    for answered in wording.answers(diff):
        table.add_row(*map(shown, answered))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(shown(name), overflow="fold")
    return table
