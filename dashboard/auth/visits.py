"""Where a request comes from, as far as that can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Proxy(NamedTuple):
    """The reverse proxy in front of the server, if there is one.

    Attributes
    ----------
    address : str
        The one peer whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed; "" for none.
    tenant_header : str
        The header in which it names the tenant that may be read; "" for none.
    """

    address: str = ""
    tenant_header: str = ""


NO_PROXY = Proxy()


class Visit(NamedTuple):
    """What the connection of a request says.

    Attributes
    ----------
    address : str
        Who sent it: the peer, or whom the proxy names.
    secure : bool
        Whether it came over TLS.
    tenant : str
        The tenant that the proxy names, "" if none.
    local : bool
        Whether it comes from this machine, and through no proxy.
    """

    address: str
    secure: bool
    tenant: str
    local: bool


def visit(environ: Mapping[str, Any], proxy: Proxy = NO_PROXY) -> Visit:
    """Read a WSGI environment; headers count only if they come from the proxy.

    >>> sent = {"REMOTE_ADDR": "10.0.0.2", "HTTP_X_FORWARDED_FOR": "1.1.1.1, 2.2.2.2"}
    >>> visit(sent, Proxy("10.0.0.2")).address, visit(sent, Proxy("10.0.0.3")).address
    ('2.2.2.2', '10.0.0.2')
    >>> visit({"REMOTE_ADDR": "127.0.0.1"})
    Visit(address='127.0.0.1', secure=False, tenant='', local=True)
    """
    peer = plain_address(str(environ.get("REMOTE_ADDR") or ""))
    secure = environ.get("wsgi.url_scheme") == "https"
    if not (proxy.address and peer == plain_address(proxy.address)):
        local = is_loopback(peer) and not any(environ.get(name) for name in _FORWARDED)
        return Visit(peer, secure, "", local)
    client = plain_address(str(environ.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2])
    secure = secure or environ.get("HTTP_X_FORWARDED_PROTO", "").strip().lower() == "https"
    return Visit(client or peer, secure, _tenant(environ, proxy.tenant_header), False)


def _tenant(environ: Mapping[str, Any], header: str) -> str:
    sent = str(environ.get(f"HTTP_{header.upper().replace('-', '_')}", "")) if header else ""
    return sent.strip().encode("latin-1", "replace").decode("utf-8", "replace")


@lru_cache
def plain_address(text: str) -> str:
    """An address without a port; one of IPv4 that came over IPv6 is one of IPv4.

    >>> plain_address("::ffff:192.0.2.1"), plain_address(" 192.0.2.1:1001"), plain_address("[2001:db8::1]:80")
    ('192.0.2.1', '192.0.2.1', '2001:db8::1')
    """
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        known = ip_address(host)
    except ValueError:
        return host
    return str((known.ipv4_mapped if isinstance(known, IPv6Address) else None) or known)


@lru_cache
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(host: str) -> str:
    """A host header without its port, in small letters.

    >>> host_name("LOCALHOST:8050"), host_name("[::1]:8050"), host_name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


@lru_cache
def network(address: str) -> str:
    """Whom an address stands for: of IPv6, one customer has 2**64.

    >>> network("2001:db8::1") == network("2001:db8::2"), network("192.0.2.1"), network("?")
    (True, '192.0.2.1', '?')
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address
    return str(IPv6Address(int(known) >> 64 << 64)) if known.version == 6 else address


def is_foreign(origin: str | None, host: str) -> bool:
    """Whether a browser says that a page of another site sends this.

    >>> is_foreign("http://evil.example", "localhost:8050"), is_foreign("null", "localhost:8050")
    (True, True)
    >>> is_foreign("http://LOCALHOST:8050", "localhost:8050"), is_foreign(None, "localhost:8050")
    (False, False)
    >>> is_foreign("http://[", "localhost:8050"), is_foreign("https://forkmap.example", "forkmap.example:443")
    (True, False)
    """
    if origin is None:
        return False
    try:
        came = urlsplit(origin)
    except ValueError:
        return True
    usual = {"http": ":80", "https": ":443"}.get(came.scheme, "")
    return came.netloc.lower().removesuffix(usual) != host.lower().removesuffix(usual)
