"""Passing connections on: those that ask checks go to a process that answers little else.

Where spans come in, an interpreter is busy for milliseconds at a time, and a check, which takes a fraction
of one, would wait for it again and again. Workers share one port, so any of them may be asked; it hands
the connection over, with what has come of it, and whatever is asked over it from then on is answered there.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Final, NamedTuple

from waitress.wasyncore import dispatcher

from dashboard import urls

BEGINNING: Final = f"POST {urls.API_CHECK} ".encode()
"""How a connection that asks a check begins."""
MOST_BYTES: Final = 1 << 14
"""A longer beginning is answered where it came."""


class Passage(NamedTuple):
    """Both ends of the way that connections are passed on; forked processes share it."""

    give: socket.socket
    take: socket.socket


def passage() -> Passage:
    """A new way; neither end waits for the other."""
    ends = Passage(*socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    for end in ends:
        end.setblocking(False)
    return ends


def is_passed(give: socket.socket, connection: Any, data: bytes) -> bool:
    """Whether a connection that begins with these bytes was passed on; its socket here may be closed then."""
    if not data.startswith(BEGINNING) or len(data) > MOST_BYTES:
        return False
    try:
        socket.send_fds(give, [data], [connection.fileno()])
    except OSError:  # Nobody has taken those before it yet.
        return False
    return True


class Taking(dispatcher):
    """Takes what is passed on into a waitress server, in its loop, up to as many as that may hold."""

    def __init__(self, server: Any, take: socket.socket) -> None:
        super().__init__(take, map=server._map)
        self._server, self._end = server, take

    def readable(self) -> bool:
        """Whether there is room for one more; what is not taken yet waits, or is answered where it came."""
        return len(self._server._map) < int(self._server.adj.connection_limit)

    def writable(self) -> bool:
        """Nothing is ever said back."""
        return False

    def handle_read(self) -> None:
        """Take the next connection, if it is there still."""
        with suppress(OSError):
            data, files, _, _ = socket.recv_fds(self._end, MOST_BYTES, 1)
            for file in files:
                self._take(socket.socket(fileno=file), data)

    def _take(self, connection: socket.socket, data: bytes) -> None:
        server = self._server
        try:
            address = server.fix_addr(connection.getpeername())
            server.set_socket_options(connection)
        except OSError:
            connection.close()
            return
        channel = server.channel_class(server, connection, address, server.adj, map=server._map)
        try:
            channel.received(data)
        except Exception:  # noqa: BLE001 - it ends that connection, and not the way for all others
            channel.handle_error()
