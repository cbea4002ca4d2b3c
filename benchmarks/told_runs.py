"""Runs whose end is known, set by set: the published ones where they lie, and the demo's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpora import PUBLISHED, TENANT, make_demo
from engine.importing import import_files
from engine.runs import ALL_TIME, Cohort, Outcome, Run
from engine.spans import Span
from engine.steps import Step
from engine.store import Store
from engine.store.sqlite import open_store

DEMO = "support-agent"
NOW_NS = 2_000_000_000_000_000_000


class Told(NamedTuple):
    """A completed run with at least one step.

    Attributes
    ----------
    watched : list of dict
        Its steps with what was said, asked for and spent, as a library that reads more than names takes them.
    """

    ticket: str
    won: bool
    signatures: tuple[str, ...]
    watched: list[dict[str, Any]]


class TestSet(NamedTuple):
    """Runs of one agent: of a published file, of several again (``pooled``), or of the demo."""

    name: str
    agent: str
    runs: list[Told]
    published: bool = True
    pooled: bool = False


def test_sets() -> list[TestSet]:
    """Every published file, what several of one agent are together, and the demo's largest agent."""
    found = [_published(path) for path in PUBLISHED]
    agents: dict[str, list[TestSet]] = {}
    for each in found:
        agents.setdefault(each.agent, []).append(each)
    together = [
        TestSet(f"{agent}, all {len(some)}", agent, [run for each in some for run in each.runs], pooled=True)
        for agent, some in agents.items()
        if len(some) > 1
    ]
    return [*found, *together, _demo()]


def _published(path: Path) -> TestSet:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "runs.sqlite", create=True)
        import_files(store, TENANT, [path])
        (agent,) = (each.agent for each in store.agents(TENANT, ALL_TIME, NOW_NS))
        runs = list(_told(store, agent))
        store.close()
    return TestSet(f"{path.parent.name} {path.stem}", agent, runs)


def _demo() -> TestSet:
    with tempfile.TemporaryDirectory() as folder:
        make_demo(path := Path(folder) / "runs.sqlite")
        store = open_store(path)
        runs = list(_told(store, DEMO))
        store.close()
    return TestSet(f"demo {DEMO}", DEMO, runs, published=False)


def _told(store: Store, agent: str) -> Iterator[Told]:
    for run in store.histories(Cohort(TENANT, agent, ALL_TIME), NOW_NS):
        if run.steps and run.outcome < Outcome.UNKNOWN:
            names = tuple(step.signature for step in run.steps)
            watched = _watched(run, store.spans(TENANT, run.run_id))
            yield Told(run.ticket or run.run_id, run.outcome == Outcome.SUCCESS, names, watched)


def _watched(run: Run, spans: Sequence[Span]) -> list[dict[str, Any]]:
    attributes = {(span.trace_id, span.span_id): span.attributes for span in spans}
    made = [_step(step, attributes[step.trace_id, step.span_id]) for step in run.steps]
    for before, after in pairwise(made):
        # A model that says nothing and calls a tool would look like one that repeats itself.
        before["content"] = before["content"] or f"{after['name']} {after['content']}"
    return made


def _step(step: Step, attributes: dict[str, Any]) -> dict[str, Any]:
    kind, _, name = step.signature.partition(":")
    said = "output.value" if kind == "llm" else "gen_ai.tool.call.arguments"
    return {
        "kind": "llm_output" if kind == "llm" else "tool_call",
        "name": name,
        "content": str(attributes.get(said, "")),
        "tokens": (step.input_tokens or 0) + (step.output_tokens or 0) or None,
        "latency_s": None if step.end_ns is None else (step.end_ns - step.start_ns) / 1e9,
        "error": step.error,
    }
