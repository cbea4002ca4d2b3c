"""The hypothesis strategies, and how a sample becomes the engine's columns and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from engine.paths import MARK, Paths, fold, half
from engine.runs import Outcome, Run, Source, Step
from tests.reference import Sample

SIGNATURES = ("llm:m", "tool:a", "tool:a×2", "agent:b")
"""A tiny alphabet; one name holds the sign that buckets are written with."""

OUTCOMES = ("success", "failure", "abandoned")

bursts = st.sampled_from((1, 1, 1, 1, 2, 3, 5, 6, 10, 11))
"""Repeats around every bucket's edge, mostly single steps so that paths meet again."""

times = st.sampled_from((0, 0, 0, 1, 2, 3, 9, 20))
"""How many runs of one behaviour ended one way: around the floors of 3, 10 and 30 runs."""


@st.composite
def behaviours(draw: st.DrawFn, max_bursts: int = 4) -> tuple[str, ...]:
    """The signatures of one run: a few bursts of repeated steps; perhaps none at all."""
    parts = draw(st.lists(st.tuples(st.sampled_from(SIGNATURES), bursts), max_size=max_bursts))
    return tuple(name for name, times in parts for _ in range(times))


long_behaviours = st.one_of(
    st.integers(60, 70).map(lambda turns: ("llm:m", "tool:a") * (turns // 2) + ("llm:m",) * (turns % 2)),
    st.integers(188, 196).map(lambda steps: ("llm:m",) + ("tool:a",) * (steps - 1)),
)
"""Runs around the 64th token and the 192nd step."""


@st.composite
def cohorts(draw: st.DrawFn, max_shapes: int = 5) -> list[Sample]:
    """A small cohort: a few behaviours, each taken by so many runs that ended so, in any order."""
    shapes = draw(st.lists(st.one_of(behaviours(), behaviours(), long_behaviours), max_size=max_shapes))
    runs = [(shape, ending) for shape in shapes for ending in (*OUTCOMES, None) for _ in range(draw(times))]
    draw(st.randoms(use_true_random=False)).shuffle(runs)
    tickets = draw(st.lists(st.sampled_from((None, "t1", "t2")), min_size=1, max_size=5))
    versions = draw(st.lists(st.sampled_from((None, "1", "2")), min_size=1, max_size=3))
    return [
        Sample(f"run-{n}", *run, tickets[n % len(tickets)], versions[n % len(versions)])
        for n, run in enumerate(runs)
    ]


small_counts = st.integers(0, 60)
tables: st.SearchStrategy[tuple[int, int, int, int]] = st.tuples(*[small_counts] * 4)
"""Two-by-two tables, symmetric ones included: exact ties are the hard part."""


def outcome_of(sample: Sample) -> Outcome:
    """The engine's outcome; a live run's is not known."""
    return Outcome.UNKNOWN if sample.outcome is None else Outcome(OUTCOMES.index(sample.outcome))


def paths_of(samples: Iterable[Sample]) -> Paths:
    """The columns a store would hand over for these runs."""
    runs = list(samples)
    folded = [fold(sample.signatures) for sample in runs]
    words = sorted({item.signature for items in folded for item in items} - {MARK})
    number = {word: code for code, word in enumerate(words)} | {MARK: -1}
    return Paths(
        signatures=tuple(words),
        code=np.array([number[item.signature] for items in folded for item in items], np.int32),
        count=np.array([item.count for items in folded for item in items], np.uint8),
        offset=np.cumsum([0, *map(len, folded)], dtype=np.int64),
        outcome=np.array([outcome_of(sample) for sample in runs], np.uint8),
        source=np.full(len(runs), Source.DECLARED, np.uint8),
        half=np.array([half(sample.run_id) for sample in runs], np.uint8),
        run_ids=tuple(sample.run_id for sample in runs),
        tickets=tuple(sample.ticket for sample in runs),
        versions=tuple(sample.version for sample in runs),
    )


def run_of(sample: Sample, agent: str = "support-agent") -> Run:
    """The run a store would hand over; steps a second apart."""
    steps = tuple(_step(signature, second) for second, signature in enumerate(sample.signatures))
    return Run(
        run_id=sample.run_id,
        agent=agent,
        version=sample.version,
        ticket=sample.ticket,
        start_ns=0,
        last_ns=len(steps) * 10**9,
        outcome=outcome_of(sample),
        source=Source.DECLARED,
        steps=steps,
        trace_ids=(sample.run_id,),
    )


def _step(signature: str, second: int) -> Step:
    start, end = second * 10**9, (second + 1) * 10**9
    return Step(signature, start, end, "", f"{second:016x}", False, None, None)


def repeated(prefix: str, signatures: Sequence[str], outcomes: dict[str, int]) -> list[Sample]:
    """Several runs of one behaviour: ``outcomes`` says how many ended how."""
    endings = [outcome for outcome, times in outcomes.items() for _ in range(times)]
    return [Sample(f"{prefix}-{n}", tuple(signatures), ending) for n, ending in enumerate(endings)]
