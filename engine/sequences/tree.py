"""What a sequence expression says, as frozen values.

A *condition on one step* is a :class:`Step`, or conditions on one step joined by and, or and not.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Link = Literal[">", ".."]
"""Directly after, or anywhere later."""


class Pattern(msgspec.Struct, frozen=True):
    """A text in which each gap between the parts stands for any characters.

    >>> Pattern(("search_", "")).fits("search_orders"), Pattern(("search",)).fits("search_orders")
    (True, False)
    >>> Pattern(("", "a", "b", "")).fits("xxaxbx"), Pattern(("aa", "aa")).fits("aaa")
    (True, False)
    """

    parts: tuple[str, ...]

    def fits(self, text: str) -> bool:
        """Whether the whole text is of this form; takes time in proportion to its length."""
        first, *inner = self.parts
        if not inner:
            return text == first
        last = inner.pop()
        at, end = len(first), len(text) - len(last)
        if end < at or not text.startswith(first) or not text.endswith(last):
            return False
        for part in inner:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True


class Step(msgspec.Struct, frozen=True):
    """A step of this name, of this kind unless it is "", that failed if ``failed``."""

    name: Pattern
    kind: str = ""
    failed: bool = False

    def fits(self, signature: str) -> bool:
        """Whether a step of this signature is meant.

        >>> Step(Pattern(("a:b",))).fits("tool:a:b"), Step(Pattern(("a",)), "llm").fits("tool:a")
        (True, False)
        """
        kind, _, name = signature.partition(":")
        return self.kind in ("", kind) and self.name.fits(name)


class Field(msgspec.Struct, frozen=True):
    """A field of the run: ``ticket``, ``version`` or ``outcome``."""

    field: str
    value: Pattern


class Edge(msgspec.Struct, frozen=True):
    """The start of the run, or its end."""

    is_end: bool


class Repeat(msgspec.Struct, frozen=True):
    """At least so many in a row."""

    part: Expression
    least: int


class Sequence(msgspec.Struct, frozen=True):
    """Parts, and what links each to the next."""

    parts: tuple[Expression, ...]
    links: tuple[Link, ...]


class Not(msgspec.Struct, frozen=True):
    """That it is not so."""

    part: Expression


class And(msgspec.Struct, frozen=True):
    """All of them."""

    parts: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True):
    """Any of them."""

    parts: tuple[Expression, ...]


Expression: TypeAlias = Step | Field | Edge | Repeat | Sequence | Not | And | Or


def fields_of(expression: Expression) -> frozenset[str]:
    """Names of the run's fields that an expression asks about.

    >>> fields_of(Not(Field("ticket", Pattern(("t",)))))
    frozenset({'ticket'})
    """
    match expression:
        case Field(field):
            return frozenset({field})
        case Not(part) | Repeat(part):
            return fields_of(part)
        case And(parts) | Or(parts) | Sequence(parts):
            return frozenset().union(*map(fields_of, parts))
        case _:
            return frozenset()


def is_on_one_step(expression: Expression) -> bool:
    """Whether it is a condition on one step."""
    match expression:
        case Step():
            return True
        case Not(part):
            return is_on_one_step(part)
        case And(parts) | Or(parts):
            return all(map(is_on_one_step, parts))
        case _:
            return False


def goes_place_by_place(expression: Expression) -> bool:
    """Whether ``x`` or ``!`` of more than one step is part of it.

    >>> a = Step(Pattern(("a",)))
    >>> goes_place_by_place(Repeat(a, 3)), goes_place_by_place(Or((a, Repeat(Repeat(a, 3), 2))))
    (False, True)
    """
    match expression:
        case Not(part) | Repeat(part):
            return not is_on_one_step(part)
        case And(parts) | Or(parts) | Sequence(parts):
            return any(map(goes_place_by_place, parts))
        case _:
            return False
