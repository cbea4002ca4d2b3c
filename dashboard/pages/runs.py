"""The runs of an agent's map: filtered, sorted, a page at a time; every count of the map leads here."""

from __future__ import annotations

from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import choices, filters, narrowing, run_list, states, stats, times, words
from dashboard.components.choices import Choice
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Absent, Building, Failed, Ready
from engine.growing import Ints
from engine.listing import PAGE, Listing, Table, judged_by, narrow, ordered, pages
from engine.runs import ALL_TIME, View

AGENTS = 100
"""Agents listed where none is named: those with most runs."""


def layout(service: Service, look: Look) -> Page:
    """The runs that pass the filters, as soon as their map is built."""
    if not look.agent:
        return _whose(service)
    title = f"{look.agent} · runs"
    if look.typed:
        refused = narrowing.refused(look, urls.RUNS, f"Runs of {look.agent}")
        return Page(title, refused, stamp=f"refused {look.typed}", agent=look.agent)
    found = table_of(service, look)
    if isinstance(found, Failed):
        return Page(title, narrowing.failed(look, urls.RUNS, found), stamp="failed")
    if not isinstance(found, Table):
        waiting = states.building(f"the map of {look.agent}, whose runs these are")
        return Page(title, waiting, waiting=True, stamp="building", agent=look.agent)
    stamp = f"{found.behaviour.now_ns} {len(found)} {service.now_ns() // 10**10}"
    return Page(title, _body(service, found, look), stamp=stamp, agent=look.agent)


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own: its form, headings and pages are addresses."""


def table_of(service: Service, look: Look) -> Table | Failed | Building | Absent:
    """The table of the runs that are looked at; made once a build, judged as runs are, by all."""
    cohort, make = look.cohort(service.tenant), Listing(service.store)
    answer = service.maps.get(cohort)
    if not isinstance(answer, Ready):
        return answer
    whole = cohort._replace(view="all", where="")
    if cohort == whole:
        return service.maps.made(cohort, answer, make)
    judging = service.maps.get(whole)
    if not isinstance(judging, Ready):
        return judging
    table = service.maps.made(cohort, answer, make)
    return judged_by(table, service.maps.made(whole, judging, make))


def _body(service: Service, table: Table, look: Look) -> Component:
    rows = narrow(table, look.filters)
    behaviour = table.behaviour
    head = html.Div(
        [
            html.H1(f"Runs of {look.agent}", title=look.agent, className="clip"),
            html.Span(words.window(look.window), className="dim"),
            html.Span(["as of ", times.clock(behaviour.now_ns)], className="dim"),
            html.Div([choices.windows(look, urls.RUNS), _views(look)], className="switches"),
        ],
        className="page-head",
    )
    notices = [look.complaint, _strange(table, look), *stats.caveats(behaviour)]
    return html.Div(
        [
            head,
            narrowing.of_map(behaviour, look, urls.RUNS),
            *narrowing.said(behaviour, look),
            *[states.notice(text) for text in notices if text],
            run_list.summary(table, rows, look),
            html.Section(
                [
                    filters.form(table, look),
                    *filters.chips(table, look),
                    *_listed(service, table, rows, look),
                ],
                className="card scroll",
            ),
        ],
        className="runs-page",
    )


def _strange(table: Table, look: Look) -> str:
    """That the map does not have the step that is asked for."""
    if not look.filters.node or table.behaviour.find(look.filters.node) is not None:
        return ""
    return "The step that this link names is not in the map of this window and view."


def _views(look: Look) -> Component:
    """All steps, or tools only; a step's key is of one view, so it is left behind."""
    asked = look.filters._replace(node="", at="")
    views: tuple[tuple[str, View], ...] = (("All steps", "all"), ("Tools only", "tools"))
    ways = [
        Choice(text, urls.runs_url(look._replace(view=view), asked, look.sort), look.view == view)
        for text, view in views
    ]
    return choices.switch("Steps", ways)


def _listed(service: Service, table: Table, rows: Ints, look: Look) -> list[Component]:
    if not rows.size:
        return [_none(table, look)]
    page = min(look.page, pages(rows.size))
    shown = ordered(table, rows, look.sort)[PAGE * (page - 1) : PAGE * page]
    above, below = (
        run_list.pager(rows.size, look, page, label) for label in ("Pages of runs", "Pages of runs, again")
    )
    return [
        html.Div([run_list.exports(look, rows.size), above], className="list-head"),
        run_list.table(table, shown, look, service.now_ns()),
        *([below] if rows.size > PAGE else []),
    ]


def _none(table: Table, look: Look) -> Component:
    """That nothing passes, and how many would without each filter."""
    if not len(table) and look.where:
        return html.Div(narrowing.none(table.behaviour, look, urls.RUNS, completed=False), className="none")
    if not len(table):
        every = dcc.Link("Look at all time", href=urls.runs_url(look._replace(window=ALL_TIME), look.filters))
        none = f"No run of {words.quoted(look.agent)} began in this window ({words.window(look.window)})."
        return html.Div(
            [html.P(none), *([] if look.window == ALL_TIME else [html.P(every)])], className="none"
        )
    ways: list[Any] = []
    for each in filters.said(table, look):
        left = narrow(table, each.without).size
        href = urls.runs_url(look, each.without, look.sort)
        link = dcc.Link(words.count(left, "run"), href=href, className="counted")
        ways.append(html.Li([link, " without ", html.Span(each.shown, className="chip-text")]))
    return html.Div([html.P("No run passes these filters."), html.Ul(ways)], className="none")


def _whose(service: Service) -> Page:
    """The agents to choose from."""
    lines = queries.overview(service.store, service.tenant, service.now_ns())
    if not lines:
        return Page("Runs", states.first_use(), stamp="none")
    listed = []
    for line in lines[:AGENTS]:
        counts = line.window if line.recent else line.all_time
        window = queries.DEFAULT_WINDOW if line.recent else ALL_TIME
        href = urls.runs_url(Look(agent=counts.agent, window=window))
        runs = words.count(counts.completed + counts.unknown, "run")
        name = dcc.Link(counts.agent, href=href, className="clip", title=counts.agent)
        listed.append(html.Li([name, html.Span(f"{runs}, {words.window(window)}", className="dim")]))
    more = len(lines) - AGENTS
    rest = [html.P(f"{words.count(more, 'more agent')}: find one by its name, above.")] if more > 0 else []
    body = html.Section(
        [html.H1("Runs of which agent?"), html.Ul(listed, className="found"), *rest], className="card state"
    )
    return Page("Runs", body, stamp=str(len(lines)))
