"""How waitress hands requests to threads: what is asked before each call of an agent waits for nothing else.

Pages may wait for the store and requests of spans take long, so all of their threads can be busy at
once; checks and probes have a thread of their own. It is one, as two would take the interpreter from
each other at every turn. A small answer is sent in one piece, since each system call lets go of it too.
A process that is there for checks answers them in the thread that reads from connections.
"""

from __future__ import annotations

from socket import socket
from typing import Any

from flask import Flask
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import ThreadedTaskDispatcher, WSGITask

from dashboard import urls
from dashboard.passing import Taking, is_passed

QUICK = frozenset({urls.API_CHECK, urls.HEALTHY, urls.READY})
"""Paths that have a thread of their own."""
QUICK_WAITING = 4
"""Requests that wait for it at most, should one be slow after all; more go to the other threads."""
PIECE_BYTES = 1 << 16
"""A longer answer is sent after its head."""


class Lanes(ThreadedTaskDispatcher):
    """Threads for most requests, and one for those that are quick, unless these are answered ``at_once``."""

    def __init__(self, threads: int, at_once: bool) -> None:
        super().__init__()
        self._at_once = at_once
        self.set_thread_count(threads)
        self._quick = ThreadedTaskDispatcher()
        self._quick.set_thread_count(1)

    def add_task(self, task: Any) -> None:
        """Take a connection whose next request is to be answered."""
        is_quick = getattr(task.requests[0], "path", None) in QUICK
        if is_quick and self._at_once and task.is_receiving:
            task.is_due = True
        elif is_quick and len(self._quick.queue) < QUICK_WAITING:
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


class Channel(HTTPChannel):
    """A connection that is answered like this.

    Attributes
    ----------
    is_receiving, is_due : bool
        Whether its bytes are being taken in, and whether a request of them is to be answered right then.
    """

    server: Any
    task_class = Answer
    is_receiving = is_due = False

    def received(self, data: bytes) -> bool:
        """Take in what came, pass the connection on, or answer at once."""
        give = self.server.give
        if give and not (self.request or self.requests) and is_passed(give, self.socket, data):
            self.handle_close()
            return False
        self.is_receiving = True
        came = bool(super().received(data))
        self.is_receiving = False
        if self.is_due:
            self.is_due = False
            self.service()
        return came


def serving(
    app: Flask, threads: int, give: socket | None = None, take: socket | None = None, **settings: Any
) -> Any:
    """A waitress that runs an application so; its ``run`` ends when it is interrupted.

    Parameters
    ----------
    threads : int
        Requests answered at once, beside the quick ones.
    give, take : socket, optional
        Where connections that ask checks are passed on to; where those are taken, and no others.
    **settings
        What else waitress is told, its sockets first of all.
    """
    server: Any = create_server(app, _dispatcher=Lanes(threads, at_once=take is not None), **settings)
    server.channel_class, server.give = Channel, give
    if take is not None:
        server.accepting = False
        Taking(server, take)
    return server
