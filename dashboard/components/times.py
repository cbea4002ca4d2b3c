"""Moments as elements: sent in UTC, and told in local time by ``assets/times.js`` where that is wanted."""

from __future__ import annotations

from dash.development.base_component import Component

from dashboard.components import html, words
from dashboard.components.access import data


def moment(time_ns: int) -> Component:
    """A moment, to the second.

    >>> moment(86400000000000).children
    '1970-01-02 00:00:00 UTC'
    """
    return _time(time_ns, words.utc(time_ns), "moment")


def clock(time_ns: int) -> Component:
    """A moment's time of the day, to the second.

    >>> clock(86400000000000).children
    '00:00:00 UTC'
    """
    return _time(time_ns, words.clock(time_ns), "clock")


def ago(time_ns: int, now_ns: int) -> Component:
    """How long ago a moment was; pointing at it shows the moment.

    >>> shown = ago(0, 7200000000000)
    >>> shown.children, shown.title, shown.dateTime
    ('2 hours ago', '1970-01-01 00:00:00 UTC', '1970-01-01T00:00:00Z')
    """
    return pointed(time_ns, words.ago(time_ns, now_ns))


def pointed(time_ns: int, text: str) -> Component:
    """A text about a moment; pointing at it shows the moment.

    >>> pointed(86400000000000, "+2 s").title
    '1970-01-02 00:00:00 UTC'
    """
    return _time(time_ns, text, "ago")


def _time(time_ns: int, text: str, form: str) -> Component:
    utc = words.utc(time_ns)
    written = f"{utc.removesuffix(' UTC').replace(' ', 'T')}Z"
    return html.Time(text, dateTime=written, title=utc, **data(form=form))
