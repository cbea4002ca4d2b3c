"""What a pasted text may name: it comes with quotes, in an address, or out of a line of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from urllib.parse import parse_qsl, unquote, urlsplit

READ = 4_000
"""Characters of a text that are looked through for names."""
TRIED = 24
"""Names tried of one text."""
COMPARED = 4
"""Names of one text that others are compared with."""
ALIKE = 0.6
"""Share of a name that must be the same, from both its ends, for it to be like another."""
BEGINNING = 6
"""Characters at the beginning that are enough."""
SHORTEST = 4
"""Characters of a name that is looked for inside a text."""

_AROUND = " \t\r\n\v\f\u00a0\u200b\u200e\u200f\u2060\ufeff\"'`´‘’“”„«»‹›<>()[]{},;:=|*"
"""What may stand around a name, and is no part of it."""
_WORD = r"(?:run|trace|session|conversation|thread|ticket|task|agent)"
_NAMED = re.compile(
    rf"""(?<![a-z]){_WORD}[ _.-]?(?:id|name|key)?["'`]?\s*[=:]\s*["'`]?([^\s"'`,;&<>()\[\]{{}}]+)""", re.I
)
"""A name after what it is called: ``run_id=…``, ``"trace_id": "…"``, ``session.id: …``."""
_KEYS = [
    re.compile(each, re.I)
    for each in ("run|trace|session|conversation|thread", "^q$|ticket|task", "agent|id$")
]
"""Keys of a query, the likeliest first."""
_KEY = re.compile(r"""[\w.\-\[\]"'` ]{1,60}?\s*[=:]\s*(\S.*)""", re.S)
"""A key of any name, and its value."""
_ADDRESS = re.compile(r"https?://[^\s\"'<>()]+")
_IDS = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])",
    re.I,
)
"""Ids of traces, in a text of any kind."""


def candidates(text: str) -> tuple[str, ...]:
    """Names that a pasted text may mean, the likeliest first: the text as it is comes before all others.

    >>> candidates('  "run-1", ')
    ('"run-1",', 'run-1')
    >>> candidates("trace_id: '4bf92f35',")[2:]
    ('4bf92f35',)
    >>> candidates("http://127.0.0.1:8050/run?run=r%2F1&window=all")[1:3]
    ('r/1', 'all')
    >>> candidates("https://tool.example/project/7/traces/run-9?tab=2#top")[1:4]
    ('2', 'run-9', 'traces')
    """
    whole = text.strip()
    names = (bare(found).strip() for found in _readings(whole[:READ]))
    known = dict.fromkeys(name for name in (whole, *names) if name)
    return tuple(islice(known, TRIED))


def bare(text: str) -> str:
    """A text without the quotes, brackets and spaces around it.

    >>> bare("(`run-1`).")
    'run-1'
    """
    stripped = text.strip(_AROUND)
    return stripped.rstrip("." + _AROUND) or stripped


def _readings(text: str) -> Iterator[str]:
    """The ways to read a text as a name, the likeliest first."""
    yield text
    inner = bare(text)
    alone = [inner] if re.search(r"[/?&]", inner) and not re.search(r"\s", inner) else []
    for address in dict.fromkeys([*alone, *_ADDRESS.findall(text)]):
        yield from _of_address(address)
    yield from (match[1] for match in _NAMED.finditer(text) if "//" not in match[1])
    yield from _IDS.findall(text)
    if (keyed := _KEY.fullmatch(inner)) and not keyed[1].startswith("//"):
        yield keyed[1]


def _of_address(text: str) -> Iterator[str]:
    """What an address names: its query first, then its path from the end."""
    try:
        parts = urlsplit(text if "//" in text else f"//{text}")
    except ValueError:
        return
    for query in (parts.query, parts.fragment.partition("?")[2]):
        yield from _by_key(parse_qsl(query))
    yield from _segments(parts.path)
    yield from _segments(parts.fragment.partition("?")[0].lstrip("/!"))


def _by_key(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The values of a query: those of keys that speak of runs first, of agents after those of tickets."""

    def rank(pair: tuple[str, str]) -> int:
        return next((place for place, each in enumerate(_KEYS) if each.search(pair[0])), len(_KEYS))

    return [value for _, value in sorted(pairs, key=rank)]


def _segments(path: str) -> list[str]:
    return [unquote(part) for part in reversed(path.split("/")) if part]


def alike(text: str, names: Sequence[str], limit: int) -> tuple[str, ...]:
    """The names that are most like a text: one is in the other, or they differ in one place only.

    >>> alike("live-dome", ["other", "live-doomed-0"], 5), alike("rum-17", ["run-18", "run-17"], 1)
    (('live-doomed-0',), ('run-17',))
    """
    first, *others = candidates(text.casefold())[:COMPARED] or [""]
    wanted = [first, *(name for name in others if len(name) >= SHORTEST)]
    scores = {name: max(_likeness(each, name.casefold()) for each in wanted) for name in names}
    return tuple(sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])[:limit])


def _likeness(text: str, name: str) -> float:
    """How much of two names is the same, in [0, 1]; 0 for those that are not alike.

    >>> _likeness("run-1", "run-12") > 0.8, _likeness("abc", "xyz")
    (True, 0.0)
    """
    longer, shorter = max(len(text), len(name)), min(len(text), len(name))
    if not shorter:
        return 0.0
    if text in name or (name in text and len(name) >= SHORTEST):
        return shorter / longer
    start = _shared(text, name)
    end = min(_shared(text[::-1], name[::-1]), shorter - start)
    share = (start + end) / longer
    return share if share >= ALIKE or start >= BEGINNING else 0.0


def _shared(one: str, other: str) -> int:
    """Characters at the beginning that are the same."""
    for place, (mine, its) in enumerate(zip(one, other, strict=False)):
        if mine != its:
            return place
    return min(len(one), len(other))
