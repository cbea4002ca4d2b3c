"""Runs in flight, lowest estimate first: which are going wrong now, and what a fuse would say."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import ids, urls
from dashboard.components import flights, states, words
from dashboard.components.access import data
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine.builder import Failed
from engine.runs import ALL_TIME, LIVE_NS, SECOND_NS, Cohort
from engine.store import AgentSummary
from engine.triage import Triage, triage

EVERY_S = 2.0
"""How often the page asks again."""
NAMED = 3
"""Agents named whose maps are not there."""
WHAT = (
    f"A run is in flight until {LIVE_NS // (60 * SECOND_NS)} minutes have passed since its last activity, or "
    "somebody says how it ended. Keys: j and k or the arrows move, Enter opens a run, Space pauses."
)
CAPTION = (
    "Lowest estimate first. The estimate draws on fewer runs than a verdict needs: it ranks, and decides "
    "nothing. Dashed: the agent's base rate."
)


def layout(service: Service, look: Look) -> Page:
    """The runs in flight of all agents, or of the one that is looked at."""
    now_ns, tenant = service.now_ns(), service.tenant
    known = service.store.agents(tenant, ALL_TIME, now_ns)
    if not known:
        return Page("Live", _empty(), stamp="none", refresh_s=EVERY_S)
    if look.agent and look.agent not in {each.agent for each in known}:
        return Page("No such agent", _nobody(look.agent), stamp="nobody")

    policies = service.store.policies(tenant)
    found = triage(service.store, tenant, policies, now_ns, service.known, look.agent or None)
    awaited = _awaited(service, found)
    said, lines, notices = flights.in_words(found), flights.lines(found, now_ns), _notices(found, awaited)
    body = html.Div(
        [
            _head(look, known),
            html.P(said, className="headline"),
            html.Div([states.notice(text) for text in notices]),
            html.Section(
                flights.LiveRuns(id=ids.LIVE, data=lines, label=CAPTION)
                if lines
                else _quiet(known, look.agent, now_ns),
                className="card scroll",
            ),
            html.P(WHAT, className="dim small"),
        ],
        className="live-page",
    )
    return Page("Live", body, bool(awaited), _stamp(said, lines, notices), look.agent, EVERY_S)


def _stamp(*parts: object) -> str:
    return blake2b(repr(parts).encode(errors="replace"), digest_size=12).hexdigest()


def register(app: Dash, service: Service) -> None:
    """Its table draws itself (``assets/live.js``)."""


def _head(look: Look, known: Sequence[AgentSummary]) -> Component:
    pause = html.Button("Pause", type="button", className="button", title="Space", **data(does="pause"))
    return html.Div(
        [html.H1("Live"), html.Div([_narrowing(look, known), pause], className="switches")],
        className="page-head",
    )


def _narrowing(look: Look, known: Sequence[AgentSummary]) -> Component:
    """The form that narrows the list down to an agent."""
    names = sorted({each.agent for each in known if each.unknown} | ({look.agent} if look.agent else set()))
    options = [html.Option("every agent", value="")]
    options += [html.Option(name, value=name, selected=name == look.agent) for name in names]
    every = [dcc.Link("All of them", href=urls.live_url())] if look.agent else []
    return html.Form(
        [
            html.Label("Agent", htmlFor="live-agent"),
            html.Select(options, id="live-agent", name="agent"),
            html.Button("Show", type="submit", className="button"),
            *every,
        ],
        action=urls.LIVE,
        method="get",
        className="say",
    )


def _awaited(service: Service, found: Triage) -> list[str]:
    """Agents whose map will be there in a moment."""
    answers = {agent: service.maps.get(Cohort(service.tenant, agent)) for agent in found.unbuilt}
    return [agent for agent, answer in answers.items() if not isinstance(answer, Failed)]


def _notices(found: Triage, awaited: Sequence[str]) -> list[str]:
    """What is not there: maps, and runs past the bound."""
    failed, said = [agent for agent in found.unbuilt if agent not in awaited], list[str]()
    if awaited:
        said.append(f"Being built, and used as soon as it is there: the map of {_names(awaited)}.")
    if failed:
        said.append(f"Not judged, as the map could not be built: runs of {_names(failed)}.")
    if found.more:
        said.append(f"There are more: the {len(found.runs):,} most recently active are shown.")
    return said


def _names(agents: Sequence[str]) -> str:
    more = len(agents) - NAMED
    rest = f" and {words.count(more, 'other agent')}" if more > 0 else ""
    return ", ".join(words.quoted(agent) for agent in agents[:NAMED]) + rest


def _quiet(known: Sequence[AgentSummary], agent: str, now_ns: int) -> Component:
    """What is there instead of runs in flight."""
    last = max((each for each in known if agent in ("", each.agent)), key=lambda each: each.last_ns)
    link = dcc.Link(f"the runs of {last.agent}", href=urls.runs_url(Look(agent=last.agent)))
    began = f"The last run began {words.ago(last.last_ns, now_ns)}: see "
    return html.P(["Whatever begins appears here by itself. ", began, link, "."])


def _empty() -> Component:
    return states.message(
        "No runs yet",
        "This store holds no run of any agent.",
        dcc.Link("How to get runs into it", href=urls.HOME),
    )


def _nobody(agent: str) -> Component:
    said = f"No run of “{words.quoted(agent)}” is in this store."
    return states.message("No such agent", said, dcc.Link("All runs in flight", href=urls.live_url()))
