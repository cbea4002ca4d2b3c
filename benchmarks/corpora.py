"""Stores for what is measured and looked at in a browser: the demo, published runs, and 50,000 nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine import demo
from engine.importing import import_files
from engine.runs import SECOND_NS
from engine.spans import Span
from engine.store.sqlite import open_store

TENANT = "default"
LARGE = "large"
"""The agent whose map has 50,000 nodes."""
RUNS, CHOICES, TOOLS = 6_000, 14, 24
BATCH = 500
"""Runs written at a time."""
NOW_NS = 1_800_000_000 * SECOND_NS
SHARED = Path(os.environ.get("FORKMAP_SHARED") or Path(__file__).resolve().parents[1] / "../shared")
PUBLISHED = sorted((SHARED / "data").glob("*/*.json"))
"""Result files of tau-bench and tau2-bench, where they are; none elsewhere."""


def make_demo(path: Path) -> None:
    """The demo corpus, with its clock."""
    store = open_store(path, create=True)
    demo.load(store, TENANT)
    store.close()


def make_large(path: Path) -> None:
    """Runs that wander over 24 tools: their map has 50,000 nodes, as many as are kept."""
    store = open_store(path, create=True)
    chance = np.random.default_rng(7)
    favour = 1 / np.arange(1, TOOLS + 1)
    for first in range(0, RUNS, BATCH):
        spans = list[Span]()
        for number in range(first, first + BATCH):
            taken = chance.choice(TOOLS, CHOICES, p=favour / favour.sum()).tolist()
            steps = [("llm", "gpt-4o"), *(("tool", f"step_{each:02d}") for each in taken)]
            spans += _run(number, steps, "success" if chance.random() < 0.6 else "failure")
        store.append(TENANT, spans)
    store.settle(TENANT)
    store.set_clock(NOW_NS)
    store.close()


def _run(number: int, steps: Sequence[tuple[str, str]], ended: str) -> list[Span]:
    """A run that began in the last 25 days, a step a second."""
    run_id, start_ns = f"run-{number:05}", NOW_NS - (number + 1) * 360 * SECOND_NS
    about = {"forkmap.ticket": f"ticket-{number % 900}", "session.outcome": ended}
    spans = list[Span]()
    for place, (kind, name) in enumerate([("agent", LARGE), *steps]):
        began_ns = start_ns + place * SECOND_NS
        attributes = {"forkmap.kind": kind, "forkmap.name": name} | (about if place == 0 else {})
        parent = None if place == 0 else f"{0:04x}"
        span_id = f"{place:04x}"
        spans.append(
            Span(run_id, span_id, name, began_ns, began_ns + SECOND_NS, parent, attributes=attributes)
        )
    return spans


def make_published(path: Path) -> None:
    """Published runs of real models, read where they lie."""
    store = open_store(path, create=True)
    import_files(store, TENANT, PUBLISHED)
    store.close()


CORPORA: dict[str, Callable[[Path], None]] = {"demo": make_demo, "large": make_large}
CORPORA |= {"published": make_published} if PUBLISHED else {}
