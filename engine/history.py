"""What one run may know of its agent's map: everything but itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.maps import BehaviourMap
from engine.paths import CUT, MARK, Fold, Token
from engine.runs import Outcome, Run
from engine.walk import Index, Standing, Why

MIN_HISTORY = 10
"""Earlier runs it takes to judge by."""


@dataclass(frozen=True, slots=True)
class History:
    """A map seen by one run.

    Attributes
    ----------
    index : Index
        The map.
    own_support, own_successes : int
        The run's own part in every count on its path, left out: 0 or 1.
    """

    index: Index
    own_support: int = 0
    own_successes: int = 0

    @property
    def base(self) -> tuple[int, int]:
        """Support and successes of the whole cohort."""
        totals = self.index.map.totals
        return totals.completed - self.own_support, totals.successes - self.own_successes

    def trail(self, folds: tuple[Fold, ...], live: bool) -> list[Standing]:
        """Where the path stood at the root and after each token; the last is where it stands.

        From the first missing token on, all stand where it is missing; a mark, where it was cut.
        """
        read = folds[:-1] if folds[-1:] == (CUT,) else folds
        texts = [str(fold.token) for fold in read]
        trail = [self._without(self.index.stand(()))]
        for depth, fold in enumerate(read, 1):
            if trail[-1].why is Why.REACHED:
                closed, last = (depth - 1, fold.token) if live and depth == len(folds) else (depth, None)
                trail.append(self._without(self.index.stand(texts[:closed], last)))
            else:
                trail.append(trail[-1])
        return trail if read == folds else [*trail, trail[-1]._replace(why=Why.MARK)]

    def _without(self, here: Standing) -> Standing:
        """A standing on the run's path without the run; a node that this empties is missing."""
        if not here.nodes:
            return here
        support, successes = here.support - self.own_support, here.successes - self.own_successes
        if support or not here.depth:
            return here._replace(support=support, successes=successes)
        return self.index.missing(int(self.index.map.parent[here.node]))

    def reached(self, here: Standing) -> int:
        """Runs that reached the node below which a token is missing."""
        return int(self.index.map.support[here.node]) - self.own_support

    def went_on(self, here: Standing, missing: Token) -> list[Token]:
        """What they went on with, by support (descending), then token."""
        map = self.index.map
        taken = {map.tokens[map.token[child]]: int(map.support[child]) for child in map.children(here.node)}
        if missing in taken:
            taken[missing] -= self.own_support
        return sorted(
            (token for token, support in taken.items() if support and token.signature != MARK),
            key=lambda token: (-taken[token], token),
        )


def history_of(map: BehaviourMap, run: Run, folds: Sequence[Fold], live: bool) -> History:
    """The map as a run may see it.

    A completed run is left out if and only if the map's members hold it, at that path and with
    that outcome; a live run is in no count.
    """
    index = Index(map)
    member = None if live else map.member(run.run_id)
    if member is None or map.member_outcome[member] != run.outcome:
        return History(index)
    texts = [str(fold.token) for fold in folds]
    node = index.descend(texts)
    whole = bool(map.depth[node] == len(texts))
    if node != map.member_node[member] or whole != map.member_kept[member]:
        return History(index)
    return History(index, 1, int(run.outcome == Outcome.SUCCESS))
