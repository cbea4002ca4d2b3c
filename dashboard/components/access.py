"""Attributes for assistive technology."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """Aria attributes, to be spread into a component's arguments.

    >>> aria(label="Path")
    {'aria-label': 'Path'}
    """
    return {f"aria-{name}": value for name, value in values.items()}
