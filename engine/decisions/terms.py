"""Finding a tenant's own terms in a text, however they are written there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from unicodedata import combining, normalize

MAX_TERM = 100
"""Characters of a term."""

Find: TypeAlias = Callable[[str], list[tuple[int, int]]]
"""From a text to where terms begin and end in it, in order."""


def finder(terms: Iterable[str]) -> Find:
    """Finds terms in any case, with accents or without, composed or not, inside words too.

    Examples
    --------
    >>> find = finder(["Müller GmbH", "Straße"])
    >>> find("MULLER  GMBH, Hauptstrasse"), find("mu\\u0308ller gmbh"), find("Mühle")
    ([(0, 12), (19, 26)], [(0, 12)], [])
    """
    tree: dict[str, Any] = {}
    for term in filter(None, (" ".join(fold(term).split()) for term in terms)):
        branch = tree
        for character in term:
            branch = branch.setdefault(character, {})
        branch[""] = {}
    if not tree:
        return lambda text: []
    pattern = re.compile(_pattern(tree))

    def find(text: str) -> list[tuple[int, int]]:
        folded = [fold(character) for character in text] if not text.isascii() else list(text.lower())
        whole = "".join(folded)
        if pattern.search(whole) is None:
            return []
        origin = [at for at, each in enumerate(folded) for _ in each]
        return [(origin[each.start()], origin[each.end() - 1] + 1) for each in pattern.finditer(whole)]

    return find


def fold(text: str) -> str:
    """A text without case, accents and forms.

    >>> fold("Ｍüller"), fold("Straße")
    ('muller', 'strasse')
    """
    bare = normalize("NFKD", normalize("NFKD", text).casefold())
    return "".join(character for character in bare if not combining(character))


def _pattern(tree: dict[str, Any]) -> str:
    """A pattern that a text is tried against character by character, not term by term; the longest wins."""
    branches = [
        (r"\s+" if character == " " else re.escape(character)) + _pattern(below)
        for character, below in tree.items()
        if character
    ]
    if len(branches) == 1 and "" not in tree:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in tree else "") if branches else ""
