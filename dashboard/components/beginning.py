"""An empty store: three ways to get runs into it, each to be copied."""

from __future__ import annotations

import shlex

from dash import html
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components.access import aria, data
from engine.keys import DEFAULT_TENANT


def beginning(origin: str, keyed: bool, store: str, tenant: str, chooser: Component | None) -> Component:
    """How to begin.

    Parameters
    ----------
    origin : str
        This server's own address, as the browser knows it.
    keyed : bool
        Whether spans are taken with a key only.
    store : str
        Path of the store's file, "" for whom it is not told.
    chooser : Component or None
        The button that files are chosen with, None for whom nothing is imported.
    """
    ways = [
        _way(
            "Send them as they happen",
            "Any OpenTelemetry exporter, set by its environment:",
            exporter(origin, keyed),
            "Runs appear here by themselves as soon as the first spans are in."
            + (
                " Put a key of the role ingest in place of KEY: forkmap keys create --role ingest"
                if keyed
                else ""
            ),
        ),
        _way(
            "Import files with the command",
            "On this machine, any number of them:",
            command(store, tenant),
            "OTLP (JSON and protobuf, as exporters write it), Forkmap's own lines, results of tau-bench and "
            "tau2-bench, recorded conversations; plain or gzip-compressed.",
        ),
        _drop(chooser),
    ]
    return html.Div(
        [
            html.H1("No runs yet"),
            html.P(
                "Forkmap reads traces of AI agents and shows where runs fork, and which forks are fatal. "
                "There are three ways to get them in:",
                className="headline",
            ),
            html.Ol(ways, className="ways"),
            html.Div(
                [
                    html.P("Or look around first in a demo corpus, in a store of its own:"),
                    copied("forkmap demo"),
                ],
                className="demo",
            ),
        ],
        className="beginning",
    )


def exporter(origin: str, keyed: bool) -> str:
    """The environment of an exporter that sends to an address.

    >>> print(exporter("http://127.0.0.1:8050", keyed=True))
    export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:8050/v1/traces
    export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
    export OTEL_EXPORTER_OTLP_TRACES_HEADERS=Authorization=Bearer%20KEY
    """
    lines = {"ENDPOINT": shlex.quote(f"{origin}{urls.TRACES}"), "PROTOCOL": "http/protobuf"}
    lines |= {"HEADERS": "Authorization=Bearer%20KEY"} if keyed else {}
    return "\n".join(f"export OTEL_EXPORTER_OTLP_TRACES_{name}={value}" for name, value in lines.items())


def command(store: str, tenant: str) -> str:
    """The command that imports into a store.

    >>> command("my runs.sqlite", "acme"), command("", "default")
    ("forkmap import --store 'my runs.sqlite' --tenant acme traces.jsonl", 'forkmap import traces.jsonl')
    """
    where = ["--store", store] if store else []
    whose = ["--tenant", tenant] if tenant != DEFAULT_TENANT else []
    return shlex.join(["forkmap", "import", *where, *whose, "traces.jsonl"])


def _way(heading: str, before: str, text: str, after: str) -> Component:
    inside = [html.P(before), copied(text), html.P(after, className="dim small")]
    return html.Li([html.H2(heading), html.Div(inside)], className="card")


def _drop(chooser: Component | None) -> Component:
    if chooser is None:
        said: list[Component] = [
            html.P("Your key may look, and not send: sign in with an admin key to import files here.")
        ]
    else:
        said = [html.P("Anywhere on this page, as many as you like, or choose them:"), chooser]
    note = html.P(
        "They are read as the command reads them, and what is refused is named.", className="dim small"
    )
    return html.Li([html.H2("Drop files here"), html.Div([*said, note])], className="card drop")


def copied(text: str) -> Component:
    """A text to type, and a button that copies it."""
    button = html.Button(
        "Copy", type="button", className="copy", **data(copy=text), **aria(label=f"Copy {text}")
    )
    return html.Div([html.Pre(html.Code(text), className="commands", tabIndex=0), button], className="copied")


def chooser(text: str, max_bytes: int) -> Component:
    """The button that ``assets/import.js`` answers; while it is there, files can be dropped on the page."""
    return html.Button(
        text,
        type="button",
        className="button",
        title="Or drop them anywhere on this page",
        **data(sends=urls.IMPORT, most=str(max_bytes)),
    )
