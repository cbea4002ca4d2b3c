"""Stores for what is measured and looked at in a browser: the demo, published runs, and 50,000 nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine import demo
from engine.importing import import_files
from engine.runs import SECOND_NS, Outcome, Run, Source, Step
from engine.store import opening
from engine.store.keys import given_tenant
from engine.store.sqlite import open_store
from engine.store.writing import RunWriter

TENANT = "default"
LARGE = "large"
"""The agent whose map has 50,000 nodes."""
RUNS, CHOICES, TOOLS = 6_000, 14, 24
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
    opening.create(path)
    db = opening.connect(path, read_only=False)
    db.execute("BEGIN IMMEDIATE")
    writer = RunWriter(db, given_tenant(db, TENANT))
    chance = np.random.default_rng(7)
    favour = 1 / np.arange(1, TOOLS + 1)
    for number in range(RUNS):
        taken = chance.choice(TOOLS, CHOICES, p=favour / favour.sum())
        ended = Outcome.SUCCESS if chance.random() < 0.6 else Outcome.FAILURE
        names = ["llm:gpt-4o", *(f"tool:step_{each:02d}" for each in taken.tolist())]
        writer.write(_run(number, names, ended))
    db.execute("COMMIT")
    db.close()
    store = open_store(path)
    store.set_clock(NOW_NS)
    store.close()


def _run(number: int, names: Sequence[str], ended: Outcome) -> Run:
    """A run that began in the last 25 days, a step a second."""
    run_id, start_ns = f"run-{number:05}", NOW_NS - (number + 1) * 360 * SECOND_NS
    begins = [start_ns + at * SECOND_NS for at in range(len(names))]
    steps = tuple(
        Step(name, begin, begin + 9, run_id, f"{begin:016x}", False, 0, 0)
        for name, begin in zip(names, begins, strict=True)
    )
    about = (None, f"ticket-{number % 900}", start_ns, begins[-1] + 9)
    return Run(run_id, LARGE, *about, ended, Source.DECLARED, steps, (run_id,))


def make_published(path: Path) -> None:
    """Published runs of real models, read where they lie."""
    store = open_store(path, create=True)
    import_files(store, TENANT, PUBLISHED)
    store.close()


CORPORA: dict[str, Callable[[Path], None]] = {"demo": make_demo, "large": make_large}
CORPORA |= {"published": make_published} if PUBLISHED else {}
