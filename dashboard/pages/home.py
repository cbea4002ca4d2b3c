"""The agents: how each fares, what is live, and whether its map holds a fatal fork."""

from __future__ import annotations

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import rates, states, words
from dashboard.components.rates import Rate
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Failed, Ready
from engine.queries import DEFAULT_WINDOW, AgentLine
from engine.runs import ALL_TIME, Cohort
from engine.statistics import wilson_one

BUILDING, FAILED, NOT_ASKED = "…", "failed", "on its map"
"""What stands in place of a number of fatal forks."""
DOUBTFUL = " may be chance"
"""Follows a number of fatal forks none of which is sure."""
_WHY = {
    BUILDING: "The map is being built",
    FAILED: "The map could not be built: the agent's page tells why",
    NOT_ASKED: "Not counted here: open the agent's map",
}
ASKED = 12
"""Maps requested for the list: those of the agents with most runs."""
SHOWN = 100
"""Agents listed: those with most runs; a browser takes a minute over 10,000 rows."""

HEADS = (
    ("Agent", ""),
    ("Completed", "number"),
    ("0–100%", "wide"),
    ("Base rate", "number"),
    ("95% interval", "number"),
    ("Fatal forks", "number"),
    ("Live", "number"),
    ("Last run", ""),
)


def layout(service: Service, look: Look) -> Page:
    """The list of agents, or how to begin."""
    now_ns = service.now_ns()
    lines = queries.overview(service.store, service.tenant, now_ns)
    if not lines:
        return Page("Agents", states.first_use(), stamp="none")
    lines, more = lines[:SHOWN], len(lines) - SHOWN
    forks = [_forks(service, line) if place < ASKED else NOT_ASKED for place, line in enumerate(lines)]
    table = html.Table(
        [
            html.Caption("Runs of the last 30 days; where an agent has none, of all time"),
            html.Thead(html.Tr([html.Th(text, scope="col", className=name) for text, name in HEADS])),
            html.Tbody([_row(line, found, now_ns) for line, found in zip(lines, forks, strict=True)]),
        ],
        className="rates agents",
    )
    rest = f"{words.count(more, 'more agent')}, with fewer runs: find one by its name, above."
    listed = [table, html.P(rest, className="dim")] if more > 0 else table
    body = html.Div([html.H1("Agents"), html.Section(listed, className="card scroll")])
    return Page("Agents", body, waiting=BUILDING in forks, stamp="|".join(forks))


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own."""


def _cohort(service: Service, line: AgentLine) -> Cohort:
    window = DEFAULT_WINDOW if line.recent else ALL_TIME
    return Cohort(service.tenant, line.window.agent, window)


def _forks(service: Service, line: AgentLine) -> str:
    """The number of fatal forks if the map is there; asking for it requests it."""
    answer = service.maps.get(_cohort(service, line))
    if isinstance(answer, Ready):
        found, q = int(answer.value.fork.sum()), answer.value.q[answer.value.fork]
        doubtful = found > 0 and not (q < words.LIKELY_CHANCE).any()
        return f"{found:,}{DOUBTFUL if doubtful else ''}"
    return FAILED if isinstance(answer, Failed) else BUILDING


def _row(line: AgentLine, forks: str, now_ns: int) -> Component:
    counts = line.window if line.recent else line.all_time
    low, high = wilson_one(counts.successes, counts.completed)
    rate = Rate(counts.agent, counts.completed, counts.successes, low, high)
    base = counts.successes / counts.completed if counts.completed else None
    window = DEFAULT_WINDOW if line.recent else ALL_TIME
    href = urls.map_url(Look(agent=counts.agent, window=window))
    remark = [] if line.recent else [html.Span("no run in the last 30 days: all time", className="dim small")]
    name = dcc.Link(counts.agent, href=href, className="clip agent-name", title=counts.agent)
    return html.Tr(
        [
            html.Th([name, *remark], scope="row"),
            html.Td(f"{counts.completed:,}", className="number"),
            html.Td(rates.bar(rate, None), className="wide"),
            html.Td(words.percent(base), className="number"),
            html.Td(words.interval(low, high) if counts.completed else "–", className="number dim"),
            html.Td(_found(forks), className="number"),
            html.Td(f"{counts.unknown:,}", className="number"),
            html.Td(words.ago(counts.last_ns, now_ns), title=words.utc(counts.last_ns)),
        ]
    )


def _found(forks: str) -> Component:
    if forks in _WHY:
        return html.Span(forks, title=_WHY[forks], className="dim")
    count = forks.removesuffix(DOUBTFUL)
    if count != forks:
        return html.Span(count, className="badge badge-fork maybe", title="May be chance: read their q")
    return html.Span(count, className="dim" if count == "0" else "badge badge-fork")
