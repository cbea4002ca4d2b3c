"""How waitress hands requests to threads: what is asked before each call of an agent waits for nothing else.

Pages may wait for the store and requests of spans take long, so all of their threads can be busy at
once; checks and probes have a thread of their own. It is one, as two would take the interpreter from
each other at every turn. A small answer is sent in one piece, since each system call lets go of it too.
A process that is there for checks answers the usual ones in the thread that reads from connections.
"""

from __future__ import annotations

from copy import copy
from socket import socket
from typing import Any, ClassVar
from weakref import WeakSet

from flask import Flask
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ThreadedTaskDispatcher, WSGITask

from dashboard import urls, usual
from dashboard.passing import Taking, is_passed
from engine.ingest.limits import LIMITS

QUICK = frozenset({urls.API_CHECK, urls.HEALTHY, urls.READY})
"""Paths that have a thread of their own."""
QUICK_WAITING = 4
"""Requests that wait for it at most, should one be slow after all; more go to the other threads."""
LONG = frozenset({urls.IMPORT})
"""Paths that whole files are sent to."""
LONG_AT_ONCE = 4
"""Files that come in at once at most: each is kept on the disk until all of it is there."""
PIECE_BYTES = 1 << 16
"""A longer answer is sent after its head."""


class Lanes(ThreadedTaskDispatcher):
    """Threads for most requests, and one for those that are quick."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.set_thread_count(threads)
        self._quick = ThreadedTaskDispatcher()
        self._quick.set_thread_count(1)

    def add_task(self, task: Any) -> None:
        """Take a connection whose next request is to be answered."""
        is_quick = getattr(task.requests[0], "path", None) in QUICK
        if is_quick and len(self._quick.queue) < QUICK_WAITING:
            self._quick.add_task(task)
        else:
            super().add_task(task)

    def shutdown(self, cancel_pending: bool = True, timeout: int = 5) -> bool:
        """End the threads, after what they are at."""
        self._quick.shutdown(cancel_pending, timeout)
        return super().shutdown(cancel_pending, timeout)


class Answer(WSGITask):
    """Sends a small answer with its head."""

    def write(self, data: bytes) -> None:
        """Send a part of the body, the first one after the head."""
        is_whole = self.has_body and self.content_length == len(data) <= PIECE_BYTES
        if self.wrote_header or not is_whole:
            super().write(data)
            return
        self.channel.write_soon(self.build_response_header() + data)
        self.wrote_header = True
        self.content_bytes_written = len(data)


class Parser(HTTPRequestParser):
    """Reads requests; a head that waitress cannot read is wrong, whatever it stumbles over."""

    adj: Any
    path: str
    _coming: ClassVar[WeakSet[Parser]] = WeakSet()

    def parse_header(self, header_plus: bytes) -> None:
        """Read the first line and the headers, and how long the body may be."""
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # A length of 5,000 digits, say, or an address whose bracket stays open.
            raise ParsingError("A length or an address cannot be read") from error
        if self.path in LONG:
            self._let_come()

    def _let_come(self) -> None:
        """Take a longer body, unless too many come already."""
        if sum(not other.completed for other in self._coming) >= LONG_AT_ONCE:
            raise ParsingError("Too many files are sent at once: send this one again in a while")
        self._coming.add(self)
        self.adj = self.adj.of_files


class Channel(HTTPChannel):
    """A connection that is answered like this."""

    server: Any
    _flush_some: Any
    task_class = Answer
    parser_class = Parser

    def received(self, data: bytes) -> bool:
        """Take in what came, pass the connection on, or answer at once."""
        if self.server.give and self._is_idle() and is_passed(self.server.give, self.socket, data):
            self.handle_close()
            return False
        if self.server.at_once and self._is_idle() and (asked := usual.environ(data, self.addr[0])):
            self._say(usual.answer(self.server.application, asked))
            return True
        return bool(super().received(data))

    def _is_idle(self) -> bool:
        """Whether nothing is asked or answered, and the connection stays."""
        busy = self.request or self.requests or self.total_outbufs_len
        return not (busy or self.will_close or self.close_when_flushed)

    def _say(self, answer: bytes) -> None:
        """Send an answer, now or as soon as it can be."""
        with self.outbuf_lock:
            self.outbufs[-1].append(answer)
            self.current_outbuf_count += len(answer)
            self.total_outbufs_len += len(answer)
            self._flush_some()


def serving(
    app: Flask,
    threads: int,
    give: socket | None = None,
    take: socket | None = None,
    file_bytes: int = LIMITS.max_file_bytes,
    **settings: Any,
) -> Any:
    """A waitress that runs an application so; its ``run`` ends when it is interrupted.

    Parameters
    ----------
    threads : int
        Requests answered at once, beside the quick ones.
    give, take : socket, optional
        Where connections that ask checks are passed on to; where those are taken, and no others.
    file_bytes : int
        How long a file may be that is sent to one of :data:`LONG`.
    **settings
        What else waitress is told, its sockets first of all.
    """
    server: Any = create_server(app, _dispatcher=Lanes(threads), **settings)
    server.channel_class, server.give, server.at_once = Channel, give, take is not None
    server.adj.of_files = copy(server.adj)
    server.adj.of_files.max_request_body_size = file_bytes + 1
    if take is not None:
        server.accepting = False
        Taking(server, take)
    return server
