"""Sockets that listen: at a port, or at the first that is free."""

from __future__ import annotations

import socket
from contextlib import suppress
from errno import EADDRNOTAVAIL
from typing import Any

from engine.errors import ForkmapError

HOST = "127.0.0.1"
PORT = 8050
"""The port that is tried first; taken ones are passed over."""
_TRIED = 20
_NOWHERE = "is no address of this machine: choose another with --host"


def first_free(host: str = HOST) -> socket.socket:
    """A listening socket at the first free port from 8050.

    Raises
    ------
    ForkmapError
        None of the next 20 is free.
    """
    listening(0, host).close()  # Says so if the host is the trouble.
    for port in range(PORT, PORT + _TRIED):
        with suppress(ForkmapError):
            return listening(port, host)
    raise ForkmapError(f"ports {PORT} to {PORT + _TRIED - 1} are all taken: choose another with --port")


def listening(port: int, host: str = HOST) -> socket.socket:
    """A listening socket at a port; at port 0 the system chooses one.

    Raises
    ------
    ForkmapError
        The port is taken, or may not be used; or the host is no address of this machine.
    """
    family, address = _address(host, port)
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == EADDRNOTAVAIL:
            raise ForkmapError(f"{host} {_NOWHERE}") from error
        raise ForkmapError(f"port {port} is taken or may not be used: choose another with --port") from error
    return listener


def _address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """What a socket is bound to for a host's name or address."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ForkmapError(f"{host} {_NOWHERE}") from error
    return family, address


def in_url(host: str) -> str:
    """A host as a URL writes it.

    >>> in_url("::1"), in_url("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host
