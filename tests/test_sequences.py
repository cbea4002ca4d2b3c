"""Sequence expressions, held against a matcher that tries every way to place each part."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.sequences import Expression, matches, parse
from engine.sequences.tree import And, Edge, Field, Not, Or, Pattern, Repeat, Step, is_on_one_step
from engine.sequences.tree import Sequence as Chain
from engine.steps import Step as Call


def run(text: str) -> list[Call]:
    """Steps by name, tools unless they say otherwise; ``!`` behind one says that it failed."""
    calls = []
    for name in text.split():
        signature = name.rstrip("!") if ":" in name else f"tool:{name.rstrip('!')}"
        calls.append(Call(signature, 0, 1, "t", "s", name.endswith("!"), None, None))
    return calls


def is_so(expression: str, steps: str, **fields: str | None) -> bool:
    return matches(parse(expression), run(steps), fields)


@pytest.mark.parametrize(
    ("expression", "yes", "no"),
    [
        ("a", "b a b", "b b"),
        ("a > b", "c a b", "a c b"),
        ("a .. b", "a c b", "b a"),
        ("a .. a", "a b a", "b a b"),
        ("a x3", "a a a a", "a a b a"),
        ("a x2 > b", "a a a b", "a b"),
        ("^ a", "a b", "b a"),
        ("a $", "b a", "a b"),
        ("^ a $", "a", "a a"),
        ("^ $", "", "a"),
        ("a > $", "b a", "a b"),
        ("error(a)", "a a!", "a b!"),
        ("error(a) x2", "a! a!", "a! a"),
        ("error(*)", "b!", "b"),
        ("!a", "b", "b a"),
        ("!error(a)", "a b!", "a!"),
        ("a and b", "b a", "a a"),
        ("a or b", "c b", "c"),
        ("a .. !b", "b a c", "a c b"),
        ("!a .. b", "b a", "a c b"),
        ("a .. !b .. c", "a b a d c", "a b c"),
        ("a > !b", "a c b", "a b"),
        ("a > !b", "b a", "a b c a b"),
        ("a > !b > c", "a d c", "a b c"),
        ("a .. !b > c", "a c", "a b c"),
        ("a > !b .. c", "a c", "a b c"),
        ("a .. !b x2 .. c", "a b d b c", "a b b c"),
        ("(a .. !b .. c) x2", "a d c a c", "a d c a b c"),
        ("a x3 .. (a x2 or b) $", "a a a a a", "a a a a"),
        ("!a > b", "b", "a b"),
        ("a .. !(b > c)", "a b a c", "b a b c"),
        ("a > (b or c)", "a c", "a a"),
        ("a > (* and !error(*))", "a! a! a b", "a b! a!"),
        ("(a > b) x2", "c a b a b", "a b b a b"),
        ("!a x2", "a b a", "a a"),
        ("(a .. b) or c > d", "c d", "c e d"),
        ("search_*", "search_orders", "research"),
        ("llm:*", "llm:gpt", "gpt"),
        ("gpt", "llm:gpt", "llm:gpt-4"),
        ("mcp:search", "tool:mcp:search", "tool:search"),
        ("A..B", "A B", "A"),
        ("a and b or c", "c", "a"),
        ("a or b and c", "a", "b"),
    ],
)
def test_what_an_expression_means(expression: str, yes: str, no: str) -> None:
    assert (is_so(expression, yes), is_so(expression, no)) == (True, False)


def test_two_conditions_on_one_step_never_match_across_two() -> None:
    assert not is_so("error(charge_card)", "charge_card refund! ")
    assert not is_so("a > (error(*) and b)", "a b a c!")
    assert not is_so("^ .. (error(*) and b)", "c! b")
    assert is_so("^ .. (error(*) and b)", "c b!")


def test_outside_a_sequence_conditions_are_joined_over_the_whole_run() -> None:
    assert is_so("(a and error(*))", "a b!")
    assert is_so("(a and b) or c", "b a")


def test_a_field_is_of_the_whole_run() -> None:
    assert is_so('ticket:ship-* and version:"2 beta"', "a", ticket="ship-7", version="2 beta")
    assert not is_so("ticket:*", "a", ticket=None)
    assert is_so("outcome:failure and a", "a", outcome="failure")


def test_names_in_quotes_may_hold_anything() -> None:
    steps = [Call('tool:ask "who * is" and more', 0, 1, "t", "s", False, None, None)]
    quoted = ('"ask \\"who \\* is\\" and more"', 'tool:"ask*more"', '"tool:ask *"')
    assert [matches(parse(each), steps, {}) for each in quoted] == [True] * 3
    assert not matches(parse('"ask \\*"'), steps, {})


def test_what_is_read() -> None:
    a, b = Step(Pattern(("a",))), Step(Pattern(("b", "")), "tool")
    assert parse("!a x2 .. tool:b* $ and ticket:t or error(a)") == Or(
        (
            And((Chain((Not(Repeat(a, 2)), b, Edge(True)), ("..", ">")), Field("ticket", Pattern(("t",))))),
            Step(Pattern(("a",)), failed=True),
        )
    )


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("", "column 1: a step is missing"),
        ("a >", "column 4: a step is missing"),
        ("(a", "column 3: ) is missing"),
        ("a)", "column 2: ')' stands where one of > .. x3 $ and or, or the end, was expected"),
        ("a and or b", "column 7: 'or' stands where a step was expected"),
        ("a b", "column 3: 'b' stands where one of > .. x3 $ and or, or the end, was expected"),
        ('a > "b', "column 5: a quotation begins that does not end"),
        ("a x0", "column 3: x0 is no number from x1 to x10000"),
        ("a x99999999999999999999", "column 3: x99999999999999999999 is no number from x1 to x10000"),
        ("ticket: and a", "column 1: ticket: names nothing"),
        ("outcome:great", "column 1: outcome: is one of success, failure, abandoned, unknown"),
        ("a > ticket:t", "ticket: says something of the whole run: join it with and, or or !"),
        ("(a > b and c) $", "inside a sequence, and joins conditions on one step: (a and !error(*))"),
        (
            "a > !(b > c) > d",
            "! of more than one step stands beside a .. of its sequence: a .. !(b > c)",
        ),
        (
            "(a > !(b > c)) > d",
            "! of more than one step stands beside a .. of its sequence: a .. !(b > c)",
        ),
        ("a > !(b x2) > c", "! of more than one step stands beside a .. of its sequence: a .. !(b > c)"),
        ("a .. !b .. !c", "two ! with .. between them: write !(A or B)"),
        ("(" * 60 + "a" + ")" * 60, "an expression has at most 50 parentheses and !"),
        ("a" * 1001, "an expression has at most 1,000 characters, this one 1,001"),
    ],
)
def test_what_is_no_expression_is_told_in_a_sentence(expression: str, sentence: str) -> None:
    with pytest.raises(InputError) as told:
        parse(expression)
    assert str(told.value) == sentence


@given(st.text('ab"()!^$>.* x3:\\\n', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert matches(parse(text), run("a b a"), {}) in (True, False)


names = st.sampled_from((("a",), ("b",), ("", "")))
single = st.builds(Step, names.map(Pattern), failed=st.booleans())


def _several(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[tuple[Expression, ...]]:
    return st.lists(parts, min_size=2, max_size=3).map(tuple)


def _of_steps(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Repeat, parts, st.integers(1, 3)), st.builds(Or, _several(parts)), _chains(parts)
    )


def _of_runs(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(st.builds(Not, parts), st.builds(And, _several(parts)), st.builds(Or, _several(parts)))


@st.composite
def _chains(draw: st.DrawFn, parts: st.SearchStrategy[Expression]) -> Chain:
    """No two parts in a row are negated, and one that is negated stands beside a ``..``."""
    found: list[Expression] = []
    for _ in range(draw(st.integers(2, 4))):
        part = draw(st.one_of(parts, st.builds(Edge, st.booleans()), st.builds(Not, parts)))
        is_second = isinstance(part, Not) and bool(found) and isinstance(found[-1], Not)
        found.append(draw(single) if is_second else part)
    links: list[str] = []
    for left, right in pairwise(found):
        complex = not all(is_on_one_step(each) or not isinstance(each, Not) for each in (left, right))
        links.append(".." if complex else draw(st.sampled_from((">", ".."))))
    return Chain(tuple(found), tuple(links))  # type: ignore[arg-type]


conditions = st.recursive(single, _of_runs, max_leaves=3)
sequences = st.recursive(conditions, _of_steps, max_leaves=5)
expressions = st.recursive(sequences, _of_runs, max_leaves=3)
runs = st.lists(st.sampled_from(("a", "b", "a!", "b!")), max_size=6).map(" ".join)


@given(expressions, runs)
def test_every_expression_means_what_trying_every_way_finds(expression: Expression, text: str) -> None:
    steps = run(text)
    assert matches(expression, steps, {}) == holds(expression, steps)


def holds(e: Expression, steps: Sequence[Call]) -> bool:
    if isinstance(e, Not):
        return not holds(e.part, steps)
    if isinstance(e, And):
        return all(holds(part, steps) for part in e.parts)
    if isinstance(e, Or):
        return any(holds(part, steps) for part in e.parts)
    if isinstance(e, Chain):
        return any(True for _ in placed(e, steps, 0, ".."))
    return bool(spans(e, steps))


def spans(e: Expression, steps: Sequence[Call]) -> set[tuple[int, int]]:
    """From which place to which it can be."""
    places = range(len(steps) + 1)
    single = {(at, at + 1) for at in places[:-1]}
    if isinstance(e, Step):
        return {(at, end) for at, end in single if fits(e, steps[at])}
    if isinstance(e, Edge):
        return {(len(steps), len(steps)) if e.is_end else (0, 0)}
    if isinstance(e, Or):
        return set().union(*(spans(part, steps) for part in e.parts))
    if isinstance(e, And):
        return set.intersection(*(spans(part, steps) for part in e.parts))
    if isinstance(e, Not):
        return single - spans(e.part, steps)
    if isinstance(e, Repeat):
        once = spans(e.part, steps)
        found = joined = once
        for _ in range(e.least - 1):
            found = joined = {(s, u) for s, t in joined for v, u in once if t == v}
        for _ in places:
            joined = {(s, u) for s, t in joined for v, u in once if t == v}
            found = found | joined
        return found
    assert isinstance(e, Chain)
    return {(start, end) for start in places for end in placed(e, steps, start, ">")}


def fits(step: Step, call: Call) -> bool:
    name = call.signature.partition(":")[2]
    return step.name.parts in ((name,), ("", "")) and (call.error or not step.failed)


def placed(chain: Chain, steps: Sequence[Call], at: int, outside: str) -> Iterator[int]:
    """Where the chain can end that begins at a place, by trying each place for each part."""
    last = len(steps)
    links = (outside, *chain.links, outside)

    def on(k: int, at: int, link: str) -> Iterator[int]:
        if k == len(chain.parts):
            if link != "here" or outside == ">" or at == last:
                yield at
            return
        part, right = chain.parts[k], links[k + 1]
        if not isinstance(part, Not):
            for start, end in spans(part, steps):
                if start == at or (link == ".." and start > at):
                    yield from on(k + 1, end, right)
            return
        bad = spans(part.part, steps)
        if link == ">" and right == ">":
            if at < last and (at, at + 1) not in bad:
                yield from on(k + 1, at + 1, ">")
        elif link == ">" and all(start != at for start, _ in bad):
            yield from on(k + 1, at, "..")
        for to in range(at, last + 1) if link == ".." else ():
            if right == ">" and all(end != to for _, end in bad):
                yield from on(k + 1, to, ">")
            if right == ".." and not any(at <= start and end <= to for start, end in bad):
                yield from on(k + 1, to, "here")

    return on(0, at, outside)


ALONE = "x or ! of more than one step stands in no other x or ! of its sequence"
NASTY = (
    "(a x2 .. a x2 .. a x2 .. a x2 .. b) or (a x2 > (a or a .. a)) x5 > c",
    "(a x1 > (a x9999 or a)) x2 .. !(a x3 .. c) .. b",
    "a .. !(a > b) .. a .. !(b > a) .. a .. !(a x3) .. c",
    "*a*a*a*a*a*a*a*a*a*b",
    "(^ or $ or a > a) x10000 > c",
    "(* x1 > c or * > *) x1 .. c",
    "(a .. !b .. b > a .. !c > b) x1 > !b .. c",
    "a > !(a .. a .. a .. a .. b > c) " + ".. a > !(a > a > a > a > a > c) " * 24 + ".. c",
    "(a > a or a > a > a or b > a > b) x1 " + "> (a > a > a > b or a .. a) x9999 " * 24 + ".. c",
    " and ".join(["!(a .. !(a > a .. c) .. b .. !(b > a > c) .. c)"] * 8),
)
NESTED = (
    "(a .. !(a .. !(a .. !b .. a > c) .. a) .. a)",
    "a .. !((a > b) x3) .. c",
    "(a .. !(a > b) .. a) x3 > c",
    "(((* > *) x1 > c or *) x1 > c or *) x1",
    "((((a > a) x1) x1) x1) x1",
    "a > !(a .. !(b > c)) .. d",
    "((^ x10000) x10000) x10000 > c",
)


@pytest.mark.parametrize("expression", NASTY)
def test_no_expression_takes_long_over_a_whole_path(expression: str) -> None:
    asked = parse(expression)
    for path in ("a " * 400, "a " * 150 + "a b " * 20 + "a" * 100 + " b", "a b " * 200):
        steps = run(path)
        began = time.process_time()
        matches(asked, steps, {})
        assert time.process_time() - began < 0.5


@pytest.mark.parametrize("expression", NESTED)
def test_what_would_take_long_is_refused(expression: str) -> None:
    with pytest.raises(InputError) as told:
        parse(expression)
    assert str(told.value) == ALONE


def test_a_run_of_100_000_steps_is_asked_at_once() -> None:
    steps = run("a b c " * 33_334)
    began = time.process_time()
    assert is_so_of("a x1 > b .. !error(*) .. c > a .. c $", steps)
    assert is_so_of("(a > b > c) x9999 and !a x2", steps)
    assert not is_so_of("* x10000 > d or !(a .. c)", steps)
    assert time.process_time() - began < 5


def test_an_expression_may_nest_as_deep_as_it_is_allowed_to() -> None:
    assert is_so("(a > " * 49 + "a" + ")" * 49, "a " * 50)
    assert is_so("!" * 50 + "a", "a")
    assert is_so("a .. (" * 49 + "a" + ")" * 49, "a " * 60)


def is_so_of(expression: str, steps: Sequence[Call]) -> bool:
    return matches(parse(expression), steps, {})
