"""The sign-in page: a plain form, drawn by the server in the look of the pages.

The cookie of a session is ``SameSite=Strict``: a browser that follows a link from elsewhere does
not send it, neither to the page nor to the sign-in the page redirects to. So the sign-in looks
again first, by a step of its own, which does send it; only who is signed out then sees the form.
"""

from __future__ import annotations

from functools import partial

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.auth import plain
from dashboard.auth.gate import Gate, refuse_foreign

_PAGE = """<main class="signin">
{% if again %}
<p><a href="{{ again }}">Go on to Forkmap</a></p>
{% else %}
<form method="post" action="/signin" class="card">
<h1>Sign in to Forkmap</h1>
<p class="dim" id="how">With a key of your team: whoever runs this server makes one with
<code>forkmap keys create --tenant TEAM --role read</code>.</p>
<input type="text" name="username" autocomplete="username" value="Forkmap" hidden>
<label for="key">Key</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false"
 required autofocus placeholder="fmk_…"
 aria-describedby="how{% if said %} said{% endif %}"{% if said %} aria-invalid="true"{% endif %}>
{% if said %}<p class="signin-said" id="said" role="alert">{{ said }}</p>{% endif %}
<input type="hidden" name="next" value="{{ target }}">
<button type="submit" class="button primary">Sign in</button>
</form>
{% endif %}
</main>
"""


def register(server: Flask, gate: Gate) -> None:
    """Add the sign-in and the sign-out to a server."""
    server.add_url_rule(urls.SIGN_IN, "sign_in", partial(show, gate), methods=["GET"])
    server.add_url_rule(urls.SIGN_IN, "signed_in", partial(sign_in, gate), methods=["POST"])
    server.add_url_rule(urls.SIGN_OUT, "sign_out", partial(sign_out, gate), methods=["POST"])


def show(gate: Gate) -> Answer:
    """The form; who is signed in is led on."""
    target = urls.local(request.args.get("next", ""))
    if gate.known(request):
        return redirect(target)
    if came_from_elsewhere():
        return _page(again=f"{urls.sign_in_url(target)}&again=1")
    return _page(target=target)


def came_from_elsewhere() -> bool:
    """Whether the browser may have held the cookie back; a browser that says nothing may have."""
    told = request.headers.get("Sec-Fetch-Site")
    return "again" not in request.args and told not in ("same-origin", "none")


def sign_in(gate: Gate) -> Answer:
    """Take the key, or say what is wrong with it."""
    refuse_foreign(request)
    target = urls.local(request.form.get("next", ""))
    try:
        return gate.sign_in(request.form.get("key", ""), redirect(target, 303))
    except HTTPException as error:
        answer = _page(target=target, said=str(error.description))
        answer.status_code = error.code or 500
        answer.headers.extend(header for header in error.get_headers() if header[0] != "Content-Type")
        return answer


def sign_out(gate: Gate) -> Answer:
    """End the session; the form comes next."""
    refuse_foreign(request)
    return gate.sign_out(redirect(f"{urls.SIGN_IN}?again=1", 303))


def _page(target: str = urls.HOME, said: str = "", again: str = "") -> Response:
    return plain.page("Sign in", _PAGE, again, target=target, said=said)
