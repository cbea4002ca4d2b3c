"""What a map's predictions have been worth."""

from __future__ import annotations

from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from dashboard import figures, urls
from dashboard.components import charts, choices, counted, states, words
from dashboard.service import Page, Service
from dashboard.urls import Look
from engine.builder import Failed, Ready
from engine.calibration import BINS, STEPS, Calibration, DepthSkill, Reliability, agreement, sentence
from engine.listing import Filters


def layout(service: Service, look: Look) -> Page:
    """The scores as far as they are computed."""
    title = f"{look.agent} · calibration"
    answer = service.maps.calibration(look.cohort(service.tenant)._replace(view="all"))
    if isinstance(answer, Failed):
        return Page(title, states.absent(look.agent, answer), stamp="failed")
    if not isinstance(answer, Ready):
        waiting = states.building(f"the calibration of {look.agent}")
        return Page(title, waiting, waiting=True, stamp="building", agent=look.agent)
    return Page(title, _body(answer.value, look), stamp=str(answer.built_ns), agent=look.agent)


def register(app: Dash, service: Service) -> None:
    """This page's chart draws itself (:mod:`dashboard.components.charts`)."""


def _body(calibration: Calibration, look: Look) -> Component:
    head = html.Div(
        [
            html.H1(f"How far to trust the map of {look.agent}", className="clip"),
            html.Span(words.window(look.window), className="dim"),
            html.Div(choices.windows(look, urls.CALIBRATION), className="switches"),
        ],
        className="page-head",
    )
    complaint = [states.notice(look.complaint)] if look.complaint else []
    parts = [
        head,
        *complaint,
        html.P(sentence(calibration), className="headline"),
        html.P(_HOW, className="dim"),
    ]
    if calibration.predicted:
        parts.append(html.Div([_plot(calibration), _depths(calibration, look)], className="columns"))
    return html.Div(parts, className="calibration-page")


_HOW = (
    f"Every completed run is predicted after {', '.join(map(str, STEPS[:-1]))} and {STEPS[-1]} steps from "
    "the half of the runs it is not in, by what it had done until then. The Brier score is the mean squared "
    "error of predictions: 0 is perfect. Skill compares it with always saying the average: above 0 the map "
    "knows more."
)


_INTERVALS = (
    "Points on the dashed line are predictions that came true as often as they said. One run is predicted "
    f"up to {len(STEPS)} times, so the intervals are narrower than independent runs would make them."
)


def _plot(calibration: Calibration) -> Component:
    drawn = figures.themed(figures.reliability, calibration.reliability)
    text = "Observed against predicted success; the table below holds the same figures."
    return html.Section(
        [
            html.H2("Does 70% mean 70%?"),
            html.P(agreement(calibration)),
            html.P(_INTERVALS, className="dim"),
            charts.chart(drawn, text),
            _bins(calibration.reliability),
        ],
        className="card",
    )


def _table(caption: str, heads: list[str], rows: list[list[Any]]) -> Component:
    return html.Table(
        [
            html.Caption(caption),
            html.Thead(html.Tr([html.Th(text, scope="col", className="number") for text in heads])),
            html.Tbody([html.Tr([html.Td(text, className="number") for text in row]) for row in rows]),
        ],
        className="rates",
    )


def _bins(bins: tuple[Reliability, ...]) -> Component:
    rows = [
        [
            f"{100 * each.low:.0f}–{100 * each.high:.0f}%",
            f"{each.support:,}",
            words.percent(each.predicted_mean),
            words.percent(each.observed),
            words.interval(each.wilson_low, each.wilson_high),
        ]
        for each in bins
        if each.support
    ]
    heads = ["Predicted", "Predictions", "Mean", "Observed", "95% interval"]
    return _table(f"Predicted and observed success; of {BINS} bins, those with a prediction", heads, rows)


def _depths(calibration: Calibration, look: Look) -> Component:
    whole = DepthSkill(0, *calibration[:4])
    rows = [_depth(str(each.steps), each, look) for each in calibration.depths if each.predicted]
    heads = ["After steps", "Predictions", "Brier", "Average's", "Skill"]
    table = _table("Skill by how much of the run was known", heads, [*rows, _depth("all", whole, look)])
    return html.Section([html.H2("How early does it know?"), table], className="card")


def _depth(label: str, each: DepthSkill, look: Look) -> list[Any]:
    """The scores after so many steps; one prediction is made of each run that took as many."""
    scores = [words.score(each.brier), words.score(each.baseline_brier), words.percent(each.skill)]
    runs = Filters(outcome="completed", steps=each.steps)
    text = f"{each.predicted:,}"
    made = counted.runs(text, look._replace(view="all"), runs) if each.steps else text
    return [label, made, *scores]
