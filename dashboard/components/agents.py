"""The agents as a table: what each loses, how its last day went, how it fares."""

from __future__ import annotations

from typing import Any, NamedTuple

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import html, rates, times, words
from dashboard.components.access import data
from dashboard.components.rates import Rate
from dashboard.components.sparkline import Mark, sparkline
from dashboard.urls import Look
from engine.faring import DAYS, Faring, LastDay
from engine.listing import Filters
from engine.losses import Losses
from engine.paths import Token
from engine.queries import DEFAULT_WINDOW
from engine.retention import DAY_NS
from engine.runs import ALL_TIME, Window
from engine.statistics import wilson_one
from engine.store import Marker
from engine.strata import Label

LAST_DAY = Window(days=1)
BUILDING, FAILED, NOT_ASKED = "", "failed", "on its map"
_WHY = {
    BUILDING: "The map is being built",
    FAILED: "The map could not be built: the agent's page tells why",
    NOT_ASKED: "Not counted here: open the agent's map",
}


class Cost(NamedTuple):
    """What is known of an agent's forks.

    Attributes
    ----------
    losses : Losses or None
        None while its map is not there.
    key : str
        Of the node of the worst fork.
    step : Token or None
        The step that the worst fork takes.
    tested : int
        Branches that were tested.
    confirmed : int
        How many of its fatal forks are confirmed.
    label : str or None
        How far the worst fork is shown.
    why : str
        Why nothing is known: :data:`BUILDING`, :data:`FAILED` or :data:`NOT_ASKED`.
    """

    losses: Losses | None = None
    key: str = ""
    step: Token | None = None
    tested: int = 0
    confirmed: int = 0
    label: Label | None = None
    why: str = ""

    @property
    def runs(self) -> int:
        """Runs lost, to the nearest whole."""
        return round(self.losses.runs) if self.losses else 0


class Row(NamedTuple):
    """An agent of the list; ``markers`` are those that concern it, the latest first."""

    faring: Faring
    cost: Cost
    markers: tuple[Marker, ...] = ()

    @property
    def agent(self) -> str:
        """Its name."""
        return self.faring.line.window.agent

    @property
    def look(self) -> Look:
        """What its links look at: the last 30 days, or all time where it has no run in them."""
        return Look(agent=self.agent, window=DEFAULT_WINDOW if self.faring.line.recent else ALL_TIME)

    @property
    def hurt(self) -> tuple[object, ...]:
        """What the list is sorted by: what hurts most comes first."""
        line, last = self.faring.line, self.faring.last
        counts = line.window if line.recent else line.all_time
        failed = counts.failures + counts.abandoned
        return not line.recent, -self.cost.runs, last.change != "worse", -failed, self.agent


HEADS = (
    ("Agent", ""),
    ("Runs lost at forks", "number"),
    ("Success, last 24 hours", ""),
    ("Success, 95% interval", "wide"),
    ("By day", ""),
    ("Completed", "number"),
    ("In flight", "number"),
    ("Last run", ""),
)


def table(rows: list[Row], now_ns: int) -> Component:
    """A line an agent."""
    caption = (
        "Runs of the last 30 days; where an agent has none, of all time. What hurts most comes first: runs "
        "lost at fatal forks, then a worse last day, then runs that failed."
    )
    heads = [html.Th(text, scope="col", className=name) for text, name in HEADS]
    body = html.Tbody([_line(row, now_ns) for row in rows])
    return html.Table(
        [html.Caption(caption), html.Thead(html.Tr(heads)), body], className="rates agents", role="table"
    )


def _line(row: Row, now_ns: int) -> Component:
    line, look = row.faring.line, row.look
    counts = line.window if line.recent else line.all_time
    name = html.Link(
        row.agent or "(no name)", href=urls.map_url(look), className="clip agent-name", title=row.agent
    )
    remark = [] if line.recent else [html.Span("no run in the last 30 days: all time", className="dim small")]
    low, high = wilson_one(counts.successes, counts.completed)
    every = _by_day(row, now_ns) if line.recent else "–"
    cells: list[tuple[Any, str]] = [
        (_lost(row), "number"),
        (_last_day(row), ""),
        (_rate(row, Rate(row.agent, counts.completed, counts.successes, low, high)), "wide"),
        (every, "by-day"),
        (_count(counts.completed, look, "completed"), "number"),
        (_count(counts.unknown, look, "live"), "number"),
        (times.ago(counts.last_ns, now_ns), "when"),
    ]
    heads = [text for text, _ in HEADS[1:]]
    return html.Tr(
        [
            html.Th([name, *remark], scope="row"),
            *(
                html.Td(inside, className=name, **data(head=head))
                for (inside, name), head in zip(cells, heads, strict=True)
            ),
        ],
        **data(key=row.agent),
    )


def _by_day(row: Row, now_ns: int) -> list[Component]:
    """Its runs day by day, with what was changed meanwhile, and the way to what that changed."""
    span_ns = DAYS * DAY_NS
    recent = [each for each in row.markers if 0 <= now_ns - each.time_ns < span_ns]
    marks = [Mark(1 - (now_ns - each.time_ns) / span_ns, words.quoted(each.name)) for each in recent]
    line = html.Link(sparkline(row.faring.days, marks), href=urls.runs_url(row.look))
    if not recent:
        return [line]
    last = recent[0]
    href = urls.changes_url(row.look._replace(since_ns=last.time_ns))
    return [line, html.Link(f"since {words.quoted(last.name)}", href=href, className="small clip")]


def _count(runs: int, look: Look, outcome: str) -> Any:
    """A count that leads to the runs it counts."""
    if not runs:
        return html.Span("0", className="dim")
    return html.Link(f"{runs:,}", href=urls.runs_url(look, Filters(outcome=outcome)))


def _lost(row: Row) -> Any:
    """Runs lost, and at how many forks; it leads to the worst."""
    cost = row.cost
    if cost.losses is None:
        return html.Span(cost.why or "…", className="dim", title=_WHY[cost.why])
    if not cost.losses.forks:
        return html.Span("0", className="dim")
    sure = cost.losses.q < words.LIKELY_CHANCE
    lost = html.Span(f"≈ {cost.runs:,}", className="lost" if sure else "lost maybe")
    forks = html.Span(_shown(cost.losses.forks, cost.confirmed), className="dim small")
    link = html.Link(lost, href=urls.map_url(row.look._replace(node=cost.key)))
    return [link, forks, *([] if sure else [html.Span("may be chance", className="dim small")])]


def _shown(forks: int, confirmed: int) -> str:
    """How many forks there are, and how many of them are confirmed.

    >>> _shown(1, 0), _shown(1, 1), _shown(3, 0), _shown(3, 2)
    ('1 fork, not confirmed', '1 fork, confirmed', '3 forks, none confirmed', '3 forks, 2 confirmed')
    """
    if forks == 1:
        return "1 fork, confirmed" if confirmed else "1 fork, not confirmed"
    return f"{forks:,} forks, {confirmed or 'none'} confirmed"


CHANGES = {
    "none": "",
    "alike": "no clear change",
    "better": "better",
    "worse": "worse",
    "perhaps better": "perhaps better",
    "perhaps worse": "perhaps worse",
}


def _last_day(row: Row) -> Any:
    """How the last day went beside the days before, in words; it leads to its runs."""
    last = row.faring.last
    if not last.completed:
        return html.Span("no run completed", className="dim")
    look = row.look._replace(window=LAST_DAY)
    won = [_count(last.successes, look, "success"), " of ", _count(last.completed, look, "completed")]
    word = CHANGES[last.change]
    said = html.Span(
        word or "nothing to compare with", className=f"change {_tone(last)}", title=compared(last)
    )
    before = [f", before {words.percent(last.rate_before)}"] if last.before else []
    return [said, html.Span([*won, *before], className="dim small")]


def _tone(last: LastDay) -> str:
    return {"worse": "change-worse", "better": "change-better"}.get(last.change, "dim")


def compared(last: LastDay) -> str:
    """How sure it is that the last day differs, in words.

    >>> compared(LastDay(20, 4, 100, 71, 1e-6, 2e-6)).replace("\\xa0", " ")
    "20.0% of 20 runs, before 71.0% of 100; Fisher's exact test gives p = 1.0 × 10⁻⁶, q = 2.0 × 10⁻⁶"
    """
    if not last.before:
        return "No run completed in the days before"
    return (
        f"{words.percent(last.rate)} of {last.completed:,} runs, before {words.percent(last.rate_before)} of "
        f"{last.before:,}; Fisher's exact test gives p {words.probability(last.p)}, "
        f"q {words.probability(last.q)}"
    )


def _rate(row: Row, rate: Rate) -> Any:
    """The base rate: the bar, the share, the bounds."""
    if not rate.support:
        return html.Span("no run completed", className="dim")
    share = words.percent(rate.successes / rate.support)
    href = urls.runs_url(row.look, Filters(outcome="success"))
    return html.Div(
        [
            rates.bar(rate, None),
            html.Link(share, href=href, className="number", title=f"{rate.successes:,} succeeded"),
            html.Span(words.interval(rate.low, rate.high), className="dim number"),
        ],
        className="base",
    )
