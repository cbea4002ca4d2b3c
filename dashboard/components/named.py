"""What a pasted text names: runs and agents in lines, or nothing, and what is like it."""

from __future__ import annotations

from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import evidence, html, times, words
from dashboard.urls import Look
from engine.keys import Caller
from engine.queries import Found, Named, Near
from engine.runs import Window


def runs(found: Sequence[Named], now_ns: int) -> list[Component]:
    """A line a run: how it ended, whose it is, when it began."""
    return [_run(each, now_ns) for each in found]


def _run(named: Named, now_ns: int) -> Component:
    run = named.run
    facts = [words.quoted(run.agent)]
    facts += [f"version {words.quoted(run.version)}"] if run.version else []
    facts += [f"ticket {words.quoted(run.ticket)}"] if run.ticket else []
    text = " · ".join(facts)
    return html.Li(
        [
            evidence.state(run, now_ns),
            evidence.run_link(run.run_id, Look(window=named.window)),
            html.Span([text, " · ", times.ago(run.start_ns, now_ns)], className="dim clip", title=text),
        ]
    )


def agent(name: str, window: Window) -> Component:
    """The way to an agent's map."""
    return html.Li(html.Link(f"the map of {name}", href=urls.map_url(Look(agent=name, window=window))))


SHOWN = 100
"""Runs listed of one name."""


def several(
    found: Found, known: Sequence[Named], agents: Sequence[Component], comparable: bool, now_ns: int
) -> Component:
    """Runs and agents of one name, to choose from.

    Parameters
    ----------
    comparable : bool
        Whether the name is a ticket of two runs or more.
    """
    rest = f"; the latest {SHOWN} are listed" if len(found.run_ids) > SHOWN else ""
    head = f"{words.count(len(found.run_ids), 'run')} named “{words.quoted(found.name)}”{rest}"
    link = html.Link("Compare two runs of this ticket", href=urls.compare_url(ticket=found.name))
    listed = html.Ul([*agents, *runs(known, now_ns)], className="found")
    compare = [html.P(link)] if comparable else []
    return html.Section([html.H1(head), *compare, listed], className="card state")


def nothing(text: str, near: Near, caller: Caller, now_ns: int) -> Component:
    """A text that names nothing: what was searched, and what is like it."""
    lines = [*(agent(*each) for each in near.agents), *runs(near.runs, now_ns)]
    like = [html.H2("Nearest matches"), html.Ul(lines, className="found")]
    none = [html.P("Nothing here has a name like it."), html.P(html.Link("All agents", href=urls.HOME))]
    whose = caller.tenant if caller.name else ""
    return html.Section(
        [
            html.H1("Nothing found"),
            html.P(
                ["Nothing in this store is called ", html.Code(words.quoted(text) or "(an empty text)"), "."]
            ),
            html.P(searched_in_words(near.searched_runs, near.searched_agents, whose)),
            *(like if lines else none),
        ],
        className="card state",
    )


def searched_in_words(runs: int, agents: int, whose: str = "") -> str:
    """What was searched, in words.

    >>> searched_in_words(1, 1, "acme")
    'Searched by run id, trace id (with dashes or without), ticket and agent name: 1 run of 1 agent, all \
that acme has.'
    """
    by = "Searched by run id, trace id (with dashes or without), ticket and agent name"
    has = f"all that {words.quoted(whose)} has" if whose else "all there are"
    return f"{by}: {words.count(runs, 'run')} of {words.count(agents, 'agent')}, {has}."
