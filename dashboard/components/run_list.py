"""A list of runs: how many and how they ended in one sentence, a table that sorts, pages."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash.development.base_component import Component

from dashboard import urls
from dashboard.components import counted, evidence, html, times, tokens, words
from dashboard.components.access import aria
from dashboard.components.verdict import NAMES
from dashboard.urls import Look
from engine.growing import Ints
from engine.judging import KINDS
from engine.listing import PAGE, Counts, Table, count, pages
from engine.runs import Outcome, Source
from engine.statistics import wilson_one


class Head(NamedTuple):
    """A column: its name, what sorts it ("" if nothing does), its class, whether it falls first, a remark."""

    text: str
    sort: str = ""
    look: str = ""
    falling: bool = False
    about: str = ""


HEADS: Final = (
    Head("Run", "run"),
    Head("Outcome", "outcome"),
    Head("By other runs", "verdict", about="What the other runs on its path make of it, itself left out"),
    Head("Ended at", about="The last step of its path that the map holds; where it is now, if it is live"),
    Head("Steps", "steps", "number", falling=True),
    Head("Took", "took", "number", falling=True),
    Head("Version", "version"),
    Head("Ticket", "ticket"),
    Head("Began", "started", falling=True),
)


def summary(table: Table, rows: Ints, look: Look) -> Component:
    """How many runs, how they ended, and how that compares with all; each number leads to its runs."""
    found, every = count(table, rows), count(table)
    some = words.count(found.runs, "run")
    whole = some if found == every else f"{found.runs:,} of {words.count(every.runs, 'run')}"
    return html.P(
        [html.B(whole), *_parts(found, look), ". ", *_rate(found, every, look)], className="headline"
    )


def _parts(found: Counts, look: Look) -> list[Any]:
    """The counts by outcome, as links."""
    known = (
        ("success", found.successes, "succeeded"),
        ("failure", found.failures, "failed"),
        ("abandoned", found.abandoned, "abandoned"),
        ("live", found.live, "live"),
    )
    links = [
        html.Link(
            f"{number:,} {how}", href=urls.runs_url(look, look.filters._replace(outcome=name), look.sort)
        )
        for name, number, how in known
        if number
    ]
    return [": ", *counted.listed(links, ", ")] if links else []


def _rate(found: Counts, every: Counts, look: Look) -> list[Any]:
    """The success rate of what is listed; not where an outcome was asked for, which is it."""
    if not found.completed or look.filters.outcome not in ("", "completed"):
        return []
    share = words.percent(found.successes / found.completed)
    bounds = words.interval(*wilson_one(found.successes, found.completed))
    text = f"{share} of {words.count(found.completed, 'completed run')} succeeded (95% interval {bounds})"
    if found == every or found.completed == every.completed:
        return [f"{text}."]
    base = words.percent(every.successes / every.completed)
    return [f"{text}, against {base} of all {every.completed:,}."]


def table(table: Table, shown: Ints, look: Look, now_ns: int) -> Component:
    """The runs of a page."""
    body = html.Tbody([_row(table, place, look, now_ns) for place in shown.tolist()])
    caption = html.Caption("Runs; a heading sorts by its column", className="unseen")
    heads = html.Thead(html.Tr([_head(head, look) for head in HEADS]))
    return html.Table([caption, heads, body], className="rates runs")


def _head(head: Head, look: Look) -> Component:
    if not head.sort:
        return html.Th(head.text, scope="col", className=head.look, title=head.about or None)
    by, falls = look.sort.removeprefix("-"), look.sort.startswith("-")
    here = by == head.sort
    turned = not falls if here else head.falling
    href = urls.runs_url(look, look.filters, f"{'-' if turned else ''}{head.sort}")
    arrow = [html.Span(" ↓" if falls else " ↑", **aria(hidden="true"))] if here else []
    order = "descending" if falls else "ascending"
    return html.Th(
        html.Link([head.text, *arrow], href=href),
        scope="col",
        className=head.look,
        title=head.about or None,
        **(aria(sort=order) if here else {}),
    )


def _row(table: Table, place: int, look: Look, now_ns: int) -> Component:
    version, ticket = table.versions[place], table.tickets[place]
    gone = not table.start_ns[place]
    start_ns, took_ns = int(table.start_ns[place]), int(table.last_ns[place] - table.start_ns[place])
    return html.Tr(
        [
            html.Th(evidence.run_link(table.run_ids[place], look), scope="row"),
            html.Td(_outcome(table, place)),
            html.Td(_verdict(int(table.verdict[place]))),
            html.Td(_last(table, place, look), className="at"),
            html.Td("–" if gone else f"{table.steps[place]:,}", className="number"),
            html.Td("–" if gone else words.duration(max(0, took_ns)), className="number"),
            html.Td(_text(version, look._replace(filters=look.filters._replace(version=version or "")))),
            html.Td(_text(ticket, look._replace(filters=look.filters._replace(ticket=ticket or "")))),
            html.Td("no longer in the store", className="dim")
            if gone
            else html.Td(times.ago(start_ns, now_ns), className="dim"),
        ]
    )


def _outcome(table: Table, place: int) -> Component:
    """How it ended, and who says so where nobody declared it."""
    ended, source = Outcome(int(table.outcome[place])), Source(int(table.source[place]))
    pill = evidence.outcome(ended)
    if ended is Outcome.UNKNOWN or source is Source.DECLARED:
        return pill
    return html.Span([pill, html.Span(words.SOURCES[source], className="dim small")], className="run-ended")


def _verdict(kind: int) -> Component:
    if kind < 0:
        return html.Span("–", className="dim")
    name = KINDS[kind]
    return html.Span(NAMES[name].lower(), className=f"by-others by-{name.replace('_', '-')}")


def _last(table: Table, place: int, look: Look) -> Component:
    """The last step of its path that the map holds, and the way there."""
    behaviour, node = table.behaviour, int(table.node[place])
    text: Any = "the start"
    if node:
        text = tokens.step(behaviour.tokens[behaviour.token[node]])
    href = urls.map_url(look._replace(node=behaviour.key_text(node)))
    return html.Link(text, href=href, title="Show this point on the map")


def _text(text: str | None, look: Look) -> Component:
    """A text that leads to the runs that share it."""
    if text is None:
        return html.Span("–", className="dim")
    return html.Link(text, href=urls.runs_url(look, look.filters, look.sort), className="clip", title=text)


def pager(runs: int, look: Look, page: int, label: str) -> Component:
    """Which runs are on this page, and the ways to others."""
    last = pages(runs)
    first_run, last_run = PAGE * (page - 1) + 1, min(PAGE * page, runs)
    ways = (
        ("First", 1, page > 1),
        ("Previous", page - 1, page > 1),
        ("Next", page + 1, page < last),
        ("Last", last, page < last),
    )
    links = [_way(text, to, look) if there else html.Span(text, className="dim") for text, to, there in ways]
    where = html.Span(f"{first_run:,}–{last_run:,} of {runs:,}", className="dim")
    return html.Nav([where, *(links if last > 1 else [])], className="pager", **aria(label=label))


def _way(text: str, page: int, look: Look) -> Component:
    return html.Link(text, href=urls.runs_url(look, look.filters, look.sort, page))


def exports(look: Look, runs: int) -> Component:
    """The listed runs as files; plain links, as the server answers them."""
    about = f"Save {words.count(runs, 'run')} as"
    links = [
        html.A(
            text,
            href=urls.runs_url(look, look.filters, look.sort, path=path),
            className="button small",
            title=f"{about} {text}",
        )
        for text, path in (("CSV", urls.RUNS_CSV), ("JSON", urls.RUNS_JSON))
    ]
    return html.Span([about, *links], className="exports")
