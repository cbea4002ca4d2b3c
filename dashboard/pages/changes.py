"""What changed: before and after a moment, or from one version of an agent to another."""

from __future__ import annotations

from dash import Dash
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import changed, choices, html, narrowing, sides, states, waygrid, words
from dashboard.components.elsewhere import elsewhere
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Failed, Ready
from engine.changes import Moment, Split, Versions, versions
from engine.changes.ranking import Findings
from engine.changes.wording import caveats
from engine.maps import BehaviourMap
from engine.runs import ALL_TIME, Cohort


def layout(service: Service, look: Look) -> Page:
    """The comparison that is asked for, or what there is to compare."""
    if not look.agent:
        return _whose(service, look)
    title = f"{look.agent} · changes"
    if look.typed:
        refused = narrowing.refused(look, urls.CHANGES, f"What changed in {look.agent}")
        return Page(title, refused, stamp=look.typed, agent=look.agent)
    cohort = look.cohort(service.tenant)._replace(view="all" if look.models else "tools")
    look = look._replace(view=cohort.view)
    split = _split(look)
    if split is None:
        return _choose(service, look, cohort)
    answer = service.maps.changes(cohort, split)
    if isinstance(answer, Failed):
        return Page(title, narrowing.failed(look, urls.CHANGES, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"what changed in {look.agent}", answer)
        return Page(
            title, waiting, waiting=True, stamp=f"building {states.seconds(answer)}", agent=look.agent
        )
    chooser, known = _chooser(service, look, cohort)
    body = html.Div(
        [*_head(look, answer.stale), chooser, *_found(answer.value, look)], className="changes-page"
    )
    stamp = f"{answer.built_ns} {answer.stale} {known}"
    soon = answer.stale or known.startswith("None")
    return Page(title, body, stamp=stamp, agent=look.agent, refresh_s=1.0 if soon else 30.0)


def register(app: Dash, service: Service) -> None:
    """This page has no callbacks of its own."""


def _split(look: Look) -> Split | None:
    if look.since_ns is not None:
        return Moment(look.since_ns)
    return Versions(look.old, look.new) if look.old and look.new and look.old != look.new else None


def _whose(service: Service, look: Look) -> Page:
    """Without an agent: whose changes there are."""
    agents = [each.agent for each in service.store.agents(service.tenant, ALL_TIME, service.now_ns())]
    links = [html.Li(html.Link(name, href=urls.changes_url(look._replace(agent=name)))) for name in agents]
    said = "Two sides of one agent are compared. Whose?" if links else "No run is in this store yet."
    listed = html.Ul(links, className="found changes-whose")
    body = html.Section([html.H1("What changed"), html.P(said), listed], className="card state")
    return Page("Changes", body, stamp=repr(agents))


def _choose(service: Service, look: Look, cohort: Cohort) -> Page:
    """Nothing is chosen yet: the versions and markers there are."""
    answer = service.maps.get(cohort)
    title = f"{look.agent} · changes"
    if isinstance(answer, Failed):
        return Page(title, narrowing.failed(look, urls.CHANGES, answer), stamp="failed")
    chooser, known = _chooser(service, look, cohort)
    said = (
        "Compare the runs before and after a moment, for example a deploy, or those of two versions: which "
        "ways runs take more or less often, which ways are new or gone, and which end otherwise."
    )
    parts = [*_head(look, False), html.P(said, className="headline")]
    if not isinstance(answer, Ready):
        waiting = states.building(f"the map of {look.agent}", answer)
        body = html.Div([*parts, waiting], className="changes-page")
        return Page(title, body, waiting=True, stamp=f"building {states.seconds(answer)}", agent=look.agent)
    same = [states.notice("Both versions are the same.")] if look.old and look.old == look.new else []
    nothing = [] if answer.value.totals.completed else [_nothing(service, look, answer.value)]
    choice = [chooser] if look.where or not nothing else []
    body = html.Div([*parts, *same, *choice, *nothing], className="changes-page")
    return Page(title, body, stamp=f"{answer.built_ns} {known}", agent=look.agent, refresh_s=30.0)


def _chooser(service: Service, look: Look, cohort: Cohort) -> tuple[Component, str]:
    """What can be compared, and what that is made of."""
    answer = service.maps.get(cohort)
    found, field = None, narrowing.field(look, urls.CHANGES)
    if isinstance(answer, Ready):
        found, field = versions(answer.value.versions), narrowing.of_map(answer.value, look, urls.CHANGES)
    markers = service.store.markers(service.tenant, look.agent)
    chooser = sides.chooser(look, found, markers, service.now_ns())
    return html.Div([chooser, field]), f"{found} {markers}"


def _head(look: Look, stale: bool) -> list[Component]:
    newer = [html.Span("a newer one is being built", className="dim")] if stale else []
    head = html.Div(
        [
            html.H1(f"What changed in {look.agent}", className="clip", title=look.agent),
            html.Span(words.window(look.window), className="dim"),
            *newer,
            html.Div(choices.windows(look, urls.CHANGES), className="switches"),
        ],
        className="page-head",
    )
    return [head, *([states.notice(look.complaint)] if look.complaint else [])]


def _found(found: Findings, look: Look) -> list[Component]:
    """What is shown of a comparison; a side without runs leaves nothing but that to say."""
    parts = [*map(states.notice, caveats(found.changes)), changed.whole(found, look)]
    if not found.changes.support[:, 0].min():
        return parts
    parts.append(changed.ranked(found, look))
    return [*parts, *changed.partings(found.partings, look), waygrid.tree(found.changes, look)]


def _nothing(service: Service, look: Look, behaviour: BehaviourMap) -> Component:
    """What to look at instead."""
    if look.where:
        none = narrowing.none(behaviour, look, urls.CHANGES, completed=True)
        return html.Section(none, className="card state")
    now_ns = service.now_ns()
    held = queries.in_windows(service.store, service.tenant, look.agent, choices.PRESETS, now_ns)
    said = html.P("No run completed in this window.")
    return html.Section([said, *elsewhere(held, look, now_ns, urls.changes_url)], className="card state")
