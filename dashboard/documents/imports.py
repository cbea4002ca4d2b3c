"""What becomes of a file that is imported, as programs and pages read it."""

from __future__ import annotations

from engine.importing import Imported


def outcome(done: Imported, limit: int | None = None) -> dict[str, object]:
    """What an import did, with the first ``limit`` of what it refused.

    >>> outcome(Imported(imported=7, runs=2))
    {'imported': 7, 'unchanged': 0, 'refused': 0, 'refusals': [], 'runs': 2}
    """
    return {
        "imported": done.imported,
        "unchanged": done.unchanged,
        "refused": done.refused,
        "refusals": [{"file": r.file, "line": r.line, "reason": r.reason} for r in done.refusals[:limit]],
        "runs": done.runs,
    }
