"""A comparison as Markdown, to be pasted into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.decisions import wording
from engine.decisions.diff import Diff
from engine.decisions.menus import side_by_side
from engine.decisions.schema import Option
from engine.decisions.sides import Side, lanes
from engine.decisions.trace import Choice

_TICKS = re.compile("`+")
_MARKUP = re.compile(r"[\\`*<\[|~&]|(?<![^\W_])_|_(?![^\W_])")
_ROWS = 60
"""Rows of a table or a list; the rest is counted."""


def markdown(diff: Diff, a: Side, b: Side) -> str:
    """The diagnosis, the sequences around what differs, the options at the fork, and the four answers.

    Names are set as code, and escaped in sentences, so that nothing in them is read as markup.

    Examples
    --------
    >>> from engine.decisions.sides import compare_sides
    >>> a, b = Side("r1", ("tool:read",)), Side("r2", ("tool:edit",))
    >>> print("\\n".join(markdown(compare_sides(a, b), a, b).splitlines()[4:7]))
    | A: `r1` |  | B: `r2` |
    | --- | --- | --- |
    | 1 `tool:read` | ≠ | 1 `tool:edit` |
    """
    parts = [
        [f"**{wording.NAMES[diff.diagnosis]}.** {_escaped(wording.headline(diff))}"],
        [_escaped(wording.look_first(diff))],
        _sequences(diff, a, b),
        _options(diff, a, b),
        _cut([f"- {_escaped(wording.change(each))}" for each in diff.changes], "- {} more"),
        _arguments(diff),
        _table(("Incident", "A", "B"), wording.answers(diff)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _sequences(diff: Diff, a: Side, b: Side) -> list[str]:
    return _table((f"A: {_code(a.name)}", "", f"B: {_code(b.name)}"), lanes(diff, a, b, _code))


def _options(diff: Diff, a: Side, b: Side) -> list[str]:
    """The options at the fork, in one order for both."""
    ours, theirs = a.choice(diff, diff.fork), b.choice(diff, diff.fork)
    if not (ours or theirs):
        return []
    menus = (choice.options if choice else () for choice in (ours, theirs))
    rows = [
        (_code(tool), _offered(option_a, ours), _offered(option_b, theirs))
        for tool, option_a, option_b in side_by_side(*menus)
    ]
    sides = (("A", ours), ("B", theirs))
    picks = [_escaped(wording.picked(side, choice)) for side, choice in sides if choice]
    return [*_table((f"Options at decision {(diff.fork or 0) + 1}", "A", "B"), rows), "", *picks]


def _offered(option: Option | None, choice: Choice | None) -> str:
    if choice is None:
        return "no decision"
    text = _escaped(wording.offered(option))
    return f"**{text}, chosen**" if option is not None and option.tool == choice.chosen else text


def _arguments(diff: Diff) -> list[str]:
    if diff.mismatch is None or diff.mismatch.tool_a != diff.mismatch.tool_b:
        return []
    rows = (
        (_code(each.path or "all"), *(_code(wording.argument(at)) for at in (each.a, each.b)))
        for each in diff.mismatch.lines
    )
    return _table(("Arguments of the first call that differs", "A", "B"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]
    return [*lines[:2], *_cut(lines[2:], "| {} more |  |  |")]


def _cut(lines: list[str], more: str) -> list[str]:
    return lines if len(lines) <= _ROWS else [*lines[:_ROWS], more.format(f"{len(lines) - _ROWS:,}")]


def _code(text: str) -> str:
    """A name as a code span, in a table too: in a fence longer than any in it."""
    text = text or '""'  # Two fences with nothing between are no span.
    fence = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{fence}{space}{_line(text)}{space}{fence}".replace("|", r"\|")


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", _line(text))


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
