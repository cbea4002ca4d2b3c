"""The figures of the pages: what is drawn, and that Plotly knows every word of it."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from dashboard import figures
from dashboard.figures import THEMES
from dashboard.theme import Theme, palette
from engine.calibration import Reliability
from engine.paths import Token
from engine.verdicts import Odds

DEPTHS = [
    Odds(Token("llm:m", 0), 180, 98, 98 / 180, 0.472, 0.616),
    Odds(Token("tool:s", 2), 50, 5, 0.1, 0.043, 0.214),
    Odds(Token("tool:x", 0), 0, 0, None, 0.0, 1.0),
]
BINS = [
    Reliability(0.0, 0.1, 0.08, 0.5, 40, 0.35, 0.65),
    Reliability(0.1, 0.2, 0.11, 0.1, 90, 0.05, 0.18),
    Reliability(0.2, 0.3, None, None, 0, 0.0, 1.0),
]


@pytest.mark.parametrize("theme", THEMES)
def test_plotly_knows_every_property(theme: Theme) -> None:
    for figure in (
        figures.odds(theme, DEPTHS, 0.544, 2),
        figures.odds(theme, [], None, None),
        figures.reliability(theme, BINS),
    ):
        go.Figure(figure)


@pytest.mark.parametrize("theme", THEMES)
def test_odds_are_drawn_as_far_as_runs_went_with_the_base_rate_and_the_fall(theme: Theme) -> None:
    figure = figures.odds(theme, DEPTHS, 0.544, 2)
    (line,) = figure["data"]
    colours = palette(theme)
    assert (line["x"], line["y"]) == ([1, 2], [pytest.approx(54.44, abs=0.01), 10.0])
    assert line["marker"]["color"] == [colours.marks[3], colours.marks[0]]
    assert line["error_y"]["array"] == [pytest.approx(7.156, abs=0.01), pytest.approx(11.4)]
    assert line["text"] == ["llm:m: 98 of 180", "tool:s×3-5: 5 of 50"]
    base, fall = figure["layout"]["shapes"]
    assert (base["xref"], base["y0"], base["y1"]) == ("x domain", 54.400000000000006, 54.400000000000006)
    assert (fall["yref"], fall["x0"], fall["x1"]) == ("y domain", 2, 2)
    assert figures.odds(theme, DEPTHS, None, None)["layout"]["shapes"] == []


def test_reliability_is_drawn_where_something_was_predicted_and_what_misses_stands_out() -> None:
    equal, points = figures.reliability("light", BINS)["data"]
    marks = palette("light").marks
    assert (equal["x"], equal["y"]) == ([0, 100], [0, 100])
    assert (points["x"], points["y"]) == ([8.0, 11.0], [50.0, 10.0])
    assert points["marker"]["color"] == [marks[1], marks[5]]
    assert (points["text"], points["textposition"]) == ([" 40 ", " 90 "], ["middle left", "middle right"])


def test_each_theme_has_its_figure() -> None:
    drawn = figures.themed(figures.odds, DEPTHS, 0.5, None)
    assert [*drawn] == ["light", "dark"]
    assert drawn["dark"] == figures.odds("dark", DEPTHS, 0.5, None)
