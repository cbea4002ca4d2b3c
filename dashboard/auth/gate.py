"""The one gate: every request passes it, and whoever it lets through is known by then.

A key in ``Authorization`` (or ``X-API-Key``) goes before a tenant that the trusted proxy names,
and that before the cookie of a session. Where no key was ever made, whoever sits at this machine
may do everything, and nobody else anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request, abort, g, redirect, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import HTTPException, TooManyRequests, Unauthorized
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.auth import roles, sessions
from dashboard.auth.checking import UNREADABLE, KeyCheck, TooManyKeysError
from dashboard.auth.visits import NO_PROXY, Proxy, Visit, host_name, is_foreign, is_loopback, visit
from dashboard.components import drafts
from engine.authentication import NEEDED, bearer
from engine.errors import KeyRefusedError, StoreError
from engine.keys import Caller, Role
from engine.store import Store

FORM = "application/x-www-form-urlencoded"
"""What a form on a page is sent as, and by curl whatever it sends."""
SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing."""
REFUSED = "forkmap.refused"
"""Where a request keeps why nobody is let in by it."""
ELSEWHERE = (
    "A page of another site sent this, and may not. If it was a page of Forkmap, a proxy in between"
    " must pass its host on, in the header Host."
)
ONLY_HERE = "This dashboard answers on this machine only."

_log = logging.getLogger(__name__)


class Asked(Request):
    """A request whose query is UTF-8, whatever bytes were sent: nothing that reads it stumbles over them."""

    def __init__(self, *environment: Any, **how: Any) -> None:
        super().__init__(*environment, **how)
        self.query_string = self.query_string.decode(errors="replace").encode()


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides who asks.

    Attributes
    ----------
    anyone : Caller
        Who asks where no key was ever made.
    now_s : callable
        The wall clock, in seconds since the epoch: sessions end by it.
    """

    keys: KeyCheck
    anyone: Caller
    proxy: Proxy = NO_PROXY
    now_s: Callable[[], float] = time.time

    def guard(self, server: Flask) -> None:
        """Stand before every route of a server; to be called before any other check is added."""
        server.request_class = Asked
        server.before_request(self.check)

    def check(self) -> Answer | None:
        """Let a request pass, or say why not."""
        rule = request.url_rule.rule if request.url_rule else None
        needed = roles.needed(rule, request.method)
        if needed is None:
            return None
        caller = self.known(request)
        if caller is None and roles.is_page(rule, request.method, request.path):
            return redirect(urls.sign_in_url(request.full_path.removesuffix("?")))
        if caller is None and request.mimetype == FORM and not roles.is_program(request.path):
            return redirect(urls.sign_in_url(form_page()), 303)
        if caller is None:
            raise refusal(KeyRefusedError(NEEDED))
        if not caller.may(needed):
            abort(403, f"This takes a key of the role {needed}, and this one has the role {caller.role}.")
        g.caller = caller
        return None

    def known(self, asked: Request) -> Caller | None:
        """Who asks, None if they are not signed in; a wrong key is an error, and counted once a request."""
        if REFUSED in asked.environ:
            raise asked.environ[REFUSED]
        try:
            return self._known(asked)
        except HTTPException as error:
            asked.environ[REFUSED] = error
            raise

    def _known(self, asked: Request) -> Caller | None:
        came = visit(asked.environ, self.proxy)
        shown = bearer(asked.headers.get("Authorization")) or asked.headers.get("X-API-Key", "")
        with _answered():
            if shown:
                return self.keys.key(shown, came.address).caller
            refuse_foreign(asked)
            if came.tenant:
                return Caller(came.tenant, Role.READ)
            if not self.store.has_keys():
                return self._anyone(asked, came)
            return self._in_session(asked)

    @property
    def store(self) -> Store:
        """The store whose keys open."""
        return self.keys.store

    def _anyone(self, asked: Request, came: Visit) -> Caller:
        if not is_loopback(host_name(asked.host)):
            abort(421, ONLY_HERE)
        if self.proxy.address or not came.local:
            abort(403, f"{ONLY_HERE} To let others in, make a key: forkmap keys create --role read")
        return self.anyone

    def _in_session(self, asked: Request) -> Caller | None:
        secret = self.store.secret()
        value = asked.cookies.get(sessions.cookie_name(secret), "")
        key_id = sessions.key_id(secret, value, self.now_s())
        key = self.store.key(key_id) if key_id else None
        return key.caller if key and key.revoked_ns is None else None

    def sign_in(self, shown: str, answer: Answer) -> Answer:
        """Begin a session of a key, on the answer; a key that does not sign in is an error."""
        with _answered():
            key = self.keys.key(shown, visit(request.environ, self.proxy).address)
            if not key.caller.may(Role.READ):
                raise KeyRefusedError("This key only sends spans: pages take a read or an admin key.")
            secret = self.store.secret()
        value = sessions.issue(secret, key.key_id, self.now_s())
        return self._set(answer, sessions.cookie_name(secret), value, sessions.LIFE_S)

    def sign_out(self, answer: Answer) -> Answer:
        """End the session, on the answer."""
        with _answered():
            name = sessions.cookie_name(self.store.secret())
        return self._set(answer, name, "", 0)

    def _set(self, answer: Answer, name: str, value: str, life_s: int) -> Answer:
        secure = visit(request.environ, self.proxy).secure
        answer.set_cookie(name, value, life_s, secure=secure, httponly=True, samesite="Strict")
        return answer


def refuse_foreign(asked: Request) -> None:
    """Refuse a change that a page of another site asks for: the browser adds the cookie by itself."""
    if asked.method not in SAFE and is_foreign(asked.headers.get("Origin"), asked.host):
        abort(403, ELSEWHERE)


@contextmanager
def _answered() -> Iterator[None]:
    """Let what goes wrong with a key, or with the store, end as HTTP says it; no path of a file is told."""
    try:
        yield
    except KeyRefusedError as error:
        raise refusal(error) from error
    except StoreError as error:
        _log.error("no caller can be known: %s", error)
        abort(503, UNREADABLE)


def form_page() -> str:
    """The page that a form was sent from, as a path of this server; a policy's keeps what was typed."""
    if request.path == urls.SAVE_POLICY:
        draft = drafts.write(drafts.typed(request.form))
        return urls.fuses_url(edit=request.form.get("edit", ""), draft=draft)
    try:
        sent_from = urlsplit(request.referrer or "")
    except ValueError:
        return urls.HOME
    return urls.local(sent_from._replace(scheme="", netloc="").geturl())


def caller() -> Caller:
    """Who asks, inside a request that passed the gate."""
    asking: Caller = g.caller
    return asking


def refusal(error: KeyRefusedError) -> Unauthorized | TooManyRequests:
    """What HTTP says of a key that lets nobody in."""
    if isinstance(error, TooManyKeysError):
        return TooManyRequests(str(error), retry_after=error.wait_s)
    return Unauthorized(str(error), www_authenticate=WWWAuthenticate("bearer", {"realm": "Forkmap"}))
