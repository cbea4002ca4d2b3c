"""What a map's predictions have been worth."""

from __future__ import annotations

from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from dashboard import figures, urls
from dashboard.components import charts, choices, counted, narrowing, states, words
from dashboard.components.access import aria
from dashboard.components.elsewhere import elsewhere
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine import queries
from engine.builder import Failed, Ready
from engine.calibration import (
    BINS,
    STEPS,
    Calibration,
    DepthSkill,
    Reliability,
    agreement,
    backoff_sentence,
    is_off,
    onset,
    sentence,
)
from engine.listing import Filters
from engine.narrowing import PICKED_BY_OUTCOME, asks_how_runs_ended


def layout(service: Service, look: Look) -> Page:
    """The scores as far as they are computed."""
    title = f"{look.agent} · calibration"
    if look.typed:
        refused = narrowing.refused(look, urls.CALIBRATION, f"How far to trust the map of {look.agent}")
        return Page(title, refused, stamp=f"refused {look.typed}", agent=look.agent)
    answer = service.maps.calibration(look.cohort(service.tenant)._replace(view="all"))
    if isinstance(answer, Failed):
        return Page(title, narrowing.failed(look, urls.CALIBRATION, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"the calibration of {look.agent}", answer)
        stamp = f"building {states.seconds(answer)}"
        return Page(title, waiting, waiting=True, stamp=stamp, agent=look.agent)
    body = _body(service, answer, look)
    stamp = f"{answer.built_ns} {answer.stale}"
    return Page(title, body, stamp=stamp, agent=look.agent, refresh_s=1.0 if answer.stale else 30.0)


def register(app: Dash, service: Service) -> None:
    """This page's chart draws itself (:mod:`dashboard.components.charts`)."""


def _body(service: Service, answer: Ready[Calibration], look: Look) -> Component:
    calibration = answer.value
    newer = [html.Span("a newer one is being built", className="dim")] if answer.stale else []
    head = html.Div(
        [
            html.H1(f"How far to trust the map of {look.agent}", className="clip"),
            html.Span(words.window(look.window), className="dim"),
            *newer,
            html.Div(choices.windows(look, urls.CALIBRATION), className="switches"),
        ],
        className="page-head",
    )
    picked = PICKED_BY_OUTCOME if asks_how_runs_ended(look.where) else ""
    notices = [states.notice(text) for text in (look.complaint, picked) if text]
    rest = _scores(calibration, look) if calibration.predicted else [_nothing(service, look)]
    field = narrowing.field(look, urls.CALIBRATION)
    return html.Div([head, field, *notices, _verdict(calibration), *rest], className="calibration-page")


def _verdict(calibration: Calibration) -> Component:
    """Whether the predictions are worth anything."""
    skill = calibration.skill
    if skill is None:
        text, look = "Nothing to tell yet" if not calibration.predicted else "Nothing to be better at", ""
    elif skill > 0:
        text, look = f"Better than assuming the average, by {words.percent(skill)}", " verdict-on-track"
        if any(is_off(each) for each in calibration.reliability):
            text, look = f"{text}, but not all of its percentages come true", ""
    else:
        text, look = "No better than assuming the average", " verdict-likely-failure"
    said = " ".join(part for part in (sentence(calibration), onset(calibration)) if part)
    more = [html.P(order)] if (order := backoff_sentence(calibration)) else []
    return html.Section([html.H2(text), html.P(said), *more], className=f"card verdict{look}")


def _nothing(service: Service, look: Look) -> Component:
    """What to look at instead."""
    now_ns = service.now_ns()
    held = queries.in_windows(service.store, service.tenant, look.agent, choices.PRESETS, now_ns)
    return html.Section(elsewhere(held, look, now_ns, urls.calibration_url), className="card state")


def _scores(calibration: Calibration, look: Look) -> list[Component]:
    tables = html.Div([_depths(calibration, look), _bins(calibration.reliability)])
    return [
        html.P(_HOW, className="dim"),
        html.Div([_plot(calibration), tables], className="columns"),
    ]


_HOW = (
    f"Every completed run is predicted after {', '.join(map(str, STEPS[:-1]))} and {STEPS[-1]} steps from "
    "the half of the runs it is not in, by what it had done until then. The Brier score is the mean squared "
    "error of predictions: 0 is perfect. Skill compares it with always saying the average: above 0 the map "
    "knows more."
)


_INTERVALS = (
    "Points on the dashed line are predictions that came true as often as they said; an orange one did not, "
    "even allowing for chance. Beside each stands how many predictions it is made of. One run is predicted "
    f"up to {len(STEPS)} times, so the intervals are narrower than independent runs would make them."
)


def _plot(calibration: Calibration) -> Component:
    drawn = figures.themed(figures.reliability, calibration.reliability)
    text = "Observed against predicted success; the table of predicted and observed success has the figures."
    return html.Section(
        [
            html.H2("Does 70% mean 70%?"),
            html.P(agreement(calibration)),
            charts.chart(drawn, text),
            html.P(_INTERVALS, className="dim small"),
        ],
        className="card",
    )


def _table(caption: str, heads: list[str], rows: list[Component]) -> Component:
    return html.Table(
        [
            html.Caption(caption),
            html.Thead(html.Tr([html.Th(text, scope="col", className="number") for text in heads])),
            html.Tbody(rows),
        ],
        className="rates",
    )


def _row(cells: list[Any], look: str = "") -> Component:
    return html.Tr([html.Td(cell, className="number") for cell in cells], className=look)


def _bins(bins: tuple[Reliability, ...]) -> Component:
    heads = ["Predicted", "Predictions", "Mean", "Observed", "95% interval"]
    caption = f"Of {BINS} bins, those with a prediction; marked where the interval misses the mean"
    table = _table(caption, heads, [_bin(each) for each in bins if each.support])
    return html.Section([html.H2("Predicted and observed success"), table], className="card")


def _bin(each: Reliability) -> Component:
    cells = [
        f"{100 * each.low:.0f}–{100 * each.high:.0f}%",
        f"{each.support:,}",
        words.percent(each.predicted_mean),
        words.percent(each.observed),
        words.interval(each.wilson_low, each.wilson_high),
    ]
    return _row(cells, "marked" if is_off(each) else "")


def _depths(calibration: Calibration, look: Look) -> Component:
    whole = DepthSkill(0, *calibration[:4])
    rows = [_depth(str(each.steps), each, look) for each in calibration.depths if each.predicted]
    heads = ["After steps", "Predictions", "Brier", "Average's", "Skill", "0–100%"]
    estimated = whole._replace(brier=calibration.backoff.brier, skill=calibration.backoff.skill)
    rows += [_depth("all", whole, look), _depth("all, by back-off", estimated, look)]
    table = _table("Skill by how much of the run was known", heads, rows)
    return html.Section([html.H2("How early does it know?"), table], className="card")


def _depth(label: str, each: DepthSkill, look: Look) -> Component:
    """The scores after so many steps; one prediction is made of each run that took as many."""
    scores = [words.score(each.brier), words.score(each.baseline_brier), words.percent(each.skill)]
    runs = Filters(outcome="completed", steps=each.steps)
    text = f"{each.predicted:,}"
    made = counted.runs(text, look._replace(view="all"), runs) if each.steps else text
    return _row([label, made, *scores, _skill(each.skill)])


def _skill(skill: float | None) -> Component:
    """The skill as a bar; its text stands beside it."""
    width = {"width": f"{100 * min(1.0, abs(skill or 0.0)):.1f}%"}
    shade = "tone2" if (skill or 0.0) > 0 else "tone-2"
    return html.Span(html.I(style=width), className=f"skill {shade}", **aria(hidden="true"))
