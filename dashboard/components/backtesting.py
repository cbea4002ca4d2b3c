"""What a fuse would have done to runs that are over: in words first, then at every odds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from dash import dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import words
from dashboard.components.drafts import percent_of
from dashboard.urls import Look
from engine.backtest import Backtest, Fuse, HeldOut, Point, pays_at_worst
from engine.runs import Source

EVERY, MOST = 5, 25
"""Every how many percent the table has a line where a line for each change would be more than so many."""


def below(point: Point) -> str:
    """The odds of a point, as a condition.

    >>> below(Point(0.35, 0, 0, 0, 0.0, 1.0, 0, None, 0, None))
    'below 35%'
    """
    return f"below {percent_of(point.odds)}%"


def done(found: Backtest, point: Point) -> str:
    """What a fuse would have done at these odds.

    >>> point = Point(0.5, 50, 45, 5, 0.043, 0.214, 210, 31_000, 40, 4.0)
    >>> done(Backtest(180, 98, 180, 0, 0, 0, (point,)), point)
    'It would have stopped 50 of 180 runs: 45 rightly, as they did not succeed, and 5 wrongly, as they did: \
10.0% false stops (4.3–21.4%). That is 45 of the 82 runs that did not succeed, and 5 of the 98 that did.'
    """
    runs = words.count(found.runs, "run")
    if not point.stopped:
        return f"It would have stopped none of {runs}."
    share, bounds = words.percent(point.wrong_share), words.interval(point.low, point.high)
    return (
        f"It would have stopped {point.stopped:,} of {runs}: {point.rightly:,} rightly, as they did not "
        f"succeed, and {point.wrongly:,} wrongly, as they did: {share} false stops ({bounds}). That is "
        f"{point.rightly:,} of the {words.count(found.unsuccessful, 'run')} that did not succeed, and "
        f"{point.wrongly:,} of the {found.successes:,} that did."
    )


def saved(point: Point) -> str:
    """What the rightly stopped runs would not have done any more; "" where there are none.

    >>> saved(Point(0.5, 50, 45, 5, 0.043, 0.214, 210, 31_000, 40, 4.0))
    'Half of the rightly stopped would have been stopped 4 steps or more before their end: 210 steps that \
would not have been taken, and 31,000 tokens of models, which 40 of them tell of.'
    """
    if point.median_lead is None:
        return ""
    lead = f"{point.median_lead:g} {'step' if point.median_lead == 1 else 'steps'}"
    told = "all of them tell of" if point.metered == point.rightly else f"{point.metered:,} of them tell of"
    tokens = (
        "" if point.tokens_saved is None else f", and {point.tokens_saved:,} tokens of models, which {told}"
    )
    return (
        f"Half of the rightly stopped would have been stopped {lead} or more before their end: "
        f"{words.count(point.steps_saved, 'step')} that would not have been taken{tokens}."
    )


def judged(fuse: Fuse, found: Backtest) -> str:
    """By what each run was judged, and who says how they ended.

    >>> judged(Fuse(earlier=True), Backtest(180, 98, 100, 0, 80, 7, ()))
    'Each run was asked about before every call and judged by the runs that were over before it began. \
No odds stop 7 of them: they made no call after 3 steps, or too few others went their way. Outcomes: \
100 declared, 80 inferred.'
    """
    by = "the runs that were over before it began" if fuse.earlier else "all the others, later ones too"
    parts = [f"Each run was asked about before every call and judged by {by}."]
    if found.unasked:
        parts.append(
            f"No odds stop {found.unasked:,} of them: they made no call after "
            f"{words.count(fuse.after_steps, 'step')}, or too few others went their way."
        )
    counts = {Source.DECLARED: found.declared, Source.RULE: found.by_rule, Source.INFERRED: found.inferred}
    said = ", ".join(f"{count:,} {words.SOURCES[source]}" for source, count in counts.items() if count)
    return " ".join([*parts, f"Outcomes: {said}."] if said else parts)


def price(cost: float) -> str:
    """What a false stop costs.

    >>> price(2.5)
    'a false stop costs as much as 2.5 right stops bring'
    """
    return f"a false stop costs as much as {cost:g} right {'stop brings' if cost == 1 else 'stops bring'}"


def advice(best: Point | None, cost: float) -> str:
    """Which odds are best, and whether that is sure.

    >>> advice(None, 2)
    'Where a false stop costs as much as 2 right stops bring, no odds bring more than they cost: better \
arm none.'
    """
    if best is None:
        return f"Where {price(cost)}, no odds bring more than they cost: better arm none."
    gain = f"{best.gain(cost):,.4g}"
    worst = f"with the share of false stops at the upper bound of its interval, {words.percent(best.high)},"
    sure = (
        f"Even {worst} they would bring something."
        if pays_at_worst(best, cost)
        else f"But {worst} they would cost more than they bring: arm it in shadow, and look again."
    )
    return (
        f"Where {price(cost)}, odds {below(best)} bring most: as much as {gain} right stops and "
        f"no false one. {sure}"
    )


def checked(held: HeldOut | None, runs: int) -> str:
    """What the odds that the older half of the runs recommends did in the newer half."""
    if held is None:
        return "On the older half of these runs no odds would have been recommended."
    after = held.after
    share = (
        f", {words.percent(after.wrong_share)} false stops ({words.interval(after.low, after.high)})"
        if after.stopped
        else ""
    )
    return (
        "Odds that are chosen by the runs they are tried on look better than they are. On the older half "
        f"odds {below(held.chosen)} would have been recommended; of the newer "
        f"{words.count(runs, 'run')} they stop {after.stopped:,}: {after.rightly:,} rightly and "
        f"{after.wrongly:,} wrongly{share}."
    )


_HEADS = (
    *("Odds below", "Stopped", "Rightly", "Wrongly", "False stops", "95% interval"),
    *("Steps before the end", "Steps saved", "Tokens saved", "Brings"),
)


def table(found: Backtest, look: Look, chosen: Point | None) -> list[Component]:
    """A line for all odds at which the same is stopped, or nearly: each leads to what it tells of."""
    rows = [_row(line, look, chosen in line) for line in lines(found.points, chosen)]
    said = (
        "Marked is what is looked at. Steps and tokens are those of rightly stopped runs, the steps before "
        f"the end their median. What it brings is counted in right stops, where {price(look.cost)}."
    )
    first, *others = _HEADS
    number = [html.Th(text, scope="col", className="number") for text in others]
    heads = html.Tr([html.Th(first, scope="col"), *number])
    caption = html.Caption("What would have been stopped at every odds", className="unseen")
    drawn = html.Table([caption, html.Thead(heads), html.Tbody(rows)], className="rates odds-tried")
    return [html.P(said, className="soft"), html.Div(drawn, className="scroll")]


def lines(points: Sequence[Point], chosen: Point | None) -> list[list[Point]]:
    """Odds at which the same is stopped, together; of a curve of many changes every fifth percentage.

    >>> low = Point(0.1, 0, 0, 0, 0.0, 1.0, 0, None, 0, None)
    >>> high = Point(0.3, 1, 1, 0, 0.0, 0.8, 1, None, 0, 1.0)
    >>> found = lines([low, low._replace(odds=0.2), high], high)
    >>> [[each.odds for each in line] for line in found]
    [[0.1, 0.2], [0.3]]
    """
    kept = list(points)
    if len(_together(kept)) > MOST:
        kept = kept[EVERY - 1 :: EVERY]
    if chosen is not None and chosen not in kept:
        kept = sorted([*kept, chosen])
    return _together(kept)


def _together(points: Iterable[Point]) -> list[list[Point]]:
    return [list(line) for _, line in groupby(points, key=lambda each: each[1:])]


def span(line: Sequence[Point]) -> str:
    """The odds of a line."""
    first, last = percent_of(line[0].odds), percent_of(line[-1].odds)
    return f"{first}%" if first == last else f"{first}–{last}%"


def cells(point: Point, cost: float) -> list[str]:
    """What stands beside the odds."""
    return [
        f"{point.stopped:,}",
        f"{point.rightly:,}",
        f"{point.wrongly:,}",
        words.percent(point.wrong_share),
        words.interval(point.low, point.high) if point.stopped else "–",
        "–" if point.median_lead is None else f"{point.median_lead:g}",
        f"{point.steps_saved:,}",
        "–" if point.tokens_saved is None else f"{point.tokens_saved:,}",
        f"{point.gain(cost):,.4g}".replace("-", "−"),
    ]


def _row(line: Sequence[Point], look: Look, chosen: bool) -> Component:
    middle = line[len(line) // 2].odds
    link = dcc.Link(span(line), href=urls.backtest_url(look._replace(odds=middle)))
    row = [html.Td(cell, className="number") for cell in cells(line[0], look.cost)]
    head = html.Th(link, scope="row")
    return html.Tr([head, *row], className="marked-good" if chosen else "")
