"""The tree and its overview: Python faces of ``assets/treegrid.js`` and ``assets/icicle.js``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dashboard.components.scripted import Scripted
from dashboard.components.words import LIKELY_CHANCE, probability
from dashboard.theme import tones
from engine.maps import BehaviourMap
from engine.paths import BUCKET_TEXTS, MARK, parse_signature


def columns(behaviour: BehaviourMap) -> dict[str, object]:
    """A map as the plain columns both components draw.

    Rates are whole per mille, so that a figure reads the same here and there. What few nodes
    have (live runs, forks, hotspots, cuts) is keyed by the node's index, as text.

    Parameters
    ----------
    behaviour : BehaviourMap
        The map, in its own order: pre-order, node 0 the root.

    Returns
    -------
    dict
        ``kinds, names, buckets``: the token table, three texts a token; ``token`` (index into
        it, -1 at the root), ``depth, key, support, successes, rate, low, high, tone``: one value
        a node; ``live`` (runs), ``fork`` and ``golden`` (their p-values in words), ``doubt`` (the q-value
        in words, of either that may be chance), ``hotspot`` (bits), ``cut`` (true): sparse;
        ``base`` (per mille, None without a completed run).
    """
    texts = [_texts(token.signature, token.bucket) for token in behaviour.tokens]
    kinds, names, buckets = map(list, zip(*texts, strict=True)) if texts else ([], [], [])
    base = behaviour.base_rate
    tone = tones(behaviour.low, behaviour.high, base, behaviour.support)
    return {
        "kinds": kinds,
        "names": names,
        "buckets": buckets,
        "token": behaviour.token.tolist(),
        "depth": behaviour.depth.tolist(),
        "key": [f"{key:016x}" for key in behaviour.key.tolist()],
        "support": behaviour.support.tolist(),
        "successes": behaviour.successes.tolist(),
        "rate": _per_mille(behaviour.successes / np.maximum(behaviour.support, 1)),
        "low": _per_mille(behaviour.low),
        "high": _per_mille(behaviour.high),
        "tone": tone.tolist(),
        "live": _sparse(behaviour.live > 0, behaviour.live),
        "fork": _in_words(behaviour.fork, behaviour.p),
        "golden": _in_words(behaviour.golden, behaviour.p),
        "doubt": _in_words((behaviour.fork | behaviour.golden) & (behaviour.q >= LIKELY_CHANCE), behaviour.q),
        "hotspot": _sparse(behaviour.hotspot, behaviour.entropy_bits),
        "cut": _sparse(behaviour.cut, behaviour.cut),
        "base": None if base is None else round(1000 * base),
    }


def _texts(signature: str, bucket: int) -> tuple[str, str, str]:
    if signature == MARK:
        return "", MARK, ""
    return *parse_signature(signature), BUCKET_TEXTS[bucket]


def _per_mille(rates: ArrayLike) -> list[int]:
    whole: list[int] = np.rint(1000 * np.asarray(rates)).astype(np.int64).tolist()
    return whole


def _sparse(chosen: NDArray[np.bool_], values: NDArray[Any]) -> dict[str, Any]:
    return {str(node): values[node].item() for node in np.flatnonzero(chosen).tolist()}


def _in_words(chosen: NDArray[np.bool_], values: NDArray[Any]) -> dict[str, str]:
    return {node: probability(value) for node, value in _sparse(chosen, values).items()}


class TreeGrid(Scripted):
    """The behaviour map as a virtualised WAI-ARIA treegrid.

    Parameters
    ----------
    id : str
        Component id.
    data : dict, optional
        What :func:`columns` gives.
    src : str, optional
        Where the same lies as JSON; fetched once a URL, for the overview too.
    selected : str, optional
        Stable key of the selected node; written back when another one is selected.
    query, filter : str, optional
        Text that a step's name must contain; ``all``, ``forks``, ``golden``, ``hotspots`` or ``decided``.
    label : str, optional
        What the tree shows, for those who do not see it.
    """

    _type = "TreeGrid"
    _props = ("id", "data", "src", "selected", "query", "filter", "label", "className")


class Icicle(Scripted):
    """The overview: a column a step, height the share of runs, colour the tone.

    Parameters
    ----------
    id, data, src, selected, label
        As of :class:`TreeGrid`.
    height : int, optional
        In CSS pixels.
    """

    _type = "Icicle"
    _props = ("id", "data", "src", "selected", "height", "label", "className")
