"""Where every page is seen: the addresses that tests and screenshots of all pages go to."""

from __future__ import annotations

from dashboard import urls

DEMO = {
    urls.HOME: {"agents": "/"},
    urls.MAP: {
        "map": "/map?agent=support-agent",
        "map-tools": "/map?agent=coding-agent&view=tools&window=all",
        "map-empty-window": "/map?agent=support-agent&to=1990-01-01",
        "map-unknown": "/map?agent=nobody",
    },
    urls.RUN: {
        "run": "/run?run=support-000",
        "run-live": "/run?run=live-doomed-0",
        "run-asked": "/run?run=live-healthy-0&next=tool%3Aissue_refund",
        "run-decisions": "/run?run=repo-attributes-1",
        "run-unknown": "/run?run=live-doomed",
    },
    urls.RUNS: {
        "runs": "/runs?agent=support-agent",
        "runs-narrowed": "/runs?agent=support-agent&outcome=failure&sort=-steps",
        "runs-none": "/runs?agent=support-agent&version=none",
        "runs-which": "/runs",
    },
    urls.LIVE: {
        "live": "/live",
        "live-one": "/live?agent=support-agent",
        "live-unknown": "/live?agent=nobody",
    },
    urls.CALIBRATION: {
        "calibration": "/calibration?agent=support-agent",
        "calibration-poor": "/calibration?agent=repo-agent",
    },
    urls.CHANGES: {
        "changes": "/changes?agent=support-agent&since=2026-10-10",
        "changes-choose": "/changes?agent=support-agent",
        "changes-few": "/changes?agent=support-agent&since=1990-01-01",
        "changes-whose": "/changes",
    },
    urls.COMPARE: {
        "compare": "/compare?a=repo-menu-2&b=repo-menu-3",
        "compare-choose": "/compare",
        "compare-ticket": "/compare?ticket=repo-journal",
    },
    urls.FOUND: {"found": "/found?q=repo-journal", "found-none": "/found?q=nothing"},
    urls.RULES: {"rules": "/rules?agent=support-agent"},
    urls.FUSES: {"fuses": "/fuses", "fuses-new": "/fuses?edit="},
    urls.BACKTEST: {
        "backtest": "/backtest?agent=support-agent&cost=2",
        "backtest-policy": "/backtest?agent=support-agent&policy=doubtful&odds=40&history=earlier",
        "backtest-none": "/backtest?agent=support-agent&to=1990-01-01",
        "backtest-whose": "/backtest",
    },
}
"""Address by page and name, in the demo corpus."""
NOWHERE = {"nowhere": "/nowhere"}
EVERY = {name: address for named in (*DEMO.values(), NOWHERE) for name, address in named.items()}
