"""A chart with its words: the figure follows the browser's theme, the text is always there."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from dashboard import ids
from dashboard.components.access import aria


def chart(figures: dict[str, Any], text: str) -> Component:
    """A figure in both themes.

    Parameters
    ----------
    figures : dict
        Theme name to figure, as :func:`dashboard.figures.themed` makes them.
    text : str
        What the figure shows, for those who do not see it.
    """
    graph = dcc.Graph(
        id=ids.GRAPH, config={"displayModeBar": False, "responsive": True}, style={"height": "300px"}
    )
    return html.Div(
        [dcc.Store(id=ids.FIGURES, data=figures), html.Div(graph, role="img", **aria(label=text))],
        className="chart",
    )


def register(app: Dash) -> None:
    """Draw the figure of the theme, now and whenever the theme changes."""
    app.clientside_callback(
        ClientsideFunction("forkmap", "figure"),
        Output(ids.GRAPH, "figure"),
        Input(ids.FIGURES, "data"),
        Input(ids.THEME, "data"),
    )
