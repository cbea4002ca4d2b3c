"""Attributes for assistive technology and scripts, to be spread into a component's arguments."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """Aria attributes.

    >>> aria(label="Path")
    {'aria-label': 'Path'}
    """
    return {f"aria-{name}": value for name, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """Data attributes.

    >>> data(copy="text")
    {'data-copy': 'text'}
    """
    return {f"data-{name}": value for name, value in values.items()}
