"""What ``forkmap steps`` says to people: each step that hurts or helps, in a sentence."""

from __future__ import annotations

from rich.console import Group, RenderableType

from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.grounds import grounds
from engine.occurrences import Family, Occurrence, Occurrences, explain, nothing
from engine.runs import Window

LINES = 10
"""Steps of a kind that are told."""


def report(found: Occurrences, agent: str, window: Window, where: str) -> RenderableType:
    """Whose runs, then the steps, then the failed calls."""
    runs = words.count(found.completed, "completed run")
    narrowed = f" · {words.quoted(where)}" if where else ""
    about = f"{agent} · {words.window(window)}{narrowed} · {runs}"
    return Group(
        shown(about, style="bold"),
        shown("Those that have a step against those that have it not; why they end so is not shown."),
        *_family(found.steps, "step"),
        *_family(found.failed, "failed call"),
    )


def _family(found: Family, noun: str) -> list[RenderableType]:
    sides = (
        (found.harmful, found.harmful_found, "hurt", "bold red"),
        (found.golden, found.golden_found, "help", "bold green"),
    )
    parts = [part for side in sides if side[1] for part in _side(*side, noun)]
    none = nothing(found, noun)
    return [*parts, *[shown(f"\n{none}")] * bool(none)]


def _side(found: tuple[Occurrence, ...], many: int, how: str, style: str, noun: str) -> list[RenderableType]:
    verb = how if many > 1 else f"{how}s"
    parts = [shown(f"\n{words.count(many, noun)} that {verb}:", style=style)]
    for each in found[:LINES]:
        parts += [
            shown(f"\n{each.step}", style="bold"),
            shown(f"  {explain(each)}"),
            shown(f"  {_weight(each)}"),
        ]
    more = f"\n{many - LINES:,} more; --json lists the weightiest."
    return [*parts, *[shown(more)] * (many > LINES)]


def _weight(found: Occurrence) -> str:
    runs, side = words.count(round(abs(found.runs_lost)), "run"), "lost" if found.runs_lost > 0 else "gained"
    return f"{runs} {side} against that rate; {found.evidence.label}: {grounds(found.evidence)}."
