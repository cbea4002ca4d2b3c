"""A comparison as it is pasted into a ticket."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import Raw

from engine.decisions.markdown import markdown
from engine.decisions.schema import Option
from engine.decisions.sides import Side, compare_sides
from engine.decisions.trace import Call, Choice, Trace

AT = datetime(2026, 9, 13, 2, 11, tzinfo=UTC)


def side(name: str, *decided: tuple[str, dict[str, float], object]) -> Side:
    """A run of decisions: what was chosen, from which scores, and the arguments of its call."""
    choices = tuple(
        Choice(
            f"d{number}",
            AT,
            "fix it",
            tuple(Option(tool, score) for tool, score in scores.items()),
            chosen,
            "argmax",
            0.25,
            (Call(f"c{number}", AT, chosen, Raw(msgspec.json.encode(args)), True, 2),),
        )
        for number, (chosen, scores, args) in enumerate(decided)
    )
    return Side(name, (), Trace(name, choices))


def test_it_holds_diagnosis_sequences_options_arguments_and_answers() -> None:
    a = side(
        "run_91",
        ("read", {"read": 0.75, "edit": 0.5}, {"path": "a.py"}),
        ("read", {"read": 0.75, "edit": 0.5}, {}),
    )
    b = side(
        "run_104",
        ("read", {"read": 0.75, "edit": 0.5, "test": 0.1}, {"path": "b|c`.py"}),
        ("edit", {"edit": 0.75, "read": 0.5}, {}),
    )
    assert markdown(compare_sides(a, b), a, b).splitlines() == [
        "**Scoring differs.** At decision 2 A chose read and B chose edit: "
        "the same tools stand in another order.",
        "",
        "Look first at how the planner scored these options. It may have begun before: "
        "decision 1: only B was offered test.",
        "",
        "| A: `run_91` |  | B: `run_104` |",
        "| --- | --- | --- |",
        "| 1 `read` | = | 1 `read` |",
        "| 2 `read` | ≠ | 2 `edit` |",
        "",
        "| Options at decision 2 | A | B |",
        "| --- | --- | --- |",
        "| `read` | **0.75, chosen** | 0.5 |",
        "| `edit` | 0.5 | **0.75, chosen** |",
        "",
        "A picked read by argmax, with a margin of 0.25.",
        "B picked edit by argmax, with a margin of 0.25.",
        "",
        "- decision 1: only B was offered test",
        "",
        "| Arguments of the first call that differs | A | B |",
        "| --- | --- | --- |",
        '| `path` | `"a.py"` | `` "b\\|c`.py" `` |',
        "",
        "| Incident | A | B |",
        "| --- | --- | --- |",
        "| Does every call cite a decision? | yes | yes |",
        "| Did the chosen tool run? | yes | yes |",
        "| Was a margin too small to trust? | no | no |",
        "| Did the other run part from it? | yes: at decision 2 | yes: at decision 2 |",
    ]


def test_nothing_in_a_name_is_read_as_markup() -> None:
    a, b = Side("*a*", ("tool:<b>|[x](y)",)), Side("b\nc", ("tool:`x`",))
    text = markdown(compare_sides(a, b), a, b)
    assert r"A took tool:\<b>\|\[x](y) and B took tool:\`x\`" in text
    assert r"| 1 `tool:<b>\|[x](y)` | ≠ | 1 `` tool:`x` `` |" in text
    assert "| A: `*a*` |  | B: `b\ufffdc` |" in text


def test_names_with_underscores_and_entities_stand_in_sentences_as_they_are() -> None:
    a, b = Side("a", ("__init__ read_file",)), Side("b", ("&lt;b&gt; _x",))
    text = markdown(compare_sides(a, b), a, b)
    assert r"A took \_\_init\_\_ read_file and B took \&lt;b\&gt; \_x" in text


def test_a_name_of_nothing_is_a_code_span_too() -> None:
    a, b = side("a", ("", {}, {})), side("b", ("read", {}, {}))
    assert '| 1 `""` | ≠ | 1 `read` |' in markdown(compare_sides(a, b), a, b)


def test_of_a_long_comparison_the_rest_is_counted() -> None:
    a, b = Side("a", tuple("xy" * 100)), Side("b", tuple("yz" * 100))
    lines = markdown(compare_sides(a, b), a, b).splitlines()
    rows = len(compare_sides(a, b).rows)
    assert lines[65:67] == ["| 59 `x` | ≠ | 60 `z` |", f"| {rows - 60} more |  |  |"]


def test_of_many_menus_and_arguments_the_rest_is_counted() -> None:
    menus = {"read": 0.75}, {"read": 0.75, "edit": 0.5}
    a, b = (side("r", *[("read", menu, [place] * 100)] * 70) for place, menu in enumerate(menus))
    lines = markdown(compare_sides(a, b), a, b).splitlines()
    assert ("- 10 more" in lines, lines.count("| 40 more |  |  |")) == (True, 1)
