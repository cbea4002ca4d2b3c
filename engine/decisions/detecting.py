"""What in a text is a secret, an e-mail address or a path.

Tokens of known services are found by the patterns of detect-secrets; what is assigned to a name
such as ``password``, private keys, addresses and paths by patterns of our own, as it has none that
fit a line of prose. Every pattern here takes time in proportion to the text; those of the library
may not, so they see short pieces only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

PIECE = 500
"""Characters that the library's patterns see at a time; half of each piece is in the next one too."""
SHORTEST_TOKEN = 20
"""Characters of the shortest token that is looked for outside addresses: an AWS access key's."""
LONGEST_TOKEN = 10_000
"""What goes on for longer without a blank counts as a token: looking through it takes too long."""

_CACHED_NAMES = 4096

_OWN_TOKENS = (
    r"\bsk-[\w-]{20,}",
    r"\bgithub_pat_\w{22,}",
    r"\bAIza[\w-]{35}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bya29\.[\w-]{20,}",
    r"\bxapp-[\w-]{20,}",
    r"\bfmk_[0-9a-f]{12}_[\w-]{20,}",
)
"""Tokens that the library does not know, or in one form only; a key of Forkmap among them."""
_UNUSED = ("Public IP (ipv4)", "NPM tokens", "OpenAI Token")
"""What detectors of the library find that is no secret, or that is found here in far less time."""

_NAMES = (
    r"passw(?:or)?d\w{0,40}|passphrase\w{0,40}|(?<![a-z])pwd\w{0,40}|contrase[nñ]a\w{0,40}|secret\w{0,40}|"
    r"credentials?|authorization|token(?!\w)|(?:db|database|key)_?pass\w{0,40}|"
    r"(?:api|auth|access|account|client|database|db|encryption|priv|private|service|signing|ssh)"
    r"[ _-]?key\w{0,40}"
)
_SECRET_NAME = re.compile(rf"{_NAMES}|^pass$", re.IGNORECASE).search
_PATH_NAME = re.compile(
    r"(?:path|file(?:_?name)?|dir(?:ectory|ectories)?|folder|cwd)s?$", re.IGNORECASE
).search

_SIGN = (
    r"""\\{0,8}["'`\]]{0,2}[ \t]{0,4}(?:=>|:=|={1,3}|:|%3[AD])(?:[ \t]|%20){0,4}"""
    r"""(?:(?:bearer|basic|token)(?:[ ]|%20))?"""
)
_VALUE = r"""(?P<value>"[^"]+(?:"|\Z)|'[^']+'|`[^`]+`|\\{1,8}"[^"]+"?|\S+)"""
_FLAG = rf"(?<![\w-])--[\w-]{{0,40}}(?:{_NAMES})[ ]"
ASSIGNMENT = re.compile(
    rf"(?=[abcdekpst-])(?:(?:{_NAMES}){_SIGN}|{_FLAG}|\bbearer[ ](?=\S*\d)){_VALUE}", re.IGNORECASE
)
"""What follows the name of a secret, as its ``value``."""
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)|PuTTY-User-Key-File-.*",
    re.DOTALL,
)
RUN = re.compile(rf"""[^\s"'`<>]{{{SHORTEST_TOKEN},}}|[^\s"'`<>]*://[^\s"'`<>]+""")
"""What may be a token, or hold one: it is masked whole, since some patterns match only its beginning."""
EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]+(?:@|%40)(?:[\w-]+\.)+[^\W\d_][\w-]+")

_REST = r"""[^\s/"'`<>|:;,()\[\]{}]+"""
_ENDING = r"\.[A-Za-z]\w{0,7}(?![\w-])"
PATH = re.compile(
    "|".join(
        [
            r"""file:/[^\s"'`<>]+""",
            rf"(?<![\w./~-])(?:(?:/{_REST}){{2,}}/?|/{_REST}(?<=\w){_ENDING})",
            rf"(?<![\w./~])(?:~[\w.-]*|\.{{1,2}}|\$\{{?[A-Za-z_]\w*\}}?)(?:/{_REST})+/?",
            rf"(?<![\w./:@-])[\w.-]+(?:/[\w.@+-]+)+{_ENDING}",
            r"""(?<!\w)[A-Za-z]:\\+(?:[^\\/:*?"<>|\r\n]+\\+)*[^\s\\/:*?"<>|]*""",
            r"""(?<!\w)[A-Za-z]:/[^\s:*?"<>|]+""",
            r"""(?<!\S)\\\\[^\s\\/]+\\[^\s"<>|]+""",
            rf"(?<![\w.\\:@-])[\w.-]+(?:\\+[\w.@+-]+)+{_ENDING}",
        ]
    )
)

_WORDS = (
    *("passw", "passp", "_pass", "dbpass", "databasepass", "pwd", "contrase"),
    *("secret", "credential", "authorization", "bearer", "token", "key", '"pass"', "pass\\"),
)
"""One of them is in every assignment, and in all JSON that has a secret's name, quoted in a text too."""


def has_path(text: str) -> bool:
    """Whether it is worth looking for paths."""
    return "/" in text or "\\" in text


def has_address(text: str) -> bool:
    """Whether it is worth looking for e-mail addresses."""
    return "@" in text or "%40" in text


def has_name(text: str) -> bool:
    """Whether it is worth looking for what is assigned to the name of a secret.

    >>> has_name("the API key: abc"), has_name("three passengers")
    (True, False)
    """
    lowered = text.lower()
    for word in _WORDS:  # noqa: SIM110 - twice as fast as any(), and asked of all that comes
        if word in lowered:
            return True
    return False


def has_token(text: str) -> bool:
    """Whether some part of a text without blanks and double quotes is a token.

    >>> has_token('{"to": "ghp_' + "a1B2" * 9 + '"}')
    True
    """
    if len(text) < SHORTEST_TOKEN:
        return False
    parts = [part for part in text.replace('"', " ").split() if len(part) >= SHORTEST_TOKEN]
    return any(map(is_token, parts))


def may_hold(text: str) -> bool:
    """Whether it is worth looking closer; most texts are short and hold nothing.

    >>> may_hold('{"order_id": "A-123"}'), may_hold("mail bob@example.org")
    (False, True)
    """
    return has_address(text) or has_path(text) or has_name(text) or has_token(text)


@lru_cache(_CACHED_NAMES)
def is_secret_name(name: str) -> bool:
    """Whether what bears a name is secret.

    >>> is_secret_name("dbPassword"), is_secret_name("access_token"), is_secret_name("max_tokens")
    (True, True, False)
    """
    return _SECRET_NAME(name) is not None


@lru_cache(_CACHED_NAMES)
def is_path_name(name: str) -> bool:
    """Whether what bears a name is a path, if it looks like one at all.

    >>> is_path_name("working_dir"), is_path_name("query")
    (True, False)
    """
    return _PATH_NAME(name) is not None


def get_ready() -> None:
    """Load the library's patterns, which whoever first meets what may be a token would wait for."""
    _tokens()


def is_token(run: str) -> bool:
    """Whether a run of characters without spaces is a token, or holds one.

    >>> is_token("ghp_" + "a1B2" * 9), is_token("a-plain-but-rather-long-name"), is_token("x" * 10_001)
    (True, False, True)
    """
    return len(run) > LONGEST_TOKEN or any(search(piece) for piece in _pieces(run) for search in _tokens())


def _pieces(run: str) -> Iterator[str]:
    return (run[at : at + PIECE] for at in range(0, max(len(run) - PIECE // 2, 1), PIECE // 2))


@cache
def _tokens() -> Sequence[Callable[[str], object]]:
    """All patterns of tokens; the library takes a quarter of a second to import, and few need it."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    known: Iterable[Any] = get_mapping_from_secret_type_to_class().values()
    used = (
        each for each in known if issubclass(each, RegexBasedDetector) and each.secret_type not in _UNUSED
    )
    patterns = [pattern for each in used for pattern in each.denylist]
    return tuple(pattern.search for pattern in (*map(re.compile, _OWN_TOKENS), *patterns))
