"""Asks Forkmap before an agent's next call: ``Client(url).check(run_id)``.

It needs nothing but Python, no package and no other part of Forkmap: a copy of this file is enough.
Whatever goes wrong (nobody there, no answer in time, an answer that is none) means ``allow``, so it never
keeps an agent from its work; what went wrong is then the answer's ``fault``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import io
import json
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.client import HTTPResponse
from math import inf
from typing import Any, Literal, ParamSpec, TypeVar, cast
from urllib.parse import urlsplit

TIMEOUT_S = 0.2
"""How long a check may take in all, looking the host up and connecting included."""
MAX_ANSWER_BYTES = 1 << 20
"""What is longer is no answer."""
WARN_AGAIN_S = 60.0
"""How often a fault that lasts is warned of again."""
CHECK = "/api/v1/check"

RunId = str | Callable[[], str]
"""The id of a run, or what tells it when it is asked."""
_TOLD_CHARACTERS = 300
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_LOG = logging.getLogger("forkmap_client")


@dataclass(frozen=True)
class Answer:
    """What was decided about a call.

    Attributes
    ----------
    action : str
        ``allow``, ``warn`` or ``stop``.
    reason : str
        One sentence for a person.
    policy : str or None
        The policy that decided, if one did.
    foresight : mapping or None
        What became of earlier runs that took this way; None if the server could not tell.
    map_age_s : float or None
        How old the map is that was asked, in seconds.
    as_of : str or None
        The moment up to which all spans were known, RFC 3339.
    fault : str or None
        Why there was no answer, or the server's own sentence why it refused the question (a wrong key, for
        example); then the action is ``allow``.
    document : mapping
        All that the server said.
    """

    action: Literal["allow", "warn", "stop"]
    reason: str
    policy: str | None = None
    foresight: Mapping[str, Any] | None = None
    map_age_s: float | None = None
    as_of: str | None = None
    fault: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def raise_for_stop(self) -> Answer:
        """Itself, unless the action is ``stop``.

        Raises
        ------
        Stopped
            If it is.
        """
        if self.action == "stop":
            raise Stopped(self)
        return self


class Stopped(Exception):
    """A fuse fired: the call is not to be made. Its text is the reason, its ``answer`` the rest."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer

    def __reduce__(self) -> tuple[type[Stopped], tuple[Answer]]:
        return type(self), (self.answer,)


class Client:
    """Asks one server, from any number of threads, over connections that it keeps.

    Parameters
    ----------
    url : str
        Where the server is, for example ``http://127.0.0.1:8050``.
    key : str, optional
        A key, where the server wants one.
    timeout_s : float
        How long a check may take in all, in seconds; then it is answered ``allow``.

    Raises
    ------
    ValueError
        If the URL names no host, or neither http nor https.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1") as client:
    ...     answer = client.check("run-7", next_step="tool:issue_refund")
    >>> answer.action, answer.reason
    ('allow', 'Forkmap gave no answer, so the call is allowed.')
    """

    def __init__(self, url: str, key: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address like http://127.0.0.1:8050")
        if not (key or "").isprintable():
            raise ValueError("the key holds what no key does, such as the end of a line")
        self.timeout_s = timeout_s
        self._server = _Server(parts.hostname, parts.port, parts.scheme == "https")
        head = f"POST {parts.path.rstrip('/')}{CHECK} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"
        shown = () if key is None else (f"X-Api-Key: {key}",)
        self._head = "\r\n".join(
            (*head, *shown, "Content-Type: application/json", "Content-Length: ")
        ).encode()
        self._warned_s = -inf

    def check(self, run_id: RunId, next_step: str | None = None) -> Answer:
        """Ask whether a run may go on. It raises nothing, and takes no longer than the time-out.

        Parameters
        ----------
        run_id : str or callable
            The run, as its spans name it, or what tells it.
        next_step : str, optional
            The call that is about to be made, for example ``tool:issue_refund``.
        """
        deadline_s = time.monotonic() + self.timeout_s
        try:
            asked = {"run_id": run_id() if callable(run_id) else run_id}
            if next_step is not None:
                asked["next_step"] = next_step
            body = json.dumps(asked).encode()
            request = b"%s%d\r\n\r\n%s" % (self._head, len(body), body)
            answer = _read(*self._server.post(request, deadline_s))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent goes on
            return self._allow(error)
        self._warned_s = -inf
        return answer

    async def acheck(self, run_id: RunId, next_step: str | None = None) -> Answer:
        """Ask as :meth:`check` does, while the event loop goes on."""
        asking = asyncio.to_thread(self.check, run_id, next_step)
        try:
            return await asyncio.wait_for(asking, self.timeout_s)
        except Exception as error:  # noqa: BLE001 - no thread was free, or none is to be had
            return self._allow(error)

    def guarded(
        self, run_id: RunId, next_step: str | None = None
    ) -> Callable[[Callable[_Given, _Made]], Callable[_Given, _Made]]:
        """Make a decorator: what it decorates, a function or an async one, is asked about before each call.

        Where the answer is ``stop`` it raises :class:`Stopped` instead of being called.

        Parameters
        ----------
        run_id : str or callable
            The run, or what tells it at each call.
        next_step : str, optional
            The step that the function is; by default the tool of its name.
        """

        def decorate(function: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
            step = next_step or f"tool:{getattr(function, '__name__', '?')}"

            @functools.wraps(function)
            def asking(*args: _Given.args, **kwargs: _Given.kwargs) -> _Made:
                _heed(self.check(run_id, step))
                return function(*args, **kwargs)

            @functools.wraps(function)
            async def waiting(*args: _Given.args, **kwargs: _Given.kwargs) -> Any:
                _heed(await self.acheck(run_id, step))
                return await cast("Awaitable[Any]", function(*args, **kwargs))

            is_async = inspect.iscoroutinefunction(function)
            return cast("Callable[_Given, _Made]", waiting) if is_async else asking

        return decorate

    def close(self) -> None:
        """Close the connections that are kept; whoever asks again opens new ones."""
        self._server.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _allow(self, error: Exception) -> Answer:
        """What a fault means; the log tells of the first, and of those that follow once a minute."""
        fault = f"{type(error).__name__}: {error}".removesuffix(": ")
        does, did = "does not answer", "gave no answer"
        if isinstance(error, TimeoutError):
            fault = f"no answer within {self.timeout_s:g} s"
        elif isinstance(error, _Refused):
            fault, does, did = str(error), "refuses to answer", "refused to answer"
        now_s = time.monotonic()
        is_told = now_s - self._warned_s < WARN_AGAIN_S
        if not is_told:
            self._warned_s = now_s
        level = logging.DEBUG if is_told else logging.WARNING
        _LOG.log(level, "Forkmap %s (%s): calls are allowed", does, fault)
        return Answer("allow", f"Forkmap {did}, so the call is allowed.", fault=fault)


class _Refused(Exception):
    """The server takes no such question from this client, so asking again is no use."""


def _heed(answer: Answer) -> None:
    if answer.action == "warn":
        _LOG.warning("%s", answer.reason)
    answer.raise_for_stop()


_TOLD: Mapping[str, tuple[type, ...]] = {
    "action": (str,),
    "reason": (str,),
    "policy": (str, type(None)),
    "foresight": (dict, type(None)),
    "map_age_s": (int, float, type(None)),
    "as_of": (str, type(None)),
}


def _read(status: int, body: bytes) -> Answer:
    """The answer that a server's document is; ValueError if it is none."""
    if status != 200:
        said = f"HTTP {status}{_detail(body)}"
        raise _Refused(said) if 400 <= status < 500 else ValueError(said)
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError("the answer is no JSON object")
    told = {name: document.get(name) for name in _TOLD}
    for name, kinds in _TOLD.items():
        if not isinstance(told[name], kinds):
            raise ValueError(f"the answer's {name} is {told[name]!r:.60}")
    if told["action"] not in ("allow", "warn", "stop"):
        raise ValueError(f"the answer's action is {told['action']!r:.60}")
    return Answer(**told, document=document)  # type: ignore[arg-type]


def _detail(body: bytes) -> str:
    """The sentence of a problem, behind a colon; nothing if there is none.

    >>> _detail(b'{"detail": "This key does not work."}'), _detail(b"<html>")
    (': This key does not work.', '')
    """
    try:
        return f": {json.loads(body)['detail']:.{_TOLD_CHARACTERS}}"
    except (ValueError, TypeError, LookupError, RecursionError):
        return ""


def _exchange(to: socket.socket, request: bytes, deadline_s: float) -> tuple[int, bytes, bool]:
    """Status and body of an answer, and whether the connection may be used again."""
    to.settimeout(_left_s(deadline_s))
    to.sendall(request)
    response = HTTPResponse(cast("socket.socket", _Until(to, deadline_s)), method="POST")
    response.begin()
    body = response.read(MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise ValueError("the answer is too long")
    if response.length:
        raise ValueError("the answer broke off")
    return response.status, body, response.isclosed() and not response.will_close


class _Until(io.RawIOBase):
    """What a socket receives until a deadline, however slowly it comes."""

    def __init__(self, of: socket.socket, deadline_s: float) -> None:
        self._of, self._deadline_s = of, deadline_s

    def makefile(self, mode: str) -> io.BufferedReader:
        """As a response asks of a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._of.settimeout(_left_s(self._deadline_s))
        return self._of.recv_into(buffer)


def _left_s(deadline_s: float) -> float:
    """Seconds until then; TimeoutError if none are left."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


class _Server:
    """Where questions go, and the connections to it that nobody uses at the moment."""

    def __init__(self, host: str, port: int | None, secure: bool) -> None:
        self._host, self._port = host, port or (443 if secure else 80)
        self._tls = ssl.create_default_context() if secure else None
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._idle: list[socket.socket] = []
        self._addresses: Future[list[tuple[Any, ...]]] | None = None
        self._lock = threading.Lock()

    def post(self, request: bytes, deadline_s: float) -> tuple[int, bytes]:
        """Status and body of what it answers.

        The request goes over a connection that was kept; where the server has closed these, over a new one.
        """
        if self._process != os.getpid():
            self.close()  # forked: two processes cannot share a connection, nor a thread that looks up
            self._begin()
        while True:
            kept = self._kept()
            connection = kept or self._connect(deadline_s)
            try:
                status, body, stays = _exchange(connection, request, deadline_s)
            except BaseException as error:
                connection.close()
                if kept is None or not isinstance(error, ConnectionError | ssl.SSLError):
                    raise
                continue
            self._idle.append(connection) if stays else connection.close()
            return status, body

    def _kept(self) -> socket.socket | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while (connection := self._kept()) is not None:
            connection.close()

    def _connect(self, deadline_s: float) -> socket.socket:
        """A connection to the first of its addresses that takes one; each has its share of the time."""
        addresses = self._resolve(deadline_s)
        for left in range(len(addresses), 1, -1):
            with contextlib.suppress(OSError):
                return self._open(addresses[-left], _left_s(deadline_s) / left, deadline_s)
        return self._open(addresses[-1], _left_s(deadline_s), deadline_s)

    def _open(self, found: tuple[Any, ...], share_s: float, deadline_s: float) -> socket.socket:
        family, kind, protocol, _, address = found
        plain = socket.socket(family, kind, protocol)
        try:
            plain.settimeout(share_s)
            plain.connect(address)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(_left_s(deadline_s))
            return self._tls.wrap_socket(plain, server_hostname=self._host) if self._tls else plain
        except BaseException:
            plain.close()
            raise

    def _resolve(self, deadline_s: float) -> list[tuple[Any, ...]]:
        """Its addresses. Looking them up knows no time-out: a thread does it, one at a time."""
        with self._lock:
            addresses = self._addresses
            if addresses is None or addresses.done():
                addresses = Future()
                threading.Thread(target=self._look_up, args=(addresses,), daemon=True).start()
                self._addresses = addresses
        return addresses.result(_left_s(deadline_s))

    def _look_up(self, addresses: Future[list[tuple[Any, ...]]]) -> None:
        try:
            addresses.set_result(socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            addresses.set_exception(error)
