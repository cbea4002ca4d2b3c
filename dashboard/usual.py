"""A usual check, read off its bytes and answered: parsing all that HTTP allows takes longer than the check.

Usual is one request, whole, with plain headers that ask for nothing special. What is not goes the way of
any request; and what is goes to the same application, which may answer it as it likes.
"""

from __future__ import annotations

import re
from email.utils import formatdate
from functools import lru_cache
from io import BytesIO
from time import time
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from dashboard import urls

_HEAD = re.compile(rb"POST (/[\w/]+) HTTP/1\.1\r\n((?:[A-Za-z-]+:[ -~]*\r\n)+)\r\n")
_SPECIAL = frozenset(
    {"TRANSFER_ENCODING", "CONTENT_ENCODING", "CONNECTION", "EXPECT", "UPGRADE", "TRAILER", "TE"}
)
"""Headers that change how a request is read or answered."""


def environ(data: bytes, address: str) -> WSGIEnvironment | None:
    """What WSGI says of a usual check that came, all of it, from an address; None of anything else.

    >>> sent = b"POST /api/v1/check HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
    >>> found = environ(sent, "::1")
    >>> found["HTTP_HOST"], found["CONTENT_LENGTH"], found["wsgi.input"].read()
    ('h', '2', b'{}')
    """
    head = _HEAD.match(data)
    if head is None or head[1].decode() != urls.API_CHECK:
        return None
    lines = [line.partition(":") for line in head[2].decode().splitlines()]
    sent = {name.upper().replace("-", "_"): value.strip() for name, _, value in lines}
    body = data[head.end() :]
    length = sent.pop("CONTENT_LENGTH", "")
    if len(sent) + 1 < len(lines) or length != str(len(body)) or not _SPECIAL.isdisjoint(sent):
        return None
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": urls.API_CHECK,
        "QUERY_STRING": "",
        "CONTENT_LENGTH": length,
        "CONTENT_TYPE": sent.pop("CONTENT_TYPE", ""),
        "REMOTE_ADDR": address,
        "SERVER_NAME": "forkmap",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **{f"HTTP_{name}": value for name, value in sent.items()},
    }


def answer(application: WSGIApplication, asked: WSGIEnvironment) -> bytes:
    """What an application answers, as HTTP; the connection stays open."""
    said: list[Any] = []

    def start(*of: Any) -> Any:
        said[:] = of

    parts = application(asked, start)
    try:
        body = b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()
    status, headers, *_ = said
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    return f"HTTP/1.1 {status}\r\nDate: {_date(int(time()))}\r\n{''.join(lines)}\r\n".encode("latin-1") + body


@lru_cache(1)
def _date(now_s: int) -> str:
    return formatdate(now_s, usegmt=True)
