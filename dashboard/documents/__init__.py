"""The values that the command and the API write for programs: frozen structs, one module a theme.

People script against these shapes, so they are kept stable. Rates are in [0, 1], tokens are their
text, times are RFC 3339 in UTC, and where there is no number the value is null. The document that
describes the API is made of the same structs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from dashboard import urls
from engine.paths import Token

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Rate: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Time: TypeAlias = Annotated[
    str, Meta(description="RFC 3339, in UTC", extra_json_schema={"format": "date-time"})
]
OutcomeWord: TypeAlias = Literal["success", "failure", "abandoned", "unknown"]
SourceWord: TypeAlias = Literal["declared", "rule", "inferred"]

D = TypeVar("D", bound=msgspec.Struct)


def drawn(document: type[D], value: object, **more: Any) -> D:
    """A document that takes from a value what bears the same name, and the rest as given.

    >>> from datetime import date
    >>> class Day(msgspec.Struct, frozen=True):
    ...     name: str
    ...     year: int
    >>> drawn(Day, date(2026, 1, 2), name="Friday")
    Day(name='Friday', year=2026)
    """
    names = [name for name in document.__struct_fields__ if name not in more]
    return document(**{name: getattr(value, name) for name in names}, **more)


def texts(path: Iterable[Token]) -> list[str]:
    """The tokens of a path as their texts."""
    return [str(token) for token in path]


def rfc3339(time_ns: int) -> str:
    """A time in UTC, to the nanosecond.

    >>> rfc3339(86_400_000_000_000), rfc3339(1_500_000_000)
    ('1970-01-02T00:00:00Z', '1970-01-01T00:00:01.5Z')
    """
    text = urls.write_time(time_ns)
    return text if "T" in text else f"{text}T00:00:00Z"
