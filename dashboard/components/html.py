"""Dash's elements of HTML and its links, made in a tenth of the time.

Dash asks ten questions about each argument of each element: half of what a page of a thousand takes. Here
only one is asked, whether there is such a property; for the rest they are Dash's own.

>>> import dashboard.components.html as quick
>>> quick.Td("a", className="number", **{"data-key": "b"})
Td(children='a', className='number', data-key='b')
>>> quick.Td("a", colour="red")
Traceback (most recent call last):
TypeError: Td has no 'colour'
"""

from __future__ import annotations

from collections.abc import Callable
from types import new_class
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

_OF_DASH = (
    "_prop_names",
    "_valid_wildcard_attributes",
    "available_properties",
    "available_wildcard_properties",
)
_WILD = ("data-", "aria-")


class _Quick:
    """What takes the place of an element's own beginning."""

    _known: frozenset[str]

    def __init__(self, children: Any = None, **props: Any) -> None:
        for name in props:
            if name not in self._known and not name.startswith(_WILD):
                raise TypeError(f"{type(self).__name__} has no {name!r}")
        if children is not None:
            props["children"] = children
        vars(self).update(props)


def _quick(plain: Any) -> Callable[..., Component]:
    """An element's kind, made quickly; Dash, which keeps a list of kinds, finds the same in it."""
    kind = type(plain)
    own = {name: getattr(plain, name) for name in _OF_DASH} | {"_known": frozenset(plain._prop_names)}
    own |= {name: getattr(kind, name) for name in ("__module__", "_namespace", "_children_props")}
    return new_class(kind.__name__, (_Quick, kind), {}, lambda names: names.update(own))


def __getattr__(name: str) -> Callable[..., Component]:
    """An element by its name in ``dash.html``, or ``Link``, which is that of ``dash.dcc``."""
    if not name[0].isupper():
        raise AttributeError(name)
    made = globals()[name] = _quick(dcc.Link(href="") if name == "Link" else getattr(html, name)())
    return made
