"""Pages that the server draws itself, in the look of the others: the sign-in, and what was refused."""

from __future__ import annotations

from flask import Response, render_template_string, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as Answer

from dashboard.auth.gate import form_page

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{% if again %}<meta http-equiv="refresh" content="0; url={{ again }}">{% endif %}
<title>{{ title }} · Forkmap</title>
<link rel="icon" href="/_favicon.ico">
<script src="/assets/theme.js"></script>
<link rel="stylesheet" href="/assets/theme.css">
<link rel="stylesheet" href="/assets/app.css">
</head>
<body>
"""
_REFUSED = """<main class="state card">
<h1>This was not done</h1>
<p>{{ sentence }}</p>
<p><a href="{{ back }}">Back</a> · <a href="/">All agents</a></p>
</main>
"""


def page(title: str, body: str, again: str = "", **values: str) -> Response:
    """A page of a template; one that is led on by itself to an address ``again``."""
    text = render_template_string(f"{_FRAME}{body}</body>\n</html>\n", title=title, again=again, **values)
    return Response(text, mimetype="text/html")


def refused(error: HTTPException) -> HTTPException | Answer:
    """What was refused, to a person with the way back to what they typed; to a script in a sentence."""
    if error.response or (error.code or 0) < 400:
        return error
    sentence = error.description or error.name
    if "text/html" in request.headers.get("Accept", ""):
        answer = page(error.name, _REFUSED, sentence=sentence, back=form_page())
    else:
        answer = Response(sentence, mimetype="text/plain")
    answer.status_code = error.code or 500
    answer.headers.extend(header for header in error.get_headers() if header[0] != "Content-Type")
    return answer
