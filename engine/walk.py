"""Walking a path down a behaviour map.

Closed tokens are followed exactly. An open last token, one that may still grow, is pooled
with every sibling token of its signature whose bucket is at least as high. Nothing is ever
guessed: a walk says why it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from engine.maps import BehaviourMap
from engine.paths import BUCKET_STARTS, CUT, Fold, Token


class Why(Enum):
    """How a walk ended."""

    REACHED = "reached"
    """Earlier runs took every token."""
    ABSENT = "absent"
    """No earlier run took the next token."""
    CUT = "cut"
    """The next token may have been dropped when the map met its bound."""
    MARK = "mark"
    """The path goes on past what is read of a run."""


class Standing(NamedTuple):
    """Where a walk ended and what is known there.

    Attributes
    ----------
    why : Why
    node : int
        The last node that closed tokens lead to: a pooled or a missing token is wanted below it.
    depth : int
        Its depth: how many tokens lead to it.
    nodes : tuple of int
        The nodes whose runs count: the node itself or the children pooled; empty if missing.
    support, successes : int
        Completed runs through those nodes.
    """

    why: Why
    node: int
    depth: int
    nodes: tuple[int, ...]
    support: int
    successes: int


_UNSEEN: dict[str, int] = {}
"""Stands for the children of a node that no walk has passed yet."""


class Index:
    """A map's nodes as dictionaries from a token's text to the child's node.

    A node's dictionary is made when a walk first passes, and what was pooled is remembered: a
    fresh index costs next to nothing, one that is kept walks 63 tokens in microseconds. It grows
    no larger than its map, whatever is asked. Threads may share one.
    """

    __slots__ = ("_below", "_pooled", "map")

    def __init__(self, map: BehaviourMap) -> None:
        self.map = map
        self._below = [_UNSEEN] * len(map)
        self._pooled: dict[tuple[int, Token], Standing] = {}

    def below(self, node: int) -> dict[str, int]:
        """Children of a node by the text of their token."""
        known = self._below[node]
        if known is _UNSEEN:
            map = self.map
            known = {str(map.tokens[map.token[child]]): child for child in map.children(node).tolist()}
            self._below[node] = known
        return known

    def descend(self, closed: Iterable[str]) -> tuple[int, bool]:
        """The deepest node that closed tokens, given as text, lead to from the root; whether all do."""
        below, node = self._below, 0
        for text in closed:
            try:
                node = below[node][text]
            except KeyError:
                child = self.below(node).get(text)
                if child is None:
                    return node, False
                node = child
        return node, True

    def stand(self, closed: Sequence[str], last: Token | None = None) -> Standing:
        """Where a run stands that closed some tokens and may have an open one.

        Parameters
        ----------
        closed : sequence of str
            Texts of the closed tokens.
        last : Token, optional
            The open token: pooled.
        """
        node, whole = self.descend(closed)
        if not whole:
            return self.missing(node)
        if last is not None:
            return self.pool(node, last)
        return Standing(Why.REACHED, node, len(closed), (node,), *self._counts(node))

    def pool(self, node: int, wanted: Token) -> Standing:
        """The children of a node that a token, still open, may become: its bucket and higher."""
        known = self._pooled.get((node, wanted))
        if known is None:
            known = self._pool(node, wanted)
            if known.nodes:
                self._pooled[node, wanted] = known
        return known

    def _pool(self, node: int, wanted: Token) -> Standing:
        below, texts = self.below(node), may_become(wanted)
        found = tuple(below[text] for text in texts if text in below)
        if not found or (len(found) < len(texts) and self.map.cut[node]):
            return self.missing(node)
        support, successes = (sum(counts) for counts in zip(*map(self._counts, found), strict=True))
        return Standing(Why.REACHED, node, int(self.map.depth[node]), found, support, successes)

    def missing(self, node: int) -> Standing:
        """Standing below a node that has no such child, or may have lost it."""
        here = self.absent(node)
        return here._replace(why=Why.CUT) if self.map.cut[node] else here

    def absent(self, node: int) -> Standing:
        """Standing below a node from which nobody took the wanted token."""
        return Standing(Why.ABSENT, node, int(self.map.depth[node]), (), 0, 0)

    def _counts(self, node: int) -> tuple[int, int]:
        return int(self.map.support[node]), int(self.map.successes[node])


@lru_cache(maxsize=4096)
def may_become(token: Token) -> tuple[str, ...]:
    """Texts of the tokens an open token may still close as.

    >>> may_become(Token("tool:a", 2))
    ('tool:a×3-5', 'tool:a×6-10', 'tool:a×11+')
    """
    return tuple(str(Token(token.signature, bucket)) for bucket in range(token.bucket, len(BUCKET_STARTS)))


def stand(index: Index, folds: Sequence[Fold], open_last: bool) -> Standing:
    """Where a path stands in a map.

    Parameters
    ----------
    index : Index
        The map.
    folds : sequence of Fold
        The path. A cut one stands at the last token before its mark, closed.
    open_last : bool
        Whether the last token may still grow: True for a live run.
    """
    if folds and folds[-1] == CUT:
        return stand(index, folds[:-1], False)._replace(why=Why.MARK)
    if open_last and folds:
        return index.stand([str(item.token) for item in folds[:-1]], folds[-1].token)
    return index.stand([str(item.token) for item in folds])
