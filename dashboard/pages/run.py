"""One run: the verdict, where its odds fell, what to do next, and every step it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import figures, ids, urls
from dashboard.components import (
    charts,
    choices,
    decided,
    evidence,
    named,
    outcome,
    states,
    steps,
    tokens,
    verdict,
    words,
)
from dashboard.components.access import data
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Failed, Ready
from engine.decisions.beside import beside
from engine.decisions.reading import read
from engine.errors import UnknownRunError, UnknownStepError
from engine.forks import nodes_along
from engine.keys import Role
from engine.maps import BehaviourMap
from engine.queries import Judged
from engine.runs import ALL_TIME, LIVE_NS, SECOND_NS, Outcome, Run, is_live
from engine.spans import Span

DECIDING_SPANS = 20_000
"""Spans read of a run that tells of its decisions."""

_ENDED = {
    Outcome.SUCCESS: "a success",
    Outcome.FAILURE: "a failure",
    Outcome.ABANDONED: "an abandoned run",
}


def layout(service: Service, look: Look) -> Page:
    """The run, judged by its agent's map as soon as that is built."""
    title = f"{look.run} · run"
    try:
        run = queries.named_run(service.store, service.tenant, look.run, service.now_ns())
    except UnknownRunError:
        near = queries.near(service.store, service.tenant, look.run, service.now_ns())
        said = named.nothing(look.run, near, service.caller(), service.now_ns())
        return Page("No such run", said, stamp="unknown")
    answer = service.maps.get(queries.cohort_of(run, service.tenant, look.window))
    if isinstance(answer, Failed):
        failed = states.message("The run could not be judged", answer.sentence)
        return Page(title, failed, stamp="failed", agent=run.agent)
    if not isinstance(answer, Ready):
        waiting = states.building(f"the map of {run.agent}, to judge this run by")
        return Page(title, waiting, waiting=True, stamp="building", agent=run.agent)
    now_ns = service.now_ns()
    judged, complaint = _judged(answer.value, run, now_ns, look)
    sent = _spans(service, run)
    declared, counted = service.store.declarations(service.tenant, run.run_id), _counted(answer.value, run)
    follows = counted not in (None, run.outcome)
    if follows:
        service.maps.renew(service.tenant, run.agent)
    may_say = service.caller().may(Role.ADMIN)
    body = html.Div(
        [
            _head(run, look, now_ns),
            *[states.notice(text) for text in (look.complaint, complaint) if text],
            *_wider(judged, look),
            verdict.banner(judged.verdict, answer.value, look),
            *_compared(judged, answer.value),
            *([verdict.asked(judged.asked, answer.value, look)] if judged.asked else []),
            outcome.card(run, declared, counted, look, now_ns, may_say),
            html.Div([_odds(judged, answer.value, look), _next(judged, look)], className="columns"),
            _steps(run, sent),
        ],
        className="run-page",
    )
    stamp = f"{answer.built_ns} {run.outcome} {run.said_by} {len(declared)}"
    return Page(title, body, waiting=follows, stamp=stamp, agent=run.agent)


def _counted(behaviour: BehaviourMap, run: Run) -> Outcome | None:
    """As what the map counts the run, if it does."""
    member = behaviour.member(run.run_id)
    return None if member is None else Outcome(int(behaviour.member_outcome[member]))


def _wider(judged: Judged, look: Look) -> list[Component]:
    """The way to a judgement where the window holds no run to judge by."""
    if judged.verdict.base_rate is not None or look.window == ALL_TIME:
        return []
    none = f"No run of {judged.run.agent} completed in this window ({words.window(look.window)}). "
    href = urls.run_url(look._replace(window=ALL_TIME))
    return [states.notice([none, dcc.Link("Judge it by the runs of all time", href=href), "."])]


def _judged(behaviour: BehaviourMap, run: Run, now_ns: int, look: Look) -> tuple[Judged, str]:
    """The run judged with the step that was asked about, or without it and why."""
    try:
        return queries.judge_run(behaviour, run, now_ns, look.next or None), ""
    except UnknownStepError as error:
        return queries.judge_run(behaviour, run, now_ns), str(error)


def skeleton() -> Component:
    """The ids that this page's callbacks speak of."""
    return charts.chart({}, "")


def register(app: Dash, service: Service) -> None:
    """This page's chart draws itself (:mod:`dashboard.components.charts`)."""


def _head(run: Run, look: Look, now_ns: int) -> Component:
    live = is_live(run.source, run.last_ns, now_ns)
    recent = f"its last activity is under {LIVE_NS // (60 * SECOND_NS)} minutes old"
    source = recent if live else words.SOURCES[run.source]
    facts: list[Any] = [
        dcc.Link(run.agent, href=urls.map_url(Look(agent=run.agent, window=look.window))),
        *([html.Span(f"version {run.version}", className="clip", title=run.version)] if run.version else []),
        *([html.Span(f"ticket {run.ticket}", className="clip", title=run.ticket)] if run.ticket else []),
        html.Span(f"began {words.ago(run.start_ns, now_ns)}", title=words.utc(run.start_ns)),
        f"over {words.duration(max(0, run.last_ns - run.start_ns))}",
    ]
    return html.Div(
        [
            html.H1(run.run_id, title=run.run_id, className="clip"),
            html.Button("Copy", type="button", className="copy", **data(copy=run.run_id)),
            evidence.state(run, now_ns),
            html.Span(source, className="dim"),
            html.Ul([html.Li(fact) for fact in facts], className="facts"),
            html.Div(choices.windows(look, urls.RUN), className="switches"),
        ],
        className="page-head",
    )


def _odds(judged: Judged, behaviour: BehaviourMap, look: Look) -> Component:
    found = judged.verdict
    if not found.depths:
        return html.Section([html.H2("Odds along its path"), html.P("It took no step.")], className="card")
    fall = verdict.fall_in_words(found)
    shown = found.depths[: verdict.known_depths(found)]
    drawn = figures.themed(figures.odds, shown, found.base_rate, found.fell_most)
    link = dcc.Link("Show its path on the map", href=map_link(judged, behaviour, look))
    return html.Section(
        [
            html.H2("Odds along its path"),
            html.P(fall),
            charts.chart(drawn, f"Success rate at each step. {fall}"),
            verdict.depths(found),
            html.P(link),
        ],
        className="card",
    )


def _spans(service: Service, run: Run) -> list[Span]:
    """The run's spans: all of them where some tell of decisions, else as many as are shown."""
    decides = service.store.deciding(service.tenant, [run.run_id])
    limit = DECIDING_SPANS + 1 if decides else steps.SHOWN + 1
    return service.store.spans(service.tenant, run.run_id, limit)


def _steps(run: Run, sent: Sequence[Span]) -> Component:
    """Its steps, with the decisions that led to them and what the audit says of these."""
    told: list[Component] = []
    found = None
    if trace := read(run.run_id, sent[:DECIDING_SPANS]):
        parents = {span.span_id: span.parent_id for span in sent}
        found = beside(trace, [step.span_id for step in run.steps[: steps.SHOWN]], parents)
        told = [decided.summary(trace, found)]
        if len(sent) > DECIDING_SPANS:
            told.append(
                html.P(f"Only its first {DECIDING_SPANS:,} spans were read for this.", className="dim")
            )
    body = [html.H2("Steps"), *steps.assumed(sent), *told, steps.steps(run, found), steps.spans(sent)]
    return html.Section(body, className="card")


def _compared(judged: Judged, behaviour: BehaviourMap) -> list[Component]:
    """The way to the comparison with a run that ended otherwise and went the same way for a while."""
    run, other = judged.run, queries.contrast_beside(behaviour, judged)
    if other is None:
        return []
    same = run.ticket is not None and other.ticket == run.ticket
    what = "of the same ticket" if same else "from the same point"
    href = urls.compare_url(run.run_id, other.run_id, run.ticket or "" if same else "")
    link = dcc.Link(f"Compare with {_ENDED[other.outcome]} {what}", href=href)
    return [html.P([link, html.Span(other.run_id, className="run-id dim clip")], className="compared")]


def map_link(judged: Judged, behaviour: BehaviourMap, look: Look) -> str:
    """The map at the deepest node of the run's path that the map holds."""
    nodes = nodes_along(behaviour, judged.verdict.path, judged.verdict.live)
    key = behaviour.key_text(nodes[-1] if nodes else 0)
    return urls.map_url(Look(agent=judged.run.agent, window=look.window, node=key))


def _next(judged: Judged, look: Look) -> Component:
    return html.Section(
        [html.H2("What next"), verdict.next_steps(judged.verdict), _ask(judged, look)], className="card"
    )


def _ask(judged: Judged, look: Look) -> Component:
    """This path, then a step of one's own: links for the known ones, a form for any other."""
    known = [
        html.Li(dcc.Link(tokens.signature(step.signature), href=_asking(look, step.signature)))
        for step in judged.verdict.next_steps[:6]
    ]
    hidden = {"run": look.run} | urls.window_query(look.window)
    fields = [dcc.Input(type="hidden", name=name, value=value) for name, value in hidden.items()]
    box = dcc.Input(
        id=ids.NEXT, type="text", name="next", value=look.next, placeholder="tool:name", autoComplete="off"
    )
    label = html.Label("If it went on with", htmlFor=ids.NEXT)
    form = html.Form(
        [label, *fields, box, html.Button("Judge", type="submit", className="button")],
        action=urls.RUN,
        method="get",
    )
    return html.Div([form, html.Ul(known, className="facts")] if known else [form], className="ask")


def _asking(look: Look, signature: str) -> str:
    return urls.run_url(look._replace(next=signature))
