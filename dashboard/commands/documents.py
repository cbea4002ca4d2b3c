"""What the command prints for programs: engine values as plain JSON values.

People script against these shapes, so they are kept stable. Rates are in [0, 1], tokens are
their text, and where there is no number the value is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dashboard import urls
from dashboard.commands.importing import Imported
from dashboard.totals import totals
from engine.calibration import Calibration
from engine.forks import Fork, forks, hotspots
from engine.maps import BehaviourMap
from engine.paths import Token
from engine.queries import Judged
from engine.runs import Cohort
from engine.store import AgentSummary

Document = dict[str, Any]

_STEP = ("support", "successes", "rate", "low", "high")


def imported(done: Imported) -> Document:
    """What an import did."""
    counts = {"imported": done.imported, "unchanged": done.unchanged, "refused": done.refused}
    refusals = [_fields(each, ("file", "line", "reason")) for each in done.refusals]
    return counts | {"refusals": refusals, "runs": done.runs}


def agents(summaries: Sequence[AgentSummary]) -> list[Document]:
    """Every agent with the counts of the window."""
    return [{"tenant": each.tenant, "agent": each.agent} | totals(each) for each in summaries]


def behaviour(map: BehaviourMap) -> Document:
    """A behaviour map: its cohort, totals and nodes in pre-order."""
    more = {
        "no_steps": map.totals.no_steps,
        "cut_paths": map.totals.cut_paths,
        "bounds_met": list(map.totals.bounds_met),
    }
    return {
        "cohort": _cohort(map.cohort, map.now_ns),
        "totals": totals(map.totals) | more,
        "nodes": _nodes(map),
        "tested": map.tested,
    }


def findings(map: BehaviourMap) -> Document:
    """The fatal forks and hotspots of a map."""
    return {
        "tested": map.tested,
        "impossible": map.impossible,
        "forks": [_fork(fork) for fork in forks(map)],
        "hotspots": [
            {
                "key": spot.key,
                "path": _path(spot.path),
                "visits": spot.visits,
                "entropy_bits": spot.entropy_bits,
                "options": [{"token": str(token), "support": support} for token, support in spot.options],
            }
            for spot in hotspots(map)
        ],
    }


def _fork(fork: Fork) -> Document:
    return {
        "key": fork.key,
        "path": _path(fork.path),
        **_fields(fork, (*_STEP, "sibling_support", "sibling_successes", "sibling_rate")),
        **_fields(fork, ("p", "q", "runs_lost")),
        "examples": {"failure": fork.failure, "success": fork.success},
    }


def run(judged: Judged) -> Document:
    """The verdict for one run; of the named next step, if one was asked about."""
    verdict = judged.asked or judged.verdict
    source = None if verdict.source is None else verdict.source.name.lower()
    return {
        "run_id": verdict.run_id,
        "agent": verdict.agent,
        "outcome": verdict.outcome.name.lower(),
        "outcome_source": source,
        "said_by": None if verdict.live else judged.run.said_by or None,
        "live": verdict.live,
        "path": _path(verdict.path),
        **_fields(
            verdict, ("verdict", "successes", "support", "rate", "low", "high", "base_rate", "sentence")
        ),
        "depths": [{"token": str(each.token)} | _fields(each, _STEP) for each in verdict.depths],
        "fell_most": verdict.fell_most,
        "next_steps": [_fields(each, ("signature", *_STEP)) for each in verdict.next_steps],
        "best_next_step": verdict.best_next_step,
        "forks": [_fork(fork) for fork in judged.forks],
    }


def calibration(scores: Calibration) -> Document:
    """What a map's predictions have been worth."""
    skill = ("predicted", "brier", "baseline_brier", "skill")
    return {
        **_fields(scores, skill),
        "depths": [_fields(each, ("steps", *skill)) for each in scores.depths],
        "reliability": [each._asdict() for each in scores.reliability],
    }


def _fields(value: object, names: Iterable[str]) -> Document:
    return {name: getattr(value, name) for name in names}


def _path(path: Iterable[Token]) -> list[str]:
    return [str(token) for token in path]


def _cohort(cohort: Cohort, now_ns: int) -> Document:
    """Whose runs: the window as times, null where it is open."""
    start_ns, _ = cohort.window.bounds(now_ns)
    end_ns = cohort.window.end_ns
    return {
        "tenant": cohort.tenant,
        "agent": cohort.agent,
        "from": urls.write_time(start_ns) if start_ns else None,
        "to": None if end_ns is None else urls.write_time(end_ns),
        "steps": cohort.view,
    }


def _nodes(map: BehaviourMap) -> list[Document]:
    columns = (
        "depth",
        "support",
        "successes",
        "abandoned",
        "ended",
        "low",
        "high",
        "fork",
        "entropy_bits",
        "hotspot",
    )
    values = zip(*(getattr(map, name).tolist() for name in columns), strict=True)
    texts = [str(token) for token in map.tokens]
    paths: list[list[str]] = []
    for parent, token in zip(map.parent.tolist(), map.token.tolist(), strict=True):
        paths.append([*paths[parent], texts[token]] if parent >= 0 else [])
    return [
        {"key": map.key_text(node), "path": path} | dict(zip(columns, row, strict=True))
        for node, (path, row) in enumerate(zip(paths, values, strict=True))
    ]
