"""Texts and JSON values with what nobody is to read replaced by marks.

A mark says what stood there and nothing of it but a keyed digest, so that equal values stay equal
and different ones different: ``[secret 3fa9c1]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from engine.decisions import detecting
from engine.decisions.terms import Find

DIGEST_BYTES = 3
"""Of a mark: a thousand different values of one store share one with a chance of 3 in 100."""

_MARK = re.compile(rf"(\[(?:secret|email|path|term) [0-9a-f]{{{2 * DIGEST_BYTES}}}\])")
_LITERAL = re.compile(r'"((?:[^"\\]++|\\.)*+)("?)', re.DOTALL)
_LONGEST_ESCAPE = 12
"""Characters of a letter that JSON writes as two code units."""
_BEFORE, _AFTER = "\"'`([{\\", "\"'`.,;:!?)]}\\"
_NAMED_BY = ("name", "key", "field")
"""Fields of an object that may say what its ``value`` is."""

Mark: TypeAlias = Callable[[str, str], str]
"""From what it is and what stands there to the mark in its place."""


def marker(key: Callable[[], bytes]) -> Mark:
    """Marks under a key, which is asked for when the first one is made.

    >>> mark = marker(lambda: b"key")
    >>> mark("term", "Acme") == mark("term", "Acme"), mark("term", "Acme") == mark("term", "Acne")
    (True, False)
    """

    def mark(kind: str, found: str) -> str:
        digest = blake2b(found.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES, key=key())
        return f"[{kind} {digest.hexdigest()}]"

    return mark


class Masker:
    """Masks with the marks of one tenant, and its terms."""

    def __init__(self, mark: Mark, find: Find | None = None) -> None:
        self._mark, self._find = mark, find

    def value(self, value: Any, name: str = "") -> Any:
        """A JSON value with its texts masked, names of fields too; the very same if nothing was.

        Parameters
        ----------
        name : str
            What bears the value: all that a ``password`` holds is masked, and all of a ``path``.

        Examples
        --------
        >>> Masker(lambda kind, found: f"[{kind}]").value({"user": "bob", "password": 1234, "dir": "a/b c"})
        {'user': 'bob', 'password': '[secret]', 'dir': '[path]'}
        """
        if isinstance(value, str):
            return self._named(value, name)
        if isinstance(value, dict):
            return self._object(value, name)
        if isinstance(value, list | tuple):
            masked = [self.value(each, name) for each in value]
            return value if all(map(_same, masked, value)) else masked
        if detecting.is_secret_name(name) and isinstance(value, int | float) and not isinstance(value, bool):
            return self._mark("secret", str(value))
        return value

    def _object(self, value: dict[str, Any], name: str) -> dict[str, Any]:
        inherited = name if detecting.is_secret_name(name) else ""
        names = {"value": _told(value)}
        masked = {
            self.text(key): self.value(each, inherited or names.get(key) or key)
            for key, each in value.items()
        }
        same = all(map(_same, masked, value)) and all(map(_same, masked.values(), value.values()))
        return value if same else masked

    def _named(self, text: str, name: str) -> str:
        if not name or not text or _MARK.fullmatch(text):
            return self.text(text)
        if detecting.is_secret_name(name):
            return self._mark("secret", text)
        is_path = detecting.has_path(text) and "://" not in text and detecting.is_path_name(name)
        return self._mark("path", text) if is_path and _MARK.search(text) is None else self.text(text)

    def text(self, text: str) -> str:
        """A text masked, as JSON if it is; what was masked before stays.

        Examples
        --------
        >>> masker = Masker(lambda kind, found: f"[{kind}]")
        >>> masker.text("mail bob@example.org the log in /var/log/app, password=hunter2")
        'mail [email] the log in [path], password=[secret]'
        >>> masker.text('{"to": "bob@example.org", "copies": 2.50}')
        '{"to":"[email]","copies":2.5}'
        """
        if not (detecting.may_hold(text) or (self._find and self._find(text))):
            return text
        masked = text
        if text.lstrip()[:1] in ("{", "[", '"'):
            try:
                return rewritten(text, self.value)
            except (ValueError, RecursionError):
                masked = _LITERAL.sub(self._literal, text)
        for mask in (self._secrets, self._addresses, self._paths, self._terms):
            masked = _between_marks(masked, mask)
        return text if masked == text else masked

    def _literal(self, found: re.Match[str]) -> str:
        """A text inside JSON that is cut off, or no JSON; masked as what it means, if it means anything."""
        value = _meant(found[1], is_whole=bool(found[2]))
        if value is None:
            return found[0]
        masked = self.text(value)
        return found[0] if masked == value else msgspec.json.encode(masked).decode()

    def _secrets(self, text: str) -> str:
        if "PRIVATE KEY" in text or "PuTTY" in text:
            text = detecting.PRIVATE_KEY.sub(lambda found: self._mark("secret", found[0]), text)
        if detecting.has_name(text):
            text = _between_marks(text, lambda part: detecting.ASSIGNMENT.sub(self._assigned, part))
        return _between_marks(text, lambda part: detecting.RUN.sub(self._run, part))

    def _assigned(self, found: re.Match[str]) -> str:
        if not found["value"].strip(_BEFORE):  # a quote before a mark
            return found[0]
        return found[0][: -len(found["value"])] + self._trimmed(found["value"])

    def _run(self, found: re.Match[str]) -> str:
        return self._trimmed(found[0]) if detecting.is_token(found[0]) else found[0]

    def _trimmed(self, run: str) -> str:
        """A secret masked but for what stands around it, so that the same one gets the same mark."""
        inner = run.lstrip(_BEFORE).rstrip(_AFTER) or run
        before, _, after = run.partition(inner)
        return f"{before}{self._mark('secret', inner)}{after}"

    def _addresses(self, text: str) -> str:
        if not detecting.has_address(text):
            return text
        return detecting.EMAIL.sub(lambda found: self._mark("email", found[0]), text)

    def _paths(self, text: str) -> str:
        def masked(found: re.Match[str]) -> str:
            path = found[0].rstrip(".!?")
            return self._mark("path", path) + found[0][len(path) :]

        return detecting.PATH.sub(masked, text) if detecting.has_path(text) else text

    def _terms(self, text: str) -> str:
        masked, done = "", 0
        for begin, end in self._find(text) if self._find else ():
            masked += text[done:begin] + self._mark("term", text[begin:end])
            done = end
        return masked + text[done:]


def rewritten(text: str, change: Callable[[Any], Any]) -> str:
    """JSON with its value changed; as it was written, if nothing was and no object has a field twice.

    Raises
    ------
    ValueError, RecursionError
        It is no JSON, or nested too deeply.

    Examples
    --------
    >>> rewritten('{"a": 1.50}', lambda value: value), rewritten('{"a": 1.50, "a": 2}', lambda value: value)
    ('{"a": 1.50}', '{"a":2}')
    """
    value = msgspec.json.decode(text)
    changed = change(value)
    if changed == value and _names_each_once(text):
        return text
    return msgspec.json.encode(changed).decode()


def _names_each_once(text: str) -> bool:
    """Whether no object has a field twice: all but the last would be passed over unread."""

    def read(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            raise ValueError

    try:
        json.loads(text, object_pairs_hook=read)
    except ValueError:
        return False
    return True


def _meant(literal: str, is_whole: bool) -> str | None:
    """What stands between the quotes of JSON, without a last letter that is cut off; None if it is none."""
    for cut in range(1 if is_whole else _LONGEST_ESCAPE):
        try:
            return msgspec.json.decode(f'"{literal[: len(literal) - cut]}"', type=str)
        except ValueError:
            continue
    return None


def _told(value: dict[str, Any]) -> str:
    """The name that an object gives to its ``value``, if it is a secret's."""
    told = (value.get(key) for key in _NAMED_BY)
    return next((each for each in told if isinstance(each, str) and detecting.is_secret_name(each)), "")


def _same(one: object, other: object) -> bool:
    return one is other


def _between_marks(text: str, mask: Callable[[str], str]) -> str:
    """A text with what stands between its marks masked."""
    if "[" not in text:
        return mask(text)
    parts = _MARK.split(text)
    return "".join(part if at % 2 else mask(part) for at, part in enumerate(parts))
