"""The scripts and the styles of ``assets/``, each as one file: a browser asks for two and not for thirty.

Their addresses name what they hold, so that a browser keeps them for good. Under another's address, as a page
of another version asks while a server is upgraded, they are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from flask import Flask, Response, request

TYPES: Final = {"css": "text/css", "js": "text/javascript"}
RULES: Final = {kind: f"/assets/all.{kind}" for kind in TYPES}
APART: Final = "theme.js"
"""It stands in the head, where it runs before anything is drawn."""
KEPT_S: Final = 365 * 24 * 3600


class Bundle(NamedTuple):
    """Files of a kind, one after the other by their names, and where they are asked for."""

    address: str
    body: bytes


def bundles(folder: Path) -> dict[str, Bundle]:
    """The bundle of each kind: ``css`` and ``js``."""
    return {kind: _bundle(folder, kind) for kind in TYPES}


def _bundle(folder: Path, kind: str) -> Bundle:
    files = sorted(file for file in folder.glob(f"*.{kind}") if file.name != APART)
    body = b"\n".join(file.read_bytes() for file in files)
    return Bundle(f"{RULES[kind]}?m={blake2b(body, digest_size=8).hexdigest()}", body)


def register(server: Flask, made: Mapping[str, Bundle]) -> None:
    """Serve them."""

    def serve(bundle: Bundle, kind: str) -> Response:
        response = Response(bundle.body, mimetype=TYPES[kind])
        if request.full_path == bundle.address:
            response.cache_control.public, response.cache_control.max_age = True, KEPT_S
            response.cache_control.immutable = True
        return response

    for kind, bundle in made.items():
        server.add_url_rule(RULES[kind], RULES[kind], partial(serve, bundle, kind))
