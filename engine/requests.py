"""What may be asked of the builder, what it is built from, and what who asks is answered."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from engine import queries, splitting
from engine.calibration import Calibration
from engine.chance import Chance, chance
from engine.changes import Split
from engine.changes.ranking import Findings
from engine.maps import BehaviourMap
from engine.occurrences import Occurrences
from engine.queries import BOUNDS, Bounds
from engine.questions import Questions
from engine.runs import Cohort
from engine.store import Store

LAYOUT: Final = 10
"""Part of every key: counts up when a cached value changes shape."""
_PART = re.compile(r"[0-9a-f]{16}-[0-9]+")

T = TypeVar("T")
What: TypeAlias = Literal["map", "calibration", "changes", "steps", "questions", "chance"]


class Request(NamedTuple):
    """What is to be built; ``split`` is what parts the sides of changes."""

    what: What
    cohort: Cohort
    split: Split | None = None

    def key(self, erasures: int) -> str:
        """The text it is cached under: a window that is a symbol stays one.

        >>> Request("map", Cohort("default", "support-agent")).key(0)
        'fe98b07b1ba6b3a2-0:10:["map", "default", "support-agent", null, null, 30, "all", ""]'
        """
        cohort = self.cohort
        parts = [self.what, cohort.tenant, cohort.agent, *cohort.window, cohort.view, cohort.where]
        parts += [type(self.split).__name__, *self.split] if self.split else []
        return f"{_part(cohort.tenant, erasures)}:{LAYOUT}:{json.dumps(parts)}"


def is_void(part: str, tenant: str, erasures: int) -> bool:
    """Whether what is cached is of no use since a tenant's latest erasure.

    Parameters
    ----------
    part : str
        What stands before the first colon of its key, if it ever had one of ours.

    Examples
    --------
    >>> is_void("fe98b07b1ba6b3a2-0", "default", 1), is_void("fe98b07b1ba6b3a2-0", "default", 0)
    (True, False)
    >>> is_void("fe98b07b1ba6b3a2-0", "another", 1), is_void("of another version", "another", 1)
    (False, True)
    """
    if not _PART.fullmatch(part):
        return True
    mine = _part(tenant, erasures)
    return part != mine and part[:16] == mine[:16]


def _part(tenant: str, erasures: int) -> str:
    return f"{blake2b(tenant.encode(errors='replace'), digest_size=8).hexdigest()}-{erasures}"


class Ready(NamedTuple, Generic[T]):
    """The value, when its runs were read (wall clock), and whether a newer one is on its way."""

    value: T
    built_ns: int
    stale: bool


@dataclass(frozen=True)
class Building:
    """Requested earlier and on its way, in this process or another; how long ago that was."""

    waited_s: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Absent:
    """Nobody had asked before: it is requested now."""


class Failed(NamedTuple):
    """The build ended with an error: one sentence, and the error itself."""

    sentence: str
    error: Exception


Unready: TypeAlias = Building | Absent | Failed
Answer: TypeAlias = Ready[T] | Unready


def load(
    request: Request, store: Store, now_ns: int, bounds: Bounds = BOUNDS
) -> BehaviourMap | Calibration | Chance | Findings | Occurrences | Questions:
    """Build what is requested from the store."""
    if request.split is not None:
        return splitting.load_changes(store, request.cohort, request.split, now_ns, bounds)
    if request.what == "map":
        return queries.load_map(store, request.cohort, now_ns, bounds)
    if request.what == "chance":
        return chance(queries.load_map(store, request.cohort, now_ns, bounds))
    if request.what == "steps":
        return queries.load_occurrences(store, request.cohort, now_ns, bounds)
    if request.what == "questions":
        return queries.load_questions(store, request.cohort, now_ns, bounds)
    return queries.load_calibration(store, request.cohort, now_ns, bounds)
