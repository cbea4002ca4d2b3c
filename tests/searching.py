"""Looking for a text in bytes, whatever they were packed into."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

_GZIP = re.compile(rb"\x1f\x8b\x08")
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
_DEPTH = 4


def unpacked(data: bytes, depth: int = _DEPTH) -> Iterator[bytes]:
    """The bytes, and those of every gzip or zlib stream that begins anywhere in them, and so on.

    MessagePack, pickles and JSON hold a text as it is, in UTF-8; arrays of NumPy hold it in UTF-32.
    """
    yield data
    starts = [(each.start(), 31) for each in _GZIP.finditer(data)]
    starts += [(each.start(), 15) for each in _ZLIB.finditer(data)]
    for start, window in starts if depth else ():
        try:
            inner = zlib.decompressobj(window).decompress(data[start:])
        except zlib.error:
            continue
        if len(inner) > 8:
            yield from unpacked(inner, depth - 1)


def holds(data: bytes, text: str) -> bool:
    """Whether a text is there: either half of it, for a store parts long values between pages.

    >>> import gzip, pickle
    >>> holds(pickle.dumps({"run": gzip.compress(b"of run-0123456789")}), "run-0123456789")
    True
    >>> holds(b"run-01" + bytes(4) + b"23456789", "run-0123456789"), holds(b"run-01", "run-0123456789")
    (True, False)
    """
    half = len(text) // 2
    wanted = [
        part.encode(code)
        for part in (text[:half], text[half:])
        for code in ("utf-8", "utf-16-le", "utf-32-le")
    ]
    return any(each in found for found in unpacked(data) for each in wanted)
