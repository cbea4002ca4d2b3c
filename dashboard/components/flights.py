"""Runs in flight as lines of text: what ``assets/live.js`` draws, and what is said of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dashboard import urls
from dashboard.components import policies, verdict, words
from dashboard.components.scripted import Scripted
from dashboard.theme import tone
from dashboard.urls import Look
from engine.foresight import Foresight
from engine.fuses import Fired
from engine.paths import BUCKET_TEXTS, MARK, Token, parse_signature
from engine.runs import SECOND_NS
from engine.triage import InFlight, Passed, Triage

NAMED = 2
"""Fuses named in a line, the strongest first."""
PLURALS = {
    "likely_failure": ("likely failure", "likely failures"),
    "forked": ("on track but through a fatal fork", ""),
    "on_track": ("on track", ""),
    "novel": ("novel", ""),
    "insufficient_history": ("with insufficient history", ""),
    "unknown": ("not judged", ""),
}
"""How many of each verdict are told, in this order."""


class LiveRuns(Scripted):
    """Runs in flight as a table whose lines keep their places while the pointer or the focus is among them.

    Parameters
    ----------
    id : str
        Component id.
    data : list
        What :func:`lines` gives.
    label : str
        What the table shows, for those who do not see it.
    """

    _type = "LiveRuns"
    _props = ("id", "data", "label")


def lines(found: Triage, now_ns: int) -> list[dict[str, Any]]:
    """A line a run, in order; every figure in words."""
    return [_line(each, now_ns) for each in found.runs]


def _line(each: InFlight, now_ns: int) -> dict[str, Any]:
    run, forked = each.run, each.fork is not None
    return {
        "run": run.run_id,
        "href": urls.run_url(Look(run=run.run_id)),
        "agent": run.agent,
        "map": urls.map_url(Look(agent=run.agent)),
        "ticket": run.ticket and {"text": run.ticket, "href": urls.compare_url(ticket=run.ticket)},
        "verdict": verdict.called(each.found.verdict, forked) if each.found else "Not judged",
        "look": verdict.colour(each.found.verdict if each.found else "insufficient_history", forked),
        "fork": each.fork and _fork(run.agent, each.fork),
        "estimate": "–" if each.estimate is None else f"{each.estimate:.0%}",
        "odds": each.found and _odds(each.found),
        "steps": words.count(each.live.steps, "step"),
        "last": each.live.last and _step(each.live.last),
        "idle": idle(run.last_ns, now_ns),
        "when": words.utc(run.last_ns),
        "fuses": [_fuse(fired) for fired in _strongest(each.fired)[:NAMED]],
        "more": max(0, len(each.fired) - NAMED),
    }


def _fork(agent: str, passed: Passed) -> dict[str, Any]:
    href = urls.map_url(Look(agent=agent, node=passed.key))
    return {"text": f"fatal fork at step {passed.depth}", "title": str(passed.token), "href": href}


def _odds(found: Foresight) -> dict[str, Any]:
    known = found.support > 0
    return {
        "tone": tone(found.low, found.high, found.base_rate, found.support),
        "base": found.base_rate,
        "low": found.low if known else None,
        "high": found.high if known else None,
        "rate": found.rate,
        "success": words.percent(found.rate),
        "interval": words.interval(found.low, found.high) if known else "no earlier run",
        "of": f"{found.successes:,} of {words.count(found.support, 'earlier run')} on this path succeeded",
    }


def _step(token: Token) -> tuple[str, str, str]:
    """Kind, name and repeat bucket."""
    if token.signature == MARK:
        return "", MARK, ""
    return *parse_signature(token.signature), BUCKET_TEXTS[token.bucket]


def _fuse(fired: Fired) -> dict[str, str]:
    policy = fired.policy
    text, look = policies.badge_of(policy.action, policy.mode)
    return {"name": policy.name, "href": urls.fuses_url(policy=policy.name), "text": text, "look": look}


def _strongest(fired: Sequence[Fired]) -> list[Fired]:
    """Those that are enforced before those in shadow, those that stop before those that warn."""
    return sorted(
        fired,
        key=lambda each: (
            each.policy.mode != "enforce",
            each.policy.action != "stop",
            each.policy.min_success_odds,
        ),
    )


def idle(last_ns: int, now_ns: int) -> str:
    """How long ago, to the second in the first minute.

    >>> idle(0, 5_000_000_000), idle(0, 125_000_000_000), idle(5, 0)
    ('5 s', '2 min 5 s', '0 s')
    """
    seconds = max(0, now_ns - last_ns) // SECOND_NS
    return f"{seconds} s" if seconds < 60 else words.duration(seconds * SECOND_NS)


def in_words(found: Triage) -> str:
    """How many runs are in flight, how they stand, and in how many a fuse would fire.

    >>> in_words(Triage())
    'No run is in flight.'
    """
    if not found.runs:
        return "No run is in flight."
    many = Counter(_kind(each) for each in found.runs)
    parts = [
        f"{many[kind]:,} {one if many[kind] == 1 or not several else several}"
        for kind, (one, several) in PLURALS.items()
        if many[kind]
    ]
    total = f"Over {len(found.runs):,} runs" if found.more else words.count(len(found.runs), "run")
    return f"{total} in flight: {', '.join(parts)}.{_fuses(found)}"


def _kind(each: InFlight) -> str:
    if each.found is None:
        return "unknown"
    return "forked" if each.fork and each.found.verdict == "on_track" else each.found.verdict


def _fuses(found: Triage) -> str:
    """In how many runs something would be stopped or warned, enforced apart from shadow."""
    enforced = sum(any(each.policy.mode == "enforce" for each in run.fired) for run in found.runs)
    shadow = sum(bool(run.fired) for run in found.runs) - enforced
    parts = [f"in {enforced:,} a fuse would fire"] if enforced else []
    parts += [f"in {shadow:,} {'one' if enforced else 'a fuse'} would fire in shadow"] if shadow else []
    if parts:
        text = ", ".join(parts)
        return f" {text[0].upper()}{text[1:]}."
    return "" if any(run.found is None for run in found.runs) else " No fuse would fire."
