"""What becomes one component, and what stays one of Dash's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from dash import dcc, html

from dashboard import ids
from dashboard.components.access import aria, data
from dashboard.components.markup import lean, written

TABLE = html.Table([html.Tr([html.Td("a"), html.Td(dcc.Link("b", href="/"))])])


def shape(part: object) -> object:
    """A page as plain values."""
    found = getattr(part, "to_plotly_json", None)
    if isinstance(part, (list, tuple)):
        return [shape(each) for each in part]
    if isinstance(part, dict):
        return {name: shape(value) for name, value in part.items()}
    return part if found is None else shape(found())


def test_what_only_stands_there_is_one_component() -> None:
    assert shape(lean(TABLE)) == {
        "type": "Markup",
        "namespace": "forkmap",
        "props": {"tree": shape(TABLE)},
    }


def test_neighbours_of_a_field_are_one_each_and_text_stays_text() -> None:
    field = dcc.Input(id=ids.NEXT)
    made = lean(html.Div([html.H1("a"), "b", TABLE, field, "c", html.P("d")], className="page"))
    assert [type(each).__name__ for each in made.children] == ["Markup", "Input", "Markup"]
    assert made.className == "page"
    assert shape(made.children[0].tree) == shape([html.H1("a"), "b", TABLE])
    assert shape(lean(html.P(["only ", field])).children) == shape(["only ", field])


@pytest.mark.parametrize("name", [ids.NODE_PANEL, {"type": "any", "place": 1}])
def test_what_a_callback_speaks_of_stays_itself(name: str | dict[Any, Any]) -> None:
    made = lean(html.Div(html.P("a"), id=name))
    assert (type(made).__name__, made.id, type(made.children).__name__) == ("Div", name, "Markup")


def test_other_ids_are_for_labels_and_links() -> None:
    assert type(lean(html.Select(html.Option("a"), id="live-agent"))).__name__ == "Markup"


def test_the_page_itself_is_left_as_it_was() -> None:
    page = html.Div([html.P("a"), dcc.Input(id=ids.NEXT)])
    before = shape(page)
    lean(page)
    assert shape(page) == before


@pytest.mark.parametrize("nothing", [None, "text", [], ["a", "b"], 3])
def test_text_needs_no_component(nothing: object) -> None:
    assert lean(nothing) == nothing


def test_a_page_is_written_as_dash_would_write_it() -> None:
    page = html.Div(
        [TABLE, dcc.Input(id=ids.NEXT, value="<b>é"), html.Td("3", colSpan=2, **data(key="a"))],
        title=None,
        style={"width": np.float64(0.5)},
        **aria(label="all"),
    )
    assert json.loads(written({"body": page})) == json.loads(json.dumps({"body": shape(page)}, default=float))
