"""Components that plain scripts draw: there is no build step, React comes from Dash."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component


class Scripted(Component):
    """A component whose script lies in ``assets/`` under ``window.forkmap``."""

    _namespace = "forkmap"
    _children_props = []  # noqa: RUF012 (Dash's own declaration)
    _props: tuple[str, ...] = ()

    def __init__(self, **props: Any) -> None:
        self._prop_names = self.available_properties = list(self._props)
        self._base_nodes = ["children"]
        self._valid_wildcard_attributes: list[str] = []
        self.available_wildcard_properties: list[str] = []
        super().__init__(**props)  # type: ignore[no-untyped-call]
