"""Two traces of one ticket: where they fork, which kind of bug that is, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from engine.decisions import wording
from engine.decisions.aligning import Row, align, common_prefix
from engine.decisions.arguments import ArgumentLine, Mismatch, argument_lines
from engine.decisions.diff import Answers, Change, Diagnosis, Diff, compare, compare_steps
from engine.decisions.menus import margin_of
from engine.decisions.schema import Option
from engine.decisions.sides import Side, compare_sides, lanes
from engine.decisions.trace import Call, Choice, Finding, Kind, Trace

AT = datetime(2026, 9, 13, 2, 11, tzinfo=UTC)
READ_EDIT = {"read": 0.75, "edit": 0.5}


def call(tool: str, span_id: str = "c", **args: Any) -> Call:
    return Call(span_id, AT, tool, Raw(msgspec.json.encode(args)), True, 2)


def choice(chosen: str, scores: Mapping[str, float | None], *calls: Call) -> Choice:
    """A decision with the margin of its scores; the chosen tool is called unless calls are given."""
    options = tuple(Option(tool, score) for tool, score in scores.items())
    margin = margin_of(options, chosen)
    return Choice(f"d-{chosen}", AT, "fix it", options, chosen, "argmax", margin, calls or (call(chosen),))


def trace(*choices: Choice, loose: tuple[Call, ...] = (), findings: tuple[Finding, ...] = ()) -> Trace:
    return Trace("r", choices, loose, findings)


READ = choice("read", READ_EDIT)
EDIT = choice("edit", {"read": 0.5, "edit": 0.75})


def test_equal_choices_menus_ranks_and_calls_are_identical() -> None:
    told = Answers(cited=True, ran_as_chosen=True, margin_too_small=False, same_fork=False)
    assert compare(trace(READ, EDIT), trace(READ, EDIT)) == Diff(
        by="decisions",
        diagnosis=Diagnosis.IDENTICAL,
        fork=None,
        rows=(Row("=", 0, 0), Row("=", 1, 1)),
        answers=(told, told),
    )


def test_scores_alone_do_not_differ_while_the_ranks_are_equal() -> None:
    other = choice("read", {"read": 9.0, "edit": 2.0})
    assert compare(trace(READ), trace(other)).diagnosis is Diagnosis.IDENTICAL


def test_another_menu_at_the_fork_names_what_only_one_side_was_offered() -> None:
    b = choice("edit", {"edit": 0.53125, "test": 0.5})
    found = compare(trace(READ, READ), trace(READ, b))
    assert found == Diff(
        by="decisions",
        diagnosis=Diagnosis.MENU,
        fork=1,
        rows=(Row("=", 0, 0), Row("≠", 1, 1)),
        took_a="read",
        took_b="edit",
        margin_a=0.25,
        margin_b=0.03125,
        low_b=True,
        only_a=("read",),
        only_b=("test",),
        mismatch=Mismatch(1, 1, 0, "read", "edit", ()),
        answers=(
            Answers(cited=True, ran_as_chosen=True, margin_too_small=False, same_fork=True),
            Answers(cited=True, ran_as_chosen=True, margin_too_small=True, same_fork=True, low=(1,)),
        ),
    )
    assert wording.headline(found) == (
        "At decision 2 A chose read and B chose edit: "
        "only A was offered read; only B was offered test; B won by 0.031, close to a tie."
    )


@pytest.mark.parametrize(
    ("b", "ranks", "low"),
    [
        (choice("edit", {"edit": 0.9, "read": 0.1}), True, False),
        (choice("edit", {"edit": 0.5, "read": 0.5}), True, True),
        (choice("edit", {"edit": 0.84, "read": 0.8}), True, True),
    ],
    ids=["other ranks", "a tie", "a margin under the threshold"],
)
def test_the_same_menu_ranked_otherwise_or_nearly_tied_is_scoring(b: Choice, ranks: bool, low: bool) -> None:
    found = compare(trace(READ), trace(b))
    assert (found.diagnosis, found.ranks_differ, found.low_b) == (Diagnosis.SCORING, ranks, low)


def test_the_same_menu_and_ranks_without_a_tie_is_the_policy() -> None:
    found = compare(trace(READ), trace(choice("edit", READ_EDIT)))
    assert found.diagnosis is Diagnosis.POLICY
    assert wording.headline(found) == (
        "At decision 1 A chose read and B chose edit from the same menu, with the same ranks and no tie."
    )


def test_rules_without_scores_differ_by_policy() -> None:
    unscored: dict[str, float | None] = {"read": None, "edit": None}
    found = compare(trace(choice("read", unscored)), trace(choice("edit", unscored)))
    assert found.diagnosis is Diagnosis.POLICY
    assert wording.headline(found) == (
        "At decision 1 A chose read and B chose edit from the same menu, "
        "A and B without a margin to judge by."
    )


def test_beside_a_rule_without_scores_no_ranks_are_said_to_be_equal() -> None:
    found = compare(trace(READ), trace(choice("edit", {"read": None, "edit": None})))
    assert (found.diagnosis, wording.headline(found)) == (
        Diagnosis.POLICY,
        "At decision 1 A chose read and B chose edit from the same menu, B without a margin to judge by.",
    )


def test_a_tie_is_told_by_the_scores_where_the_margin_does_not_follow_from_them() -> None:
    tied = msgspec.structs.replace(choice("read", {"read": 0.75, "edit": 0.734375}), margin=0.9)
    found = compare(trace(tied), trace(choice("edit", {"read": 0.75, "edit": 0.5})))
    assert wording.headline(found).endswith(": A won by 0.016, close to a tie.")


def test_the_threshold_is_the_askers() -> None:
    a, b = trace(READ), trace(choice("edit", READ_EDIT))
    assert compare(a, b).diagnosis is Diagnosis.POLICY
    assert compare(a, b, low_margin=0.26).diagnosis is Diagnosis.SCORING


def test_one_that_goes_on_where_the_other_has_ended() -> None:
    found = compare(trace(READ), trace(READ, EDIT))
    assert (found.diagnosis, found.fork, found.rows) == (
        Diagnosis.ENDED,
        1,
        (Row("=", 0, 0), Row("+", None, 1)),
    )
    assert wording.headline(found) == "At decision 2 B goes on with edit, and A has ended."


def test_a_choice_of_nothing_is_seen() -> None:
    found = compare(trace(READ), trace(READ, choice("", {"read": None})))
    assert wording.headline(found) == 'At decision 2 B goes on with "", and A has ended.'


def test_equal_choices_from_other_menus_or_ranks_are_latent() -> None:
    other = choice("read", {"read": 0.8, "edit": 0.1, "test": 0.2})
    swapped = choice("read", {"read": 0.4, "edit": 0.5})
    found = compare(trace(READ, READ, READ), trace(other, READ, swapped))
    assert found.diagnosis is Diagnosis.LATENT
    assert found.changes == (
        Change(0, 0, True, False, (), ("test",)),
        Change(2, 2, False, True, (), ()),
    )
    assert wording.headline(found) == (
        "The same 3 choices in the same order, but menus or ranks differ at decisions 1, 3."
    )
    assert wording.look_first(found) == "Look first at decision 1: only B was offered test."


def test_equal_choices_with_other_arguments_show_the_first_mismatch_only() -> None:
    a = trace(READ, choice("edit", READ_EDIT, call("edit", file="a.py", line=1), call("edit", n=1)))
    b = trace(READ, choice("edit", READ_EDIT, call("edit", file="b.py", line=1), call("edit", n=2)))
    found = compare(a, b)
    assert found.diagnosis is Diagnosis.ARGUMENTS
    assert found.mismatch == Mismatch(1, 1, 0, "edit", "edit", (ArgumentLine("file", "a.py", "b.py"),))
    assert wording.headline(found) == (
        "The same 2 choices in the same order, from the same menus and ranks; "
        "the call of edit under decision 2 is the first that differs."
    )


def test_a_call_that_only_one_run_made_is_a_mismatch() -> None:
    once = choice("read", READ_EDIT, call("read"))
    twice = choice("read", READ_EDIT, call("read"), call("read", page=2))
    assert compare(trace(once), trace(twice)).mismatch == Mismatch(
        0, 0, 1, None, "read", (ArgumentLine("", UNSET, {"page": 2}),)
    )


def test_calls_without_a_decision_are_compared_too() -> None:
    a, b = trace(READ, loose=(call("read", q="a"),)), trace(READ, loose=(call("read", q="b"),))
    found = compare(a, b)
    assert (found.diagnosis, found.mismatch) == (
        Diagnosis.ARGUMENTS,
        Mismatch(None, None, 0, "read", "read", (ArgumentLine("q", "a", "b"),)),
    )


def test_of_identical_runs_the_first_call_that_came_out_otherwise_is_named() -> None:
    failed = choice("read", READ_EDIT, msgspec.structs.replace(call("read"), ok=False))
    found = compare(trace(READ, READ), trace(READ, failed))
    assert (found.diagnosis, found.returned) == (Diagnosis.IDENTICAL, 1)
    assert wording.look_first(found) == (
        "Look first at what came of the calls under decision 2: it is not the same."
    )


def test_what_changed_before_the_fork_is_named_as_a_possible_cause() -> None:
    other = choice("read", {"read": 0.8, "edit": 0.1, "test": 0.2})
    found = compare(trace(READ, READ), trace(other, EDIT))
    assert (found.diagnosis, found.before) == (Diagnosis.SCORING, (Change(0, 0, True, False, (), ("test",)),))
    assert wording.look_first(found) == (
        "Look first at how the planner scored these options. "
        "It may have begun before: decision 1: only B was offered test."
    )


def test_arguments_that_differ_before_the_fork_are_named_as_a_possible_cause() -> None:
    a, b = (choice("read", READ_EDIT, call("read", q=text)) for text in ("date", "dates"))
    found = compare(trace(a, READ), trace(b, EDIT))
    assert found.mismatch == Mismatch(0, 0, 0, "read", "read", (ArgumentLine("q", "date", "dates"),))
    assert wording.look_first(found).endswith(
        "It may have begun before: the call of read under decision 1 is the first that differs."
    )


def test_what_could_not_be_read_leaves_open_where_two_traces_differ() -> None:
    torn = trace(READ, findings=(Finding(1, Kind.BAD_RECORD, "chosen: missing"),))
    assert wording.look_first(compare(torn, trace(EDIT))) == (
        f"{wording.look_first(compare(trace(READ), trace(EDIT)))} "
        "Part of a trace could not be read, so the runs may really differ elsewhere."
    )


def test_without_recorded_options_the_kind_cannot_be_told() -> None:
    found = compare(trace(choice("read", {})), trace(EDIT))
    assert found.diagnosis is Diagnosis.UNRECORDED


def test_runs_without_decisions_compare_by_steps_and_leave_three_answers_open() -> None:
    assert compare_steps(("tool:a", "tool:b"), ("tool:a", "tool:c")) == Diff(
        by="steps",
        diagnosis=Diagnosis.UNRECORDED,
        fork=1,
        rows=(Row("=", 0, 0), Row("≠", 1, 1)),
        took_a="tool:b",
        took_b="tool:c",
        answers=(Answers(same_fork=True), Answers(same_fork=True)),
    )


def test_beside_a_run_without_decisions_the_other_still_answers_for_itself() -> None:
    tied = trace(choice("read", {"read": 0.75, "edit": 0.625}))
    a, b = Side("a", ("tool:read",), tied), Side("b", ("tool:read",))
    found = compare_sides(a, b, 0.2)
    assert (found.by, found.low_margin) == ("steps", 0.2)
    assert found.answers == (Answers(True, True, True, False, low=(0,)), Answers(same_fork=False))


def test_a_decision_that_nothing_was_called_for_is_not_equal_to_nothing() -> None:
    uncalled = msgspec.structs.replace(READ, calls=())
    found = compare_sides(Side("a", (), trace(uncalled)), Side("b", ()))
    assert (found.by, found.diagnosis, found.fork) == ("decisions", Diagnosis.ENDED, 0)
    assert compare_sides(Side("a", ()), Side("b", ())).diagnosis is Diagnosis.IDENTICAL


def test_of_long_equal_stretches_only_what_has_other_menus_or_ranks_is_shown() -> None:
    other = choice("read", {"read": 0.75, "edit": 0.5, "test": 0.25})
    a, b = (Side("r", (), trace(*[READ] * 9, at, *[READ] * 9)) for at in (READ, other))
    equal = [(f"{place} read", "=", f"{place} read") for place in range(7, 14)]
    folded = ("6 equal", "=", "6 equal")
    assert list(lanes(compare_sides(a, b), a, b)) == [folded, *equal, folded]


@pytest.mark.parametrize(
    "other",
    [call("read", q="dates"), msgspec.structs.replace(call("read"), ok=False)],
    ids=["other arguments", "another end"],
)
def test_equal_rows_whose_calls_differ_are_shown(other: Call) -> None:
    at = msgspec.structs.replace(READ, calls=(other,))
    a, b = (Side("r", (), trace(*[READ] * 9, each, *[READ] * 9)) for each in (READ, at))
    assert [row[0] for row in lanes(compare_sides(a, b), a, b)] == [
        "6 equal",
        *(f"{place} read" for place in range(7, 14)),
        "6 equal",
    ]


class TestAnswers:
    """The four questions of an incident."""

    def of(self, *choices: Choice, **more: Any) -> Answers:
        return compare(trace(*choices, **more), trace(*choices, **more)).answers[0]

    def test_a_call_outside_of_any_decision_cites_none(self) -> None:
        assert self.of(READ, loose=(call("edit", "c9"),)) == Answers(False, True, False, False, ("c9",))

    def test_a_decision_is_consumed_by_the_first_call_under_it(self) -> None:
        twice = choice("read", READ_EDIT, call("read"), call("read", "c2"))
        assert self.of(twice) == Answers(False, True, False, False, ("c2",))

    def test_another_tool_ran_than_was_chosen(self) -> None:
        other = choice("read", READ_EDIT, call("edit"))
        assert self.of(READ, other) == Answers(True, False, False, False, mismatched=(1,))

    def test_a_decision_that_nothing_was_called_for_leaves_open_whether_it_ran(self) -> None:
        uncalled = msgspec.structs.replace(READ, calls=())
        assert self.of(READ, uncalled) == Answers(True, None, False, False)

    def test_a_margin_that_is_not_told_leaves_open_whether_it_was_too_small(self) -> None:
        assert self.of(READ, msgspec.structs.replace(READ, margin=None)) == Answers(True, True, None, False)

    def test_one_option_needs_no_margin(self) -> None:
        assert self.of(choice("read", {"read": None})) == Answers(True, True, False, False)

    def test_where_lines_could_not_be_read_nothing_speaks_for_a_run(self) -> None:
        broken = (Finding(3, Kind.BAD_JSON, "cut off"),)
        assert self.of(READ, findings=broken) == Answers()

    def test_are_worded_with_their_places(self) -> None:
        a = trace(choice("read", {"read": 0.51, "edit": 0.5}, call("edit")), loose=(call("edit"),))
        assert wording.answers(compare(a, trace(EDIT))) == (
            ("Does every call cite a decision?", "no: 1 call cites none", "yes"),
            ("Did the chosen tool run?", "no: not at decision 1", "yes"),
            ("Was a margin too small to trust?", "yes: at decision 1", "no"),
            ("Did the other run part from it?", "yes: at decision 1", "yes: at decision 1"),
        )


@pytest.mark.parametrize(
    ("a", "b", "lines"),
    [
        ("{}", " {} ", []),
        ('{"n": 1}', '{"n": 1.0}', []),
        ('{"n": 1}', '{"n": true}', [ArgumentLine("n", 1, True)]),
        ('{"n": null}', "{}", [ArgumentLine("n", None, UNSET)]),
        ('{"a": [1, {"b c": 2}]}', '{"a": [1, {"b c": 3}]}', [ArgumentLine('a[1]["b c"]', 2, 3)]),
        ("[1]", "[1, 2]", [ArgumentLine("[1]", UNSET, 2)]),
        ('{"a": 1}', "[1]", [ArgumentLine("", {"a": 1}, [1])]),
        ("1e999", "1", [ArgumentLine("", "1e999", 1)]),
    ],
)
def test_arguments_are_compared_key_by_key(a: str, b: str, lines: list[ArgumentLine]) -> None:
    assert list(argument_lines(Raw(a.encode()), Raw(b.encode()))) == lines


@pytest.mark.parametrize("depth", [30, 40, 900, 100_000])
def test_arguments_nested_however_deep_are_compared(depth: int) -> None:
    a, b = (Raw(b"[" * depth + end + b"]" * depth) for end in (b"1", b"2"))
    assert len(list(argument_lines(a, b))) == 1


tools = st.sampled_from(("read", "edit", "test"))
menus = st.dictionaries(tools, st.none() | st.floats(0, 1), max_size=3)
decisions = st.builds(choice, tools, menus)
traces = st.lists(decisions, max_size=8).map(lambda choices: trace(*choices))
sequences = st.lists(tools, max_size=30)


@given(sequences, sequences)
def test_rows_hold_every_place_of_both_once_in_order(a: list[str], b: list[str]) -> None:
    rows = align(a, b)
    assert [row.a for row in rows if row.a is not None] == list(range(len(a)))
    assert [row.b for row in rows if row.b is not None] == list(range(len(b)))
    marks = {(True, True): "=", (False, True): "≠"}
    for row in rows:
        if row.a is None or row.b is None:
            assert row.mark == ("+" if row.a is None else "-")
        else:
            assert row.mark == marks[a[row.a] == b[row.b], True]


@given(sequences, sequences)
def test_a_fork_is_beside_a_gap_only_where_one_trace_has_ended(a: list[str], b: list[str]) -> None:
    rows, fork = align(a, b), common_prefix(a, b)
    first = next((row for row in rows if row.mark != "="), None)
    if fork < min(len(a), len(b)):
        assert first == Row("≠", fork, fork)
    elif len(a) != len(b):
        assert first == (Row("-", fork, None) if len(a) > len(b) else Row("+", None, fork))
    else:
        assert first is None


@given(traces)
def test_a_trace_is_identical_to_itself(a: Trace) -> None:
    assert compare(a, a).diagnosis is Diagnosis.IDENTICAL


@given(traces, traces)
def test_which_is_called_a_makes_no_difference(a: Trace, b: Trace) -> None:
    assert mirrored(compare(a, b)) == compare(b, a)


@given(traces, traces)
def test_whatever_differs_can_be_said(a: Trace, b: Trace) -> None:
    found = compare(a, b)
    said = [wording.headline(found), wording.look_first(found), *map(wording.change, found.changes)]
    said += [text for answered in wording.answers(found) for text in answered]
    assert all(text and "None" not in text for text in said)


@pytest.mark.parametrize(
    ("kind", "detail", "said"),
    [
        ("bad_json", "Input data was truncated", "This is no JSON: Input data was truncated."),
        ("bad_record", "options: missing", "A field cannot be read: options: missing."),
        ("chosen_missing", "read", "read was chosen and is not among the options."),
        ("bad_margin", "0.4", "The margin 0.4 does not follow from the scores."),
        ("missing_decision", "read", "read was called without a decision of its own."),
        ("choice_mismatch", "read->edit", "read was chosen, and edit was called."),
        ("unconsumed_decision", "d1", "No call carried out the decision d1."),
        ("duplicate_span", "d1", "The id d1 was there before."),
        ("duplicate_option", "read", "read is among the options more than once."),
        ("low_margin", "0.02", "The pick was close to a tie: it won by 0.02."),
        ("not_top", "-0.1", "The policy picks the highest score, and this pick was not on top: margin -0.1."),
        ("time_reversed", "earlier than the line before", "Its time is earlier than the line before."),
        ("long_goal", "210 characters", "The goal is an essay of 210 characters."),
    ],
)
def test_every_finding_is_a_sentence(kind: str, detail: str, said: str) -> None:
    assert wording.finding(Finding(1, Kind(kind), detail)) == said


def mirrored(diff: Diff) -> Diff:
    """The comparison with A and B exchanged."""
    marks = {"-": "+", "+": "-"}
    found = diff.mismatch
    return Diff(
        by=diff.by,
        diagnosis=diff.diagnosis,
        fork=diff.fork,
        rows=tuple(Row(marks.get(row.mark, row.mark), row.b, row.a) for row in diff.rows),  # type: ignore[arg-type]
        took_a=diff.took_b,
        took_b=diff.took_a,
        margin_a=diff.margin_b,
        margin_b=diff.margin_a,
        low_a=diff.low_b,
        low_b=diff.low_a,
        only_a=diff.only_b,
        only_b=diff.only_a,
        ranks_differ=diff.ranks_differ,
        changes=tuple(
            Change(each.b, each.a, each.menu, each.ranks, each.only_b, each.only_a) for each in diff.changes
        ),
        mismatch=found
        and Mismatch(
            found.b,
            found.a,
            found.call,
            found.tool_b,
            found.tool_a,
            tuple(ArgumentLine(line.path, line.b, line.a) for line in found.lines),
        ),
        answers=(diff.answers[1], diff.answers[0]),
        low_margin=diff.low_margin,
    )


def longest_common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence, by its definition."""
    above = [0] * (len(b) + 1)
    for ours in a:
        row = [0]
        for at, theirs in enumerate(b):
            row.append(above[at] + 1 if ours == theirs else max(above[at + 1], row[at]))
        above = row
    return above[-1]


@given(sequences, sequences)
def test_tails_are_aligned_as_far_as_they_can_be(a: list[str], b: list[str]) -> None:
    fork = common_prefix(a, b)
    equal = sum(row.mark == "=" for row in align(a, b))
    assert equal == fork + longest_common(a[fork + 1 :], b[fork + 1 :])


def test_tails_of_any_length_are_aligned_piece_by_piece() -> None:
    a, b = ["read", *("edit", "test") * 15_000], ["test", *("test", "edit") * 15_000]
    rows = align(a, b)
    assert [row.a for row in rows if row.a is not None] == list(range(30_001))
    assert [row.b for row in rows if row.b is not None] == list(range(30_001))
    assert sum(row.mark == "=" for row in rows) > 29_990
