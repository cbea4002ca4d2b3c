"""Figures and times as words; a percentage exists only here."""

from __future__ import annotations

from datetime import UTC, datetime
from unicodedata import bidirectional

from engine.forks import compared
from engine.maps import BehaviourMap, Totals
from engine.paths import Token, parse_signature
from engine.runs import ALL_TIME, DAY_NS, SECOND_NS, Outcome, Source, Window

OUTCOMES = {
    Outcome.SUCCESS: "success",
    Outcome.FAILURE: "failure",
    Outcome.ABANDONED: "abandoned",
    Outcome.UNKNOWN: "unknown",
}
SOURCES = {Source.DECLARED: "declared", Source.RULE: "by a rule", Source.INFERRED: "inferred"}


def percent(rate: float | None) -> str:
    """A rate as a percentage with one decimal.

    >>> percent(0.5444), percent(-0.005), percent(None)
    ('54.4%', '−0.5%', '–')
    """
    return "–" if rate is None else f"{100 * rate:.1f}%".replace("-", "−")


def score(value: float | None) -> str:
    """A Brier score.

    >>> score(0.12345), score(None)
    ('0.123', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def interval(low: float, high: float) -> str:
    """A 95 % interval.

    >>> interval(0.043, 0.214)
    '4.3–21.4%'
    """
    return f"{100 * low:.1f}–{100 * high:.1f}%"


def count(number: int, noun: str, plural: str = "") -> str:
    """A count with its noun.

    >>> count(1, "run"), count(1200, "run"), count(2, "branch", "branches")
    ('1 run', '1,200 runs', '2 branches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


QUOTED = 200
"""Characters quoted of a text that somebody typed or sent."""


def quoted(text: str) -> str:
    """A text as it may stand in a sentence: a long one is cut.

    >>> quoted("run-1"), quoted("a" * 300)[-30:]
    ('run-1', 'aaaaaaa… (100 more characters)')
    """
    more = len(text) - QUOTED
    return f"{_isolated(text[:QUOTED])}… ({more:,} more characters)" if more > 0 else _isolated(text)


_TURNING = frozenset({"R", "AL", "LRE", "RLE", "LRO", "RLO", "LRI", "RLI", "FSI", "PDF", "PDI"})


def _isolated(text: str) -> str:
    """A text that does not turn what stands around it, whichever way it is written.

    >>> _isolated("run-1"), _isolated("a\\u202eb") == "\\u2068a\\u202eb\\u2069"
    ('run-1', True)
    """
    turns = not text.isascii() and any(bidirectional(character) in _TURNING for character in text)
    return f"\u2068{text}\u2069" if turns else text


LIKELY_CHANCE = 0.05
"""The q-value from which a finding is called possible chance."""

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def probability(p: float) -> str:
    """A p- or q-value with its sign, readable however small; it does not break over two lines.

    >>> [probability(p).replace("\\xa0", " ") for p in (0.0312, 0.04998, 0.00042, 2.2e-14, 0.0)]
    ['= 0.031', '= 0.04998', '= 4.2 × 10⁻⁴', '= 2.2 × 10⁻¹⁴', '< 10⁻³⁰⁰']
    """
    if p >= 0.001:
        return compared(p)
    sign, _, figures = compared(p).partition(" ")
    mantissa, exponent = f"{float(figures):.1e}".split("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return f"{sign} {power}" if sign == "<" else f"{sign} {mantissa}\xa0×\xa0{power}"


def certainty(q: float, tested: int) -> str:
    """How sure a difference is, in words, once all tests are allowed for.

    >>> certainty(1e-9, 40)
    'this is very unlikely to be chance, even with 40 branches tested'
    >>> certainty(0.2, 40)
    'this may be chance: with 40 branches tested, about 20% of findings like it would be'
    """
    among = f"with {count(tested, 'branch', 'branches')} tested"
    if q < 0.001:
        return f"this is very unlikely to be chance, even {among}"
    if q < LIKELY_CHANCE:
        return f"this is unlikely to be chance, even {among}"
    return f"this may be chance: {among}, about {100 * q:.0f}% of findings like it would be"


def praise(high: float, base_rate: float | None) -> str:
    """What the best next step is called; wholly below the base rate it deserves no better word.

    >>> praise(0.3, 0.5), praise(0.6, 0.5)
    ('least bad', 'best next step')
    """
    return "least bad" if high < (base_rate or 0.0) else "best next step"


def utc(time_ns: int) -> str:
    """A time in UTC, to the second.

    >>> utc(86400000000000)
    '1970-01-02 00:00:00 UTC'
    """
    return datetime.fromtimestamp(time_ns // SECOND_NS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def mix(totals: Totals) -> str:
    """Where the outcomes come from that a map stands on; "" where there are none."""
    counts = ((totals.declared, "declared"), (totals.by_rule, "by rule"), (totals.inferred, "inferred"))
    parts = [f"{number:,} {name}" for number, name in counts if number]
    return f"Outcomes: {', '.join(parts)}." if parts else ""


def clock(time_ns: int) -> str:
    """The time of a day in UTC, to the second.

    >>> clock(86400000000000)
    '00:00:00 UTC'
    """
    return utc(time_ns).partition(" ")[2]


def as_of(time_ns: int, now_ns: int, stale: bool) -> str:
    """When something was read, and how old that is where a newer one is being built.

    >>> as_of(86400000000000, 86400000000000, False)
    'as of 00:00:00 UTC'
    >>> as_of(0, 86400000000000, True)
    'as of 1970-01-01 00:00:00 UTC, 1 day ago; a newer one is being built'
    """
    same_day = time_ns // DAY_NS == now_ns // DAY_NS
    at = clock(time_ns) if same_day else utc(time_ns)
    return f"as of {at}, {ago(time_ns, now_ns)}; a newer one is being built" if stale else f"as of {at}"


_AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(time_ns: int, now_ns: int) -> str:
    """How long ago, in the largest unit that fits.

    >>> ago(0, 7200000000000), ago(0, 5000000000), ago(90000000000, 0)
    ('2 hours ago', 'just now', 'in 1 minute')
    """
    age_s = (now_ns - time_ns) // SECOND_NS
    for size_s, unit in _AGES:
        if abs(age_s) >= size_s:
            text = count(abs(age_s) // size_s, unit)
            return f"{text} ago" if age_s > 0 else f"in {text}"
    return "just now"


def duration(elapsed_ns: int) -> str:
    """A duration to three figures or so.

    >>> [duration(elapsed) for elapsed in (4_000_000, 2_500_000_000, 125_000_000_000, 7_500_000_000_000)]
    ['4 ms', '2.5 s', '2 min 5 s', '2 h 5 min']
    """
    elapsed_s = elapsed_ns / SECOND_NS
    if elapsed_s < 1:
        return f"{elapsed_ns / 1e6:.0f} ms"
    if elapsed_s < 60:
        return f"{elapsed_s:.1f} s"
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min {seconds} s"


def narrowed(behaviour: BehaviourMap) -> str:
    """How many of the runs that were asked a map is of, and what they were asked."""
    found = len(behaviour.run_ids) + len(behaviour.live_run_ids)
    return f"{found:,} of {count(behaviour.narrowed_from, 'run')} match {quoted(behaviour.cohort.where)}"


def window(window: Window) -> str:
    """A window in words.

    >>> window(Window()), window(Window(days=1)), window(ALL_TIME)
    ('last 30 days', 'last 24 hours', 'all time')
    >>> window(Window(86400000000000, None)), window(Window(0, 86400000000000))
    ('since 1970-01-02', 'before 1970-01-02')
    """
    if window.is_symbol:
        return f"last {window.days} days" if window.days > 1 else "last 24 hours"
    if window == ALL_TIME:
        return "all time"
    if window.end_ns is None:
        return f"since {_day(window.start_ns or 0)}"
    before = _day(window.end_ns)
    return f"{_day(window.start_ns)} to {before}" if window.start_ns else f"before {before}"


def _day(time_ns: int) -> str:
    return utc(time_ns).removesuffix(" 00:00:00 UTC")


def bare(token: Token) -> str:
    """A token without its kind.

    >>> bare(Token("tool:search_orders", 2)), bare(Token("…", 0))
    ('search_orders×3-5', '…')
    """
    return parse_signature(str(token))[1] or str(token)
