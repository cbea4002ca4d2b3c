"""Reading a sequence expression; ``docs/outcomes.md`` shows the grammar with examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from engine.errors import ExpressionError
from engine.sequences.tree import (
    And,
    Edge,
    Expression,
    Field,
    Link,
    Not,
    Or,
    Pattern,
    Repeat,
    Sequence,
    Step,
    fields_of,
    goes_place_by_place,
    is_on_one_step,
)

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

MAX_CHARACTERS = 1_000
"""Characters of an expression at most."""
MAX_NESTING = 50
"""Parentheses and ``!`` in an expression at most."""
MAX_REPEAT = 10_000
"""Largest number after ``x``."""
OUTCOME_WORDS = ("success", "failure", "abandoned", "unknown")
"""What ``outcome:`` may name."""

GRAMMAR = r"""
either: both (_OR both)*
both: chain (_AND chain)*
chain: item ((DIRECTLY | LATER) item)*
item: START | END | START END | START element | element END | START element END | element
?element: counted | _NOT element -> negation
?counted: atom | atom TIMES -> repeat
?atom: STEP -> step | FIELD -> field | _ERROR STEP _CLOSE -> failed | _OPEN either _CLOSE -> group

START: "^"
END: "$"
DIRECTLY: ">"
LATER: ".."
TIMES: /x\d+(?![^\s>.!^$()"])/
_NOT: "!"
_OPEN: "("
_CLOSE: ")"
_ERROR.3: /error\s*\(/
_AND.3: /and(?![^\s>.!^$()"])/
_OR.3: /or(?![^\s>.!^$()"])/
FIELD.2: /(ticket|version|outcome):("(\\.|[^"\\])*"|([^\s>.!^$()"]|\.(?!\.))+)/
STEP: /(?!(and|or)(?![^\s>.!^$()":]))((llm|tool|agent):)?("(\\.|[^"\\])*"|([^\s>.!^$()"]|\.(?!\.))+)/
%ignore /\s+/
"""

_MORE = "one of > .. x3 $ and or, or the end,"
_PIECES = re.compile(r"\\(.)|(\*)|([^\\*]+)", re.DOTALL)
_PREFIXES = ("llm:", "tool:", "agent:", "ticket:", "version:", "outcome:")
_SHOWN_CHARACTERS = 40


@lru_cache(maxsize=1_000)
def parse(text: str) -> Expression:
    """Read an expression.

    Parameters
    ----------
    text : str
        At most 1,000 characters.

    Raises
    ------
    ExpressionError
        One sentence, with the column where it is about one: what stands there and what was expected.

    Examples
    --------
    >>> parse("close_ticket $").links
    ('>',)
    >>> parse("a > > b")
    Traceback (most recent call last):
    engine.errors.ExpressionError: column 5: '>' stands where a step was expected
    """
    from lark.exceptions import UnexpectedInput, VisitError

    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(
            f"an expression has at most {MAX_CHARACTERS:,} characters, this one {len(text):,}"
        )
    if text.count("(") + text.count("!") > MAX_NESTING:
        raise ExpressionError(f"an expression has at most {MAX_NESTING} parentheses and !")
    try:
        found: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _complaint(text, error) from None
    except VisitError as error:
        raise error.orig_exc from None
    expression: Expression = found
    return expression


@cache
def _parser() -> Lark:
    """The parser; it is made when first needed, since most commands never need it."""
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", start="either", transformer=_Builder())


def _complaint(text: str, error: UnexpectedInput) -> ExpressionError:
    expected = getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    wanted = "a step" if "STEP" in expected else _MORE
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        missing = "a step" if "STEP" in expected else ")"
        return _wrong(len(text) + 1, f"{missing} is missing")
    at = error.pos_in_stream or 0
    if text[at] == '"':
        return _wrong(at + 1, "a quotation begins that does not end")
    found = text[at] if token is None else str(token)
    return _wrong(at + 1, f"{_short(found)} stands where {wanted} was expected")


def _wrong(column: int, what: str) -> ExpressionError:
    return ExpressionError(f"column {column}: {what}", column)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")


class _Builder:
    """Makes values of what the parser recognises, innermost first."""

    def either(self, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def both(self, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def group(self, parts: list[Expression]) -> Expression:
        return parts[0]

    def negation(self, parts: list[Expression]) -> Expression:
        return Not(parts[0])

    def repeat(self, parts: list[Any]) -> Expression:
        part, times = parts
        least = int(times[1:][:6])
        if not 1 <= least <= MAX_REPEAT:
            raise _wrong(times.column, f"{times} is no number from x1 to x{MAX_REPEAT}")
        with _near(times):
            return Repeat(_alone(_of_steps(part)), least)

    def item(self, parts: list[Any]) -> list[Any]:
        return parts

    def chain(self, items: list[Any]) -> Expression:
        parts: list[Expression] = []
        links: list[Link] = []
        for item in items:
            if isinstance(item, str):
                links.append(">" if item == ">" else "..")
            else:
                parts += [Edge(part == "$") if isinstance(part, str) else part for part in item]
                links += [">"] * (len(item) - 1)
        if not links:
            return parts[0]
        signs = [part for item in items for part in ([item] if isinstance(item, str) else item)]
        both_sides = zip(parts, links, parts[1:], strict=False)
        if any(isinstance(a, Not) and link == ".." and isinstance(b, Not) for a, link, b in both_sides):
            raise ExpressionError("two ! with .. between them: write !(A or B)", _column(signs))
        around = pairwise(("..", *links, ".."))
        with _near(*signs):
            placed = tuple(_beside(part, *both) for part, both in zip(parts, around, strict=True))
        return Sequence(placed, tuple(links))

    def step(self, parts: list[Any]) -> Expression:
        return _step(parts[0])

    def failed(self, parts: list[Any]) -> Expression:
        return _step(parts[0], failed=True)

    def field(self, parts: list[Any]) -> Expression:
        name, _, value = parts[0].partition(":")
        pattern = _pattern(value)
        if name == "outcome" and not any(map(pattern.fits, OUTCOME_WORDS)):
            raise _wrong(parts[0].column, f"outcome: is one of {', '.join(OUTCOME_WORDS)}")
        return Field(name, pattern)


@contextmanager
def _near(*parts: Any) -> Iterator[None]:
    """Place what is wrong inside, unless it has a place, at the first sign that joins the parts."""
    try:
        yield
    except ExpressionError as error:
        error.column = error.column or _column(parts)
        raise


def _column(parts: Iterable[Any]) -> int:
    return next((getattr(part, "column", 0) for part in parts if isinstance(part, str)), 0)


def _of_steps(part: Expression) -> Expression:
    """The part of a sequence, unless it is none that stands at a place among the steps."""
    for name in fields_of(part):
        raise ExpressionError(f"{name}: says something of the whole run: join it with and, or or !")
    if is_on_one_step(part):
        return part
    match part:
        case And():
            raise ExpressionError("inside a sequence, and joins conditions on one step: (a and !error(*))")
        case Not():
            raise ExpressionError("! of more than one step stands beside a .. of its sequence: a .. !(b > c)")
        case Or(parts):
            for each in parts:
                _of_steps(each)
        case Sequence(parts, links):
            ends = [each for each, link in ((parts[0], links[0]), (parts[-1], links[-1])) if link == ">"]
            for each in ends:
                _of_steps(each)
    return part


def _beside(part: Expression, left: Link, right: Link) -> Expression:
    """The part of a sequence, linked so to what is around it."""
    if isinstance(part, Not) and ".." in (left, right):
        return Not(_alone(_of_steps(part.part)))
    return _of_steps(part)


def _alone(part: Expression) -> Expression:
    """What is repeated or excluded, unless it does so itself: one in the other would take too long."""
    if goes_place_by_place(part):
        raise ExpressionError("x or ! of more than one step stands in no other x or ! of its sequence")
    return part


def _step(token: Any, failed: bool = False) -> Step:
    text = str(token)
    if text in _PREFIXES:
        raise _wrong(token.column, f"{text} names nothing")
    kind, colon, name = text.partition(":")
    if colon and text.startswith(_PREFIXES[:3]):
        return Step(_pattern(name), kind, failed)
    if text.startswith('"'):
        inner = text[1:-1]
        kind, colon, name = inner.partition(":")
        if inner.startswith(_PREFIXES[:3]) and name:
            return Step(_pattern(f'"{name}"'), kind, failed)
    return Step(_pattern(text), failed=failed)


def _pattern(text: str) -> Pattern:
    """A bare or quoted text; in quotes a backslash takes the next character as it is."""
    if not text.startswith('"'):
        return Pattern(tuple(text.split("*")))
    parts = [""]
    for escaped, star, plain in _PIECES.findall(text[1:-1]):
        if star:
            parts.append("")
        else:
            parts[-1] += escaped or plain
    return Pattern(tuple(parts))
