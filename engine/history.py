"""What one run may know of its agent's map: everything but itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.maps import BehaviourMap
from engine.paths import CUT, MARK, Fold, Token
from engine.runs import Outcome, Run
from engine.walk import Index, Standing, Why, stand

MIN_HISTORY = 10
"""Earlier runs it takes to judge by."""


@dataclass(frozen=True, slots=True)
class History:
    """A map seen by one run.

    Attributes
    ----------
    index : Index
        The map.
    own_node : int
        Where the map holds the run itself, to be left out there and above; -1 if it does not.
    own_success : bool
        Whether that run succeeded.
    """

    index: Index
    own_node: int = -1
    own_success: bool = False

    @property
    def base(self) -> tuple[int, int]:
        """Support and successes of the whole cohort."""
        totals, own = self.index.map.totals, self._own(0)
        return totals.completed - own, totals.successes - own * self.own_success

    def stand(self, folds: Sequence[Fold], open_last: bool) -> Standing:
        """Where a path stands; see :func:`engine.walk.stand`."""
        return self._without(stand(self.index, folds, open_last))

    def pool(self, node: int, wanted: Token) -> Standing:
        """The children of a node that an open token may become."""
        return self._without(self.index.pool(node, wanted))

    def trail(self, folds: tuple[Fold, ...], open_last: bool) -> list[Standing]:
        """Where the path stood at the root and after each token; the last is where it stands.

        From the first missing token on, all stand where it is missing; a mark, where it was cut.
        """
        read = folds[:-1] if folds[-1:] == (CUT,) else folds
        texts = [str(fold.token) for fold in read]
        trail = [self._without(self.index.stand(()))]
        for depth, fold in enumerate(read, 1):
            if trail[-1].why is Why.REACHED:
                is_open = open_last and depth == len(folds)
                closed, last = (depth - 1, fold.token) if is_open else (depth, None)
                trail.append(self._without(self.index.stand(texts[:closed], last)))
            else:
                trail.append(trail[-1])
        return trail if read == folds else [*trail, trail[-1]._replace(why=Why.MARK)]

    def _without(self, here: Standing) -> Standing:
        """A standing without the run; a token that nobody else took is absent, cut or not."""
        own = sum(map(self._own, here.nodes))
        if not own:
            return here
        support, successes = here.support - own, here.successes - own * self.own_success
        if support or here.nodes == (0,):
            return here._replace(support=support, successes=successes)
        return self.index.absent(int(self.index.map.parent[here.nodes[0]]))

    def _own(self, node: int) -> int:
        """1 if the run itself passed the node and is left out, else 0."""
        return int(node <= self.own_node < node + self.index.map.size[node])

    def reached(self, here: Standing) -> int:
        """Runs that reached the node below which a token is missing."""
        return self._others(here.node)

    def went_on(self, here: Standing) -> list[Token]:
        """What they went on with, by support (descending), then token."""
        map = self.index.map
        below = map.children(here.node).tolist()
        taken = {map.tokens[map.token[child]]: self._others(child) for child in below}
        return sorted(
            (token for token, support in taken.items() if support and token.signature != MARK),
            key=lambda token: (-taken[token], token),
        )

    def _others(self, node: int) -> int:
        return int(self.index.map.support[node]) - self._own(node)


def history_of(map: BehaviourMap, run: Run, folds: Sequence[Fold], live: bool) -> History:
    """The map as a run that has that path may see it.

    A completed run is left out if and only if the map's members hold it, at that path and with
    that outcome; a live run is in no count.
    """
    index = Index(map)
    member = None if live else map.member(run.run_id)
    if member is None or map.member_outcome[member] != run.outcome:
        return History(index)
    node, whole = index.descend([str(fold.token) for fold in folds])
    if node != map.member_node[member] or whole != map.member_kept[member]:
        return History(index)
    return History(index, node, run.outcome == Outcome.SUCCESS)
