"""One run: the verdict, its path, what to do next, what the fuses say, and every step it took."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import figures, urls
from dashboard.components import (
    answers,
    charts,
    decided,
    named,
    outcome,
    run_head,
    same_ticket,
    states,
    steps,
    strip,
    verdict,
    what_next,
    words,
)
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.answering import answers as answers_now
from engine.answering import answers_before_calls
from engine.builder import Failed, Ready
from engine.decisions.beside import beside
from engine.decisions.reading import read
from engine.errors import UnknownRunError, UnknownStepError
from engine.fuses import ask
from engine.keys import Role
from engine.live import so_far
from engine.maps import BehaviourMap
from engine.queries import Judged
from engine.runs import ALL_TIME, Cohort, Outcome, Run
from engine.spans import Span
from engine.store import MAX_NUMBER, Lines, RunRow

DECIDING_SPANS = 20_000
"""Spans read of a run that tells of its decisions."""
FIRINGS = 1_000
"""Lines of the ledger that are counted."""
REFRESH_S = 5.0
"""How often the page of a live run asks again."""

_ENDED = {
    Outcome.SUCCESS: "a success",
    Outcome.FAILURE: "a failure",
    Outcome.ABANDONED: "an abandoned run",
}


def layout(service: Service, look: Look) -> Page:
    """The run, judged by its agent's map as soon as that is built."""
    try:
        run = queries.named_run(service.store, service.tenant, look.run, service.now_ns())
    except UnknownRunError:
        return _not_one(service, look.run)
    title = f"{run.run_id} · run"
    answer = service.maps.get(queries.cohort_of(run, service.tenant, look.window))
    if isinstance(answer, Failed):
        failed = states.message("The run could not be judged", answer.sentence)
        return Page(title, failed, stamp="failed", agent=run.agent)
    if not isinstance(answer, Ready):
        waiting = states.building(f"the map of {run.agent}, to judge this run by", answer)
        return Page(title, waiting, waiting=True, stamp="building", agent=run.agent)
    return _judged_page(service, run, answer, look)._replace(title=title, agent=run.agent)


def _not_one(service: Service, text: str) -> Page:
    """What there is where a text names no run, or several."""
    now_ns = service.now_ns()
    found = queries.find(service.store, service.tenant, text, now_ns)
    if found.run_ids:
        known = queries.named(service.store, service.tenant, found.run_ids[: named.SHOWN], now_ns)
        comparable = len(service.store.runs_of_ticket(service.tenant, found.name, now_ns, 2)) > 1
        said = named.several(found, known, [], comparable, now_ns)
        return Page("Several runs", said, stamp=str(len(known)))
    near = queries.near(service.store, service.tenant, text, now_ns)
    return Page("No such run", named.nothing(text, near, service.caller(), now_ns), stamp="unknown")


def _judged_page(service: Service, run: Run, answer: Ready[BehaviourMap], look: Look) -> Page:
    now_ns, behaviour = service.now_ns(), answer.value
    judged, complaint = _judged(behaviour, run, now_ns, look)
    declared, counted = service.store.declarations(service.tenant, run.run_id), _counted(behaviour, run)
    follows = counted not in (None, run.outcome)
    if follows:
        service.maps.renew(service.tenant, run.agent)
    may_say = service.caller().may(Role.ADMIN)
    others, (fuses, unasked) = _others(service, run), _fuses(service, judged, look)
    left = [
        what_next.card(judged, look),
        fuses,
        outcome.card(run, declared, counted, look, now_ns, may_say),
    ]
    right = [_odds(judged), *([same_ticket.card(run, others, look, now_ns)] if others else [])]
    body = html.Div(
        [
            run_head.head(run, look, now_ns),
            *[states.notice(text) for text in (look.complaint, complaint) if text],
            *_wider(judged, look),
            verdict.banner(judged.verdict, behaviour, look),
            _path(judged, behaviour, look, now_ns),
            *([verdict.asked(judged.asked, behaviour, look)] if judged.asked else []),
            html.Div([html.Div(left), html.Div(right)], className="columns"),
            _steps(run, _spans(service, run)),
        ],
        className="run-page",
    )
    live = judged.verdict.live
    seen = (answer.built_ns, run, live, declared, others, fuses.to_plotly_json(), _age(run, live, now_ns))
    return Page("", body, follows or unasked, _stamp(seen), refresh_s=REFRESH_S if live else 0.0)


def _stamp(seen: object) -> str:
    return blake2b(repr(seen).encode(errors="replace"), digest_size=12).hexdigest()


def _age(run: Run, live: bool, now_ns: int) -> str:
    """How long ago the run began, as the page of a live one says it."""
    return words.ago(run.start_ns, now_ns) if live else ""


def _counted(behaviour: BehaviourMap, run: Run) -> Outcome | None:
    """As what the map counts the run, if it does."""
    member = behaviour.member(run.run_id)
    return None if member is None else Outcome(int(behaviour.member_outcome[member]))


def _others(service: Service, run: Run) -> list[RunRow]:
    """Other runs of its ticket, newest first."""
    if not run.ticket:
        return []
    limit = same_ticket.READ + 2
    rows = service.store.runs_of_ticket(service.tenant, run.ticket, service.now_ns(), limit)
    return [row for row in rows if row.run_id != run.run_id]


def _fuses(service: Service, judged: Judged, look: Look) -> tuple[Component, bool]:
    """What each fuse says of the run; and whether the map they go by is still to come."""
    run, live = judged.run, judged.verdict.live
    every = service.store.policies(service.tenant)
    its = [policy for policy in every if policy.agent in (None, run.agent)]
    lines = Lines(run_id=run.run_id)
    firings = len(service.store.firings(service.tenant, service.now_ns(), MAX_NUMBER, FIRINGS, lines))
    if not its:
        return answers.card(run, answers.Shown((), len(every), live, "allow", firings)), False
    cohort = Cohort(service.tenant, run.agent)
    found = service.maps.index(cohort)
    if found is None:
        failed = isinstance(service.maps.get(cohort), Failed)
        why = "could not be built" if failed else "is being built"
        return answers.unasked(f"The map of the last 30 days, which fuses go by, {why}."), not failed
    if not live:
        before = answers_before_calls(found[1], run, its)
        return answers.card(run, answers.Shown(before, len(every), live, "allow", firings)), False
    step = judged.asked.path[-1].signature if judged.asked else None
    flight = so_far(run.run_id, run.agent, (each.signature for each in run.steps), run.last_ns)
    action, now = ask(found[1], flight, its, step).action, answers_now(found[1], flight, its, step)
    return answers.card(run, answers.Shown(now, len(every), live, action, firings, step)), False


def _wider(judged: Judged, look: Look) -> list[Component]:
    """The way to a judgement where the window holds no other run to judge by."""
    if judged.verdict.base_rate is not None or look.window == ALL_TIME:
        return []
    none = f"No other run of {judged.run.agent} completed in this window ({words.window(look.window)}). "
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


def _path(judged: Judged, behaviour: BehaviourMap, look: Look, now_ns: int) -> Component:
    """The path, where its odds fell most, and the way to what to compare it with."""
    fall = [html.P(verdict.fall_in_words(judged.verdict))] if judged.verdict.depths else []
    return html.Section(
        [
            html.H2("Path"),
            *fall,
            strip.strip(judged, behaviour, look, now_ns),
            *_compared(judged, behaviour),
        ],
        className="card path",
    )


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


def _odds(judged: Judged) -> Component:
    found = judged.verdict
    head = html.H2("Odds along its path")
    if not found.depths:
        return html.Section([head, html.P("It took no step.")], className="card")
    fall = verdict.fall_in_words(found)
    shown = found.depths[: verdict.known_depths(found)]
    drawn = figures.themed(figures.odds, shown, found.base_rate, found.fell_most)
    told = html.Details([html.Summary("Its figures, step by step"), verdict.depths(found)])
    return html.Section(
        [head, charts.chart(drawn, f"Success rate at each step. {fall}"), told], className="card"
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
    body = [html.H2("Steps"), *steps.assumed(sent), *told, steps.steps(run, found, sent), steps.spans(sent)]
    return html.Section(body, className="card")
