"""What the command prints for people: engine values as tables.

Names of agents, tools and runs are text that anybody may have written: every text goes through
:func:`dashboard.commands.terminal.shown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dashboard.commands.terminal import plain, shown
from dashboard.components import words
from engine import calibration as scoring
from engine.calibration import Calibration
from engine.chance import chance
from engine.forks import Fork, explain, explain_hotspot, forks, golden_forks, hotspots, summary
from engine.grounds import comparisons, grounds, overall, sentence
from engine.importing import Imported
from engine.ingest import Refusal
from engine.maps import BehaviourMap, Totals
from engine.paths import Token
from engine.queries import Judged
from engine.runs import ALL_TIME, Window
from engine.statistics import wilson_one
from engine.store import AgentSummary
from engine.strata import Evidence, evidence
from engine.verdicts import Verdict

AGENT_LINES = 100
"""Agents that are listed: those with most runs."""
MAP_LINES = 40
"""Nodes of a map that are shown: those most runs passed."""
LISTED = 10
"""Hotspots, and runs waited for, that are shown."""


def refusal(refused: Refusal) -> str:
    """One refusal on one line: where, and why."""
    where = f"{refused.file}:{refused.line}" if refused.line else refused.file
    return plain(f"{where}: {refused.reason}")


def notes(done: Imported) -> list[str]:
    """What else should be known of an import, a sentence each."""
    stopped = f"forkmap: {plain(done.fault)}; what was stored before is counted"
    return [
        *unnamed(done.refused - len(done.refusals)),
        *waiting(done.waiting),
        *[stopped] * bool(done.fault),
    ]


def unnamed(count: int) -> list[str]:
    """That more was refused than is named, if it was."""
    return [f"{count:,} more were refused, which are not named"] * bool(count)


def waiting(run_ids: Sequence[str]) -> list[str]:
    """That outcomes wait for runs, if any does."""
    count = len(run_ids)
    names = ", ".join(map(plain, run_ids[:LISTED])) + (" …" if count > LISTED else "")
    waits = "1 outcome waits for a run not seen yet"
    if count > 1:
        waits = f"outcomes of {count:,} runs not seen yet wait"
    return [f"{waits}: {names}"] * bool(count)


def imported(done: Imported) -> RenderableType:
    """What an import did, in a sentence."""
    counts = f"{done.imported:,} imported, {done.unchanged:,} unchanged, {done.refused:,} refused"
    return shown(f"Records: {counts}; {words.count(done.runs, 'run')}.")


def agents(summaries: Sequence[AgentSummary], tenant: str) -> RenderableType:
    """A line an agent, of those with most runs."""
    if not summaries:
        return shown(f"No runs of the tenant {tenant} yet: forkmap import FILE; --tenant names another.")
    table = _table("agent", completed=1, succeeded=1, failed=1, abandoned=1, live=1, rate=1, interval=1)
    most = set(nlargest(AGENT_LINES, summaries, key=lambda each: each.completed + each.unknown))
    for each in (each for each in summaries if each in most):
        counts = (each.completed, each.successes, each.failures, each.abandoned, each.unknown)
        table.add_row(shown(each.agent), *map(str, counts), *_odds(each.successes, each.completed))
    older = sum(not each.completed + each.unknown for each in summaries)
    hint = f"{words.count(older, 'agent')} without a run in this time: --all looks at all time."
    more = f"{len(summaries) - len(most):,} more; --json lists them all."
    return Group(table, *[shown(more)] * (len(most) < len(summaries)), *[shown(hint)] * bool(older))


def behaviour(map: BehaviourMap) -> RenderableType:
    """The most travelled part of a map, and what it says about fatal forks."""
    table = _table("path", runs=1, rate=1, interval=1, marks=0)
    travelled = np.sort(np.lexsort((map.depth, -map.support))[:MAP_LINES])
    for node in travelled.tolist():
        marks = [f"{map.entropy_bits[node]:.2f} bits"] * bool(map.hotspot[node])
        marks = ["fatal fork"] * bool(map.fork[node]) + ["golden fork"] * bool(map.golden[node]) + marks
        name = str(map.tokens[map.token[node]]) if node else "all runs"
        support = int(map.support[node])
        table.add_row(
            shown("  " * int(map.depth[node]) + name),
            str(support),
            *_odds(int(map.successes[node]), support),
            shown(", ".join(marks), style="bold red" if map.fork[node] else "bold"),
        )
    left = len(map) - len(travelled)
    more = [shown(f"… and {words.count(left, 'node')} more: --json has them all.")] * bool(left)
    return Group(_heading(map), table, *more, shown(f"{summary(map)} {words.mix(map.totals)}"))


def findings(map: BehaviourMap) -> RenderableType:
    """Each fatal or golden fork and each hotspot in a sentence, with its path and its example runs."""
    found = evidence(map)
    parts = [
        _heading(map),
        shown(f"{summary(map)} {words.mix(map.totals)}"),
        *(shown(text) for text in overall(map, found, chance(map))),
    ]
    for fork in (*forks(map), *golden_forks(map)):
        golden = fork.runs_gained > 0
        weighed = f"gained {fork.runs_gained:.0f}" if golden else f"cost {fork.runs_lost:.0f}"
        parts += [
            shown(f"\n{_path(fork.path)}", style="bold green" if golden else "bold red"),
            *_shown(found[fork.node]),
            shown(f"  {'Golden: ' * golden}{explain(fork)}"),
            shown(f"  It {weighed} runs; {words.certainty(fork.q, map.tested)}. {_examples(fork)}"),
        ]
    spots = hotspots(map)
    if spots:
        parts.append(
            shown(f"\n{len(spots)} hotspot{'s' * (len(spots) > 1)}, where runs scatter, most visited first:")
        )
    for spot in spots[:LISTED]:
        parts += [
            shown(f"\n{_path(spot.path) or 'start'}", style="bold"),
            shown(f"  {explain_hotspot(spot)}"),
        ]
    if len(spots) > LISTED:
        parts.append(shown(f"\n{len(spots) - LISTED} more; --json lists them all."))
    return Group(*parts)


def run(judged: Judged, window: Window) -> RenderableType:
    """One run's verdict by the runs of a window, the odds along its path and its next steps."""
    asked = judged.asked or judged.verdict
    said_by = f": {judged.run.said_by}" if judged.run.said_by else ""
    source = "" if asked.source is None else f" ({words.SOURCES[asked.source]}{said_by})"
    state = "live" if asked.live else f"{words.OUTCOMES[asked.outcome]}{source}"
    parts: list[RenderableType] = [
        shown(f"{asked.run_id} · {asked.agent} · {state}", style="bold"),
        shown(f"{asked.verdict}: {asked.sentence}", style="red" if asked.verdict == "likely_failure" else ""),
        *(
            shown(
                f"Fatal fork at step {len(fork.path)} ({found.label}, {grounds(found)}): {explain(fork)}",
                style="red",
            )
            for fork, found in zip(judged.forks, judged.evidence, strict=True)
        ),
    ]
    if asked.base_rate is None and window != ALL_TIME:
        parts.append(shown("--all judges it by the runs of all time."))
    if asked.depths:
        parts.append(_depths(asked))
    if asked.next_steps:
        parts.append(_next_steps(asked))
    return Group(*parts)


def calibration(scores: Calibration) -> RenderableType:
    """What predictions were worth, by number of steps."""
    table = _table("after", predicted=1, brier=1, baseline=1, skill=1)
    for each in (each for each in scores.depths if each.predicted):
        table.add_row(
            words.count(each.steps, "step"),
            f"{each.predicted:,}",
            *(words.score(value) for value in (each.brier, each.baseline_brier)),
            words.percent(each.skill),
        )
    said = (f"Does 70% mean 70%? {scoring.agreement(scores)}", scoring.backoff_sentence(scores))
    return Group(shown(scoring.sentence(scores)), table, *(shown(each) for each in said if each))


def _table(first: str, **columns: int) -> Table:
    """A table whose other columns are to the right where 1."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for name, right in columns.items():
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    return table


def _heading(map: BehaviourMap) -> RenderableType:
    window = words.window(map.cohort.window)
    narrowed = f" · {words.narrowed(map)}" if map.cohort.where else ""
    text = f"{map.cohort.agent} · {window}{narrowed} · {_totals(map.totals)}"
    is_all = map.totals.completed or map.cohort.window == ALL_TIME
    return shown(text if is_all else f"{text}: --all looks at all time", style="bold")


def _totals(totals: Totals) -> str:
    ended = f"{totals.successes} of {words.count(totals.completed, 'completed run')} succeeded"
    rate = totals.successes / totals.completed if totals.completed else None
    return f"{ended} ({words.percent(rate)}), {totals.unknown} live"


def _shown(found: Evidence) -> list[Text]:
    """How far a fork is shown: its label, then every comparison within strata."""
    told = [sentence(within, each, found.worse) for within, each in comparisons(found)]
    return [
        shown(f"  {found.label}: {grounds(found)}.", style="bold"),
        *(shown(f"  {text}") for text in told),
    ]


def _examples(fork: Fork) -> str:
    took, other = (fork.success, fork.failure) if fork.runs_gained > 0 else (fork.failure, fork.success)
    if took and other:
        return f"Compare {took}, which took it, with {other}, which went another way."
    return f"An example is {fork.failure or fork.success}."


def _path(path: Sequence[Token]) -> str:
    return " → ".join(map(str, path))


def _odds(successes: int, support: int) -> tuple[str, str]:
    rate = successes / support if support else None
    return words.percent(rate), words.interval(*wilson_one(successes, support))


def _depths(verdict: Verdict) -> Table:
    table = _table("path", runs=1, rate=1, interval=1, note=0)
    for depth, odds in enumerate(verdict.depths, 1):
        note = "fell most" if depth == verdict.fell_most else ""
        table.add_row(shown(str(odds.token)), str(odds.support), *_odds(odds.successes, odds.support), note)
    return table


def _next_steps(verdict: Verdict) -> Table:
    table = _table("next step", runs=1, rate=1, interval=1, note=0)
    for each in verdict.next_steps:
        note = words.praise(each.high, verdict.base_rate) if each.signature == verdict.best_next_step else ""
        table.add_row(shown(each.signature), str(each.support), *_odds(each.successes, each.support), note)
    return table
