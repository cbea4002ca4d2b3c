"""What of a page only stands there is drawn by one component, and not by one for each of its elements.

Dash keeps every component in its store and asks each about every change; a table of fifty runs is a
thousand of them. Elements that no callback speaks of are text and links: one ``Markup`` draws them all
(``assets/markup.js``), and where they change React changes as much of them as differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from itertools import groupby
from typing import Any

import msgspec
from dash.development.base_component import Component

from dashboard import ids
from dashboard.components.scripted import Scripted

HTML, LINK = "dash_html_components", "Link"
_OF_DASH = frozenset({"available_properties", "available_wildcard_properties"})
_SPOKEN_OF = frozenset(value for name, value in vars(ids).items() if name.isupper())


class Markup(Scripted):
    """Elements that only stand there.

    Parameters
    ----------
    tree : component or list
        Elements of ``dash.html``, links and text.
    """

    _type = "Markup"
    _props = ("tree",)

    def __init__(self, tree: Any) -> None:
        super().__init__()
        self.tree = tree  # Dash lets nobody hand over components but as children, which it would keep.


def lean(part: Any) -> Any:
    """The same page with a component for whatever only stands there, and those that callbacks speak of.

    >>> from dash import dcc, html
    >>> lean(html.P([html.B("a"), "b"]))
    Markup(tree=P([B('a'), 'b']))
    >>> lean(html.Div([html.B("a"), "b", dcc.Input(id="next-step")]))
    Div([Markup(tree=[B('a'), 'b']), Input(id='next-step')])
    """
    if _stands(part):
        return _drawn(part)
    if isinstance(part, (list, tuple)):
        groups = groupby(part, key=_stands)
        return [
            each for still, group in groups for each in (_together([*group]) if still else map(lean, group))
        ]
    made = copy(part)
    inside = getattr(part, "children", None)
    if inside is not None:
        made.children = lean(inside)
    return made


def written(body: dict[str, Any]) -> str:
    """A page as JSON in a text: Dash, which would look into each part of it, hands it on as it is.

    >>> written({"body": "a"})
    '{"body":"a"}'
    """
    return msgspec.json.encode(body, enc_hook=_plain).decode()


def _plain(part: Any) -> Any:
    """A component as the values that it is, in a third of Dash's time; a figure of NumPy as a number."""
    if not isinstance(part, Component):
        return part.item()
    props = {name: value for name, value in vars(part).items() if name[0] != "_" and name not in _OF_DASH}
    return {"props": props, "type": part._type, "namespace": part._namespace}


def _stands(part: Any) -> bool:
    """Whether a part only stands there, with whatever is in it."""
    if part is None or isinstance(part, str):
        return True
    if isinstance(part, (list, tuple)):
        return all(map(_stands, part))
    return not isinstance(part, Component) or (_is_plain(part) and _stands(getattr(part, "children", None)))


def _together(parts: list[Any]) -> Iterable[Any]:
    """Neighbours that only stand there, as one."""
    drawn = _drawn(parts)
    return drawn if isinstance(drawn, list) else [drawn]


def _drawn(part: Any) -> Any:
    """The component that draws a part; text needs none."""
    holds = any(isinstance(each, Component) for each in (part if isinstance(part, (list, tuple)) else [part]))
    return Markup(part) if holds else part


def _is_plain(part: Component) -> bool:
    """Whether an element is one that no callback speaks of."""
    known = getattr(part, "id", None)
    kind = part._namespace == HTML or part._type == LINK
    return kind and (known is None or (isinstance(known, str) and known not in _SPOKEN_OF))
