"""Asking runs, as they lie in the store, whether they are what a cohort's expression says."""

from __future__ import annotations

from time import thread_time
from typing import Final

from engine.errors import InputError
from engine.runs import Outcome
from engine.sequences import matches, parse
from engine.store.packing import unpack_taken

MAX_S: Final = 10.0
"""How much time of the processor the runs of one question are asked."""
SLOW: Final = f"asking this expression of these runs takes over {MAX_S:.0f} s: ask for less, or of fewer runs"


class Asked:
    """An expression that is asked of one run after another.

    Raises
    ------
    ExpressionError
        It cannot be read.
    """

    def __init__(self, where: str) -> None:
        self._expression = parse(where)
        self._taken_s = 0.0

    def fits(self, version: str | None, ticket: str | None, outcome: int, steps: bytes) -> bool:
        """Whether a run is what the expression says.

        Parameters
        ----------
        version, ticket : str or None
        outcome : int
            As it stands: UNKNOWN of a live run.
        steps : bytes
            Packed.

        Raises
        ------
        InputError
            All that were asked took too long.
        """
        if self._taken_s > MAX_S:
            raise InputError(SLOW)
        began_s = thread_time()
        fields = {"version": version, "ticket": ticket, "outcome": Outcome(outcome).name.lower()}
        is_so = matches(self._expression, unpack_taken(steps), fields)
        self._taken_s += thread_time() - began_s
        return is_so
