"""What a fuse would have done to the runs that are over, at every odds; and arming it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard import figures, urls
from dashboard.components import backtest_form, backtesting, charts, choices, practice, states, words
from dashboard.components.elsewhere import elsewhere
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.backtest import Point, Trials, Tried, promises
from engine.builder import Failed, Ready
from engine.fuses import Policy
from engine.keys import Role
from engine.questions import Questions
from engine.runs import ALL_TIME, Cohort
from engine.store import Lines, Tally

TITLE = "Backtest a fuse"


def layout(service: Service, look: Look) -> Page:
    """The backtest as far as its runs are read; without an agent, whose runs there are."""
    agents = [each.agent for each in service.store.agents(service.tenant, ALL_TIME, service.now_ns())]
    if not look.agent:
        return Page(TITLE, _whose(agents, look), stamp=repr(agents))
    title = f"{look.agent} · backtest"
    cohort = Cohort(service.tenant, look.agent, look.window)
    answer = service.maps.questions(cohort)
    if isinstance(answer, Failed):
        return Page(title, states.absent(look.agent, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"the backtest of {look.agent}", answer)
        stamp = f"building {states.seconds(answer)}"
        return Page(title, waiting, waiting=True, stamp=stamp, agent=look.agent)
    policies = service.store.policies(service.tenant)
    tallies = service.store.tally(service.tenant, service.now_ns(), Lines(agent=look.agent))
    stamp = f"{answer.built_ns} {answer.stale} {policies} {tallies}"
    asked, trials = answer.value, service.trials(cohort, answer)
    some = asked.steps.size > 0
    rest = _tried(service, trials, look, policies, tallies) if some else [_nothing(service, look)]
    form = html.Section([html.H2("What is tried"), backtest_form.form(look, agents)], className="card")
    notices = [states.notice(text) for text in (look.complaint, _bounded(asked)) if text]
    body = html.Div(
        [_head(look, answer.stale), *notices, *rest[:1], form, *rest[1:]],
        className="fuses-page backtest-page",
    )
    return Page(title, body, stamp=stamp, agent=look.agent, refresh_s=1.0 if answer.stale else 30.0)


def register(app: Dash, service: Service) -> None:
    """Its forms ask by themselves, and its chart draws itself."""


def _whose(agents: Sequence[str], look: Look) -> Component:
    links = [html.Li(dcc.Link(name, href=urls.backtest_url(look._replace(agent=name)))) for name in agents]
    said = "A fuse is tried on the runs of one agent that are over. Whose?"
    return html.Section(
        [
            html.H1(TITLE),
            html.P(said if links else "No run is in this store yet."),
            html.Ul(links, className="held"),
        ],
        className="card state",
    )


def _head(look: Look, stale: bool) -> Component:
    newer = [html.Span("a newer one is being built", className="dim")] if stale else []
    parts = [
        html.H1(f"What a fuse would have done to {look.agent}", className="clip"),
        html.Span(words.window(look.window), className="dim"),
        *newer,
        dcc.Link("All policies", href=urls.fuses_url()),
        html.Div(choices.windows(look, urls.BACKTEST), className="switches"),
    ]
    return html.Div(parts, className="page-head")


def _bounded(asked: Questions) -> str:
    if not asked.bounded:
        return ""
    return (
        "The map of these runs has more branches than are kept: where the rarest are dropped, a fuse says "
        "nothing. So it may stop fewer than is told here."
    )


def _nothing(service: Service, look: Look) -> Component:
    now_ns = service.now_ns()
    held = queries.in_windows(service.store, service.tenant, look.agent, choices.PRESETS, now_ns)
    said = [html.P("No run of it is over in this window."), *elsewhere(held, look, now_ns, urls.backtest_url)]
    return html.Section(said, className="card state")


def _tried(
    service: Service, trials: Trials, look: Look, every: Sequence[Policy], tallies: Sequence[Tally]
) -> list[Component]:
    """What came of it, at which odds; the form that arms it; and what policies promised."""
    found = trials.tried(look.fuse, look.cost, look.odds)
    said = [
        html.P(backtesting.advice(found.best, look.cost)),
        html.P(backtesting.checked(found.held, found.found.runs // 2), className="soft"),
        html.P(backtesting.judged(look.fuse, found.found), className="dim"),
    ]
    table = backtesting.table(found.found, look, found.chosen)
    kept = promises(trials, look.agent, every, look.fuse.earlier)
    return [
        html.Section([*_verdict(found), *said], className="card", role="status"),
        html.Div([_plot(found), _arm(service, look, found.chosen, every)], className="columns"),
        html.Section([html.H2("At every odds"), *table], className="card"),
        practice.section(kept, tallies, look),
    ]


def _verdict(tried: Tried) -> list[Component]:
    chosen = tried.chosen
    if chosen is None:
        return [html.H2("No odds are worth it")]
    saved = backtesting.saved(chosen)
    return [
        html.H2(f"With odds {backtesting.below(chosen)}"),
        html.P(backtesting.done(tried.found, chosen), className="headline"),
        *([html.P(saved)] if saved else []),
    ]


def _plot(tried: Tried) -> Component:
    drawn = figures.themed(figures.stopped, tried.found, tried.chosen and tried.chosen.odds)
    text = "Share of runs stopped rightly and wrongly at every odds; the table at every odds has the figures."
    return html.Section(
        [html.H2("How many it would have stopped"), charts.chart(drawn, text)], className="card"
    )


def _arm(service: Service, look: Look, chosen: Point | None, every: Sequence[Policy]) -> Component:
    """The form that sets a policy as it was tried, for those who may; or why there is none."""
    policy = next((each for each in every if each.name == look.policy), None) if look.policy else None
    parts: list[Any] = [html.H2("Arm it")]
    if chosen is None:
        parts.append(html.P("Choose odds first: no odds are recommended."))
    elif not service.caller().may(Role.ADMIN):
        parts.append(html.P("Changing policies takes an admin key.", className="dim"))
    else:
        whose = look.agent if policy is None else policy.agent or "every agent"
        fuse = look.fuse
        terms = (
            f"{words.count(fuse.min_support, 'earlier run')}, after {words.count(fuse.after_steps, 'step')}"
        )
        parts.append(
            html.P(f"For runs of {words.quoted(whose)}, odds {backtesting.below(chosen)}, at least {terms}.")
        )
        parts.append(backtest_form.arm(look, chosen, policy))
    return html.Section(parts, className="card")
