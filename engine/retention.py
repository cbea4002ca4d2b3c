"""Keeping runs for a number of days: what is older goes, little by little.

A run's age is that of its last activity. Several processes may do this on one store at once: each
removes what the others have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.runs import SECOND_NS
from engine.store import Expired, Store

BATCH = 2_000
"""Records that are removed in one transaction, about."""
DAY_NS = 86_400 * SECOND_NS


def expire(
    store: Store, before_ns: int, batch: int = BATCH, is_told: Callable[[], bool] = lambda: False
) -> Expired:
    """Remove what is older than a moment, of every tenant, batch by batch.

    Parameters
    ----------
    is_told : callable
        Whether to stop after the batch at hand; what is left then is left for the next time.
    """
    batches = [
        done for tenant in store.tenants() for done in _batches(store, tenant, before_ns, batch, is_told)
    ]
    return Expired(*map(sum, zip(*batches, strict=True))) if batches else Expired()


def _batches(
    store: Store, tenant: str, before_ns: int, batch: int, is_told: Callable[[], bool]
) -> Iterator[Expired]:
    while not is_told() and any(done := store.expire(tenant, before_ns, batch)):
        yield done
