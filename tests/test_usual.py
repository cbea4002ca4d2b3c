"""A usual check read off its bytes: it means what waitress makes of it; what is unusual is left alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser
from waitress.task import WSGITask

from dashboard.usual import answer, environ

LINE = "POST /api/v1/check HTTP/1.1"
BODY = b'{"run_id": "r"}'
HEADERS = {"Host": "h:1", "X-API-Key": "fmk_1_2", "Content-Type": "application/json", "Content-Length": "15"}


def request(headers: dict[str, str] | None = None, line: str = LINE, body: bytes = BODY) -> bytes:
    lines = [line, *(f"{name}: {value}" for name, value in (HEADERS | (headers or {})).items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Server:
    """What waitress asks of its server and of a connection, to say what it makes of a request."""

    server_name, effective_port, adj = "forkmap", 80, Adjustments()

    def __init__(self) -> None:
        self.server, self.addr = self, ("192.0.2.7", 1)

    def check_client_disconnected(self) -> bool:
        return False


def by_waitress(data: bytes) -> dict[str, Any]:
    parser = HTTPRequestParser(Adjustments())
    parser.received(data[parser.received(data) :])
    assert parser.completed and not parser.error
    task: Any = WSGITask
    return dict(task(Server(), parser).get_environment())


names = st.from_regex(r"[A-Za-z][A-Za-z-]{0,8}[A-Za-z]", fullmatch=True).map(lambda name: f"X-{name}")
values = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)


@given(st.dictionaries(names, values, max_size=5))
def test_it_means_what_waitress_makes_of_it(headers: dict[str, str]) -> None:
    found = environ(request(headers), "192.0.2.7")
    expected = by_waitress(request(headers))
    if found is None:  # two names that differ in case or dashes only
        assert len({name.upper() for name in headers}) < len(headers)
        return
    told = {name: value for name, value in found.items() if not name.startswith("wsgi.")}
    assert told == {name: expected[name] for name in told}
    assert {name for name in expected if name.startswith("HTTP_")} <= {*found}
    assert found["wsgi.input"].read() == expected["wsgi.input"].read() == BODY


@pytest.mark.parametrize(
    "data",
    [
        request(line="POST /api/v1/check HTTP/1.0"),
        request(line="POST /api/v1/check?a=1 HTTP/1.1"),
        request(line="POST /api/v1/checks HTTP/1.1"),
        request(line="POST http://h/api/v1/check HTTP/1.1"),
        request(line="GET /api/v1/check HTTP/1.1"),
        request({"Transfer-Encoding": "chunked"}),
        request({"Connection": "close"}),
        request({"Expect": "100-continue"}),
        request({"Content-Encoding": "gzip"}),
        request({"Content-Length": "14"}),
        request({"Content-Length": "+15"}),
        request({"Content-length": "15"}),
        request({"X-Name": "a\tb"}),
        request({"X-Name": "é"}),
        request({"X Name": "a"}),
        request().replace(b"\r\n", b"\n"),
        request().replace(b"Host: h:1", b"Host: h:1\r\n folded: 1"),
        request(body=BODY[:-1]),
        request() + request(),
        request()[:40],
        b"",
    ],
)
def test_what_is_unusual_is_left_alone(data: bytes) -> None:
    assert environ(data, "192.0.2.7") is None


def test_the_answer_is_whole_and_dated() -> None:
    def application(asked: Any, start: Any) -> Any:
        start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
        return [b"o", b"k"]

    head, _, body = answer(application, {}).partition(b"\r\n\r\n")
    first, date, *others = head.split(b"\r\n")
    assert (first, date[:6], date[-4:]) == (b"HTTP/1.1 200 OK", b"Date: ", b" GMT")
    assert (others, body) == ([b"Content-Type: text/plain", b"Content-Length: 2"], b"ok")
