"""Two cohorts on one tree: their paths behind one another, and which side each run is on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.narrowing import selected
from engine.paths import Paths
from engine.runs import Outcome


def joined(before: Paths, after: Paths) -> Paths:
    """The completed runs of two cohorts as one, those before first; live runs are left out.

    Examples
    --------
    >>> from engine.columns import paths_from_columns
    >>> at = np.array([0])
    >>> one, other = (
    ...     paths_from_columns(at, at, at, at, at > 0, [name], [name]) for name in ("tool:b", "tool:a"))
    >>> both = joined(one, other)
    >>> both.signatures, both.code.tolist(), both.run_ids
    (('tool:a', 'tool:b'), [1, 0], ('tool:b', 'tool:a'))
    """
    sides = [selected(side, side.outcome < Outcome.UNKNOWN) for side in (before, after)]
    signatures = tuple(sorted({*before.signatures, *after.signatures}))
    place = {signature: number for number, signature in enumerate(signatures)}
    length = np.concatenate([np.diff(side.offset) for side in sides])
    return Paths(
        signatures=signatures,
        code=np.concatenate([_recoded(side, place) for side in sides]),
        count=np.concatenate([side.count for side in sides]),
        offset=np.concatenate([[0], np.cumsum(length)]),
        outcome=np.concatenate([side.outcome for side in sides]),
        source=np.concatenate([side.source for side in sides]),
        half=np.concatenate([side.half for side in sides]),
        run_ids=sides[0].run_ids + sides[1].run_ids,
        tickets=sides[0].tickets + sides[1].tickets,
        versions=sides[0].versions + sides[1].versions,
        bounded=before.bounded or after.bounded,
    )


def _recoded(paths: Paths, place: dict[str, int]) -> NDArray[np.int32]:
    code = np.array([*(place[signature] for signature in paths.signatures), -1], np.int32)
    return code.take(paths.code, mode="wrap")


def of_version(paths: Paths, version: str) -> Paths:
    """The runs of one version of the agent."""
    return selected(paths, np.array([each == version for each in paths.versions], bool))
