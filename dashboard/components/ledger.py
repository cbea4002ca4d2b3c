"""The ledger of fuses: every firing, what it went by, and how its run ended after all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc
from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, policies, times, tokens, words
from dashboard.components.access import aria
from dashboard.components.drafts import percent_of
from dashboard.urls import Look
from engine.fuses import Firing
from engine.runs import Outcome, Source
from engine.statistics import wilson_one
from engine.store import Recorded

SHOWN = 50
"""Lines on a page."""
HEADS = (
    ("When", ""),
    ("Run", "run"),
    ("Agent", ""),
    ("Policy", ""),
    ("Said", ""),
    ("Steps", "number"),
    ("Earlier runs", "number"),
    ("Upper bound", "number"),
    ("Asked for", "number"),
    ("Ended since", ""),
)


def section(look: Look, names: Sequence[str], lines: Sequence[Recorded] | None, now_ns: int) -> Component:
    """The part of the ledger that is looked at.

    Parameters
    ----------
    names : sequence of str
        Policies that it can be narrowed down to.
    lines : sequence of Recorded or None
        A page of them, and one more if there are more; None where no run is called so.
    """
    shown: list[Any] = [html.P(_none(look, lines), role="status")]
    if lines:
        which = "Older lines" if look.after else "Newest first"
        caption = f"{which}. A run may be there more than once, as it is asked about before each call."
        shown = [html.Div(table(lines[:SHOWN], caption, now_ns), className="scroll")]
        shown += paging(look, lines[:SHOWN], len(lines) > SHOWN)
    head = html.Div([html.H2("Ledger"), narrowing(look, names)], className="card-head")
    return html.Section([head, *shown], className="card", id="ledger")


def _none(look: Look, lines: Sequence[Recorded] | None) -> str:
    """Why there is no line."""
    if lines is None:
        return f"No run in this store is called “{words.quoted(look.run)}”, and none has a trace of this id."
    if look.after:
        return "There are no older lines."
    whose = f"The fuse of {words.quoted(look.policy)} has not" if look.policy else "No fuse has"
    if look.run:
        return f"{whose} fired in the run {words.quoted(look.run)}."
    return f"{whose} fired yet: a line appears when an agent asks before a call and the odds are too low."


def table(lines: Sequence[Recorded], caption: str, now_ns: int) -> Component:
    """Lines of the ledger, newest first."""
    heads = html.Tr([html.Th(text, scope="col", className=name) for text, name in HEADS])
    rows = [_row(line, now_ns) for line in lines]
    return html.Table([html.Caption(caption), html.Thead(heads), html.Tbody(rows)], className="rates ledger")


def _row(line: Recorded, now_ns: int) -> Component:
    firing = line.firing
    href = urls.fuses_url(policy=firing.policy)
    high = wilson_one(firing.successes, firing.support)[1]
    return html.Tr(
        [
            html.Td(times.ago(firing.time_ns, now_ns), className="dim"),
            html.Th(_run(line), scope="row"),
            html.Td(html.Span(firing.agent, className="clip", title=firing.agent)),
            html.Td(html.Link(firing.policy, href=href, className="clip", title=firing.policy)),
            html.Td(policies.badge(firing.action, firing.mode)),
            html.Td(_steps(firing), className="number"),
            html.Td(f"{firing.successes:,} of {firing.support:,}", className="number", title=firing.reason),
            html.Td(words.percent(high), className="number", title=firing.reason),
            html.Td(f"{percent_of(firing.odds)}%", className="number dim"),
            html.Td(_ended(line)),
        ],
        id=f"firing-{line.number}",
    )


def _run(line: Recorded) -> Component:
    run_id = line.firing.run_id
    if line.outcome is None:
        return html.Span(run_id, className="run-id clip dim", title=run_id)
    return evidence.run_link(run_id, Look())


def _steps(firing: Firing) -> list[Any]:
    if firing.next_step is None:
        return [f"{firing.steps:,}"]
    return [f"{firing.steps:,}, then ", tokens.signature(firing.next_step)]


def _ended(line: Recorded) -> list[Component]:
    """The outcome that counts now, who says so, and whether that makes the firing a false one."""
    if line.outcome is None:
        return [html.Span("the run is gone", className="dim")]
    if line.outcome is Outcome.UNKNOWN or line.source is None:
        return [evidence.outcome(Outcome.UNKNOWN)]
    said = html.Span(words.SOURCES[line.source], className="dim small")
    wrong = line.outcome is Outcome.SUCCESS and line.source is not Source.INFERRED
    false = [html.Span(policies.FALSE[line.firing.action], className="badge badge-cut")] if wrong else []
    return [html.Span([evidence.outcome(line.outcome), said, *false], className="ended")]


def narrowing(look: Look, names: Sequence[str]) -> Component:
    """The form that narrows the ledger down to a policy or a run."""
    options = [html.Option("every policy", value="")]
    options += [html.Option(name, value=name, selected=name == look.policy) for name in names]
    box = dcc.Input(
        id="ledger-run",
        type="text",
        name="run",
        value=look.run,
        placeholder="run or trace id",
        autoComplete="off",
    )
    every = [html.Link("All of it", href=urls.fuses_url())] if look.policy or look.run else []
    return html.Form(
        [
            html.Label("Policy", htmlFor="ledger-policy"),
            html.Select(options, id="ledger-policy", name="policy"),
            html.Label("Run", htmlFor="ledger-run"),
            box,
            html.Button("Show", type="submit", className="button"),
            *every,
        ],
        action=urls.FUSES,
        method="get",
        className="say ledger-form",
    )


def paging(look: Look, lines: Sequence[Recorded], more: bool) -> list[Component]:
    """Links to the newest lines and to older ones, if these are not all."""
    links = []
    if look.after:
        links.append(html.Link("Newest", href=urls.fuses_url(look.policy, look.run)))
    if more:
        older = urls.fuses_url(look.policy, look.run, lines[-1].number)
        links.append(html.Link("Older", href=older))
    return [html.Nav(links, className="pages", **aria(label="Pages of the ledger"))] if links else []
