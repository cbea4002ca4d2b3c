"""What must hold for any cohort: the engine against the slow reference, and laws of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.calibration import calibrate
from engine.forks import forks, golden_forks, hotspots
from engine.growing import Tree, grow
from engine.maps import BehaviourMap, build
from engine.paths import MARK, MAX_TOKENS, fold
from engine.runs import Cohort
from engine.verdicts import Verdict, judge, judge_next
from tests import reference
from tests.reference import Path, Sample
from tests.strategies import SIGNATURES, behaviours, cohorts, long_behaviours, paths_of, run_of

COHORT = Cohort("default", "support-agent")
few = settings(max_examples=60)
many = settings(max_examples=100)


def built(samples: Sequence[Sample], max_nodes: int = 50_000) -> BehaviourMap:
    return build(COHORT, paths_of(samples), now_ns=0, max_nodes=max_nodes)


def places(behaviour: BehaviourMap) -> list[Path]:
    """The path of every node, as the reference writes it."""
    return [behaviour.path(node) for node in range(len(behaviour))]


def cut_alike(samples: Sequence[Sample], max_nodes: int) -> reference.Tree:
    """The reference's tree under a bound; ties are broken by the engine's own keys."""
    whole = built(samples)
    key = dict(zip(places(whole), whole.key.tolist(), strict=True))
    return reference.bound(reference.grow(samples), max_nodes, key.__getitem__)


# --- paths ---------------------------------------------------------------------------------


@many
@given(st.one_of(behaviours(max_bursts=8), long_behaviours))
def test_folding_equals_the_reference_and_loses_no_order(signatures: tuple[str, ...]) -> None:
    folds = fold(signatures)
    assert tuple(item.token for item in folds) == reference.path(signatures)
    read = [item.signature for item in folds if item.signature != MARK for _ in range(item.count)]
    assert read == list(signatures[: len(read)])


@many
@given(behaviours(max_bursts=8))
def test_folding_is_idempotent(signatures: tuple[str, ...]) -> None:
    folds = fold(signatures)
    assume(len(folds) <= MAX_TOKENS)
    once = fold(item.signature for item in folds)
    assert [item.signature for item in once] == [item.signature for item in folds]
    assert fold(item.signature for item in once) == once


# --- maps ----------------------------------------------------------------------------------


@few
@given(cohorts())
def test_a_map_equals_the_reference(samples: list[Sample]) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    known = reference.facts(tree)
    assert sorted(places(behaviour)) == sorted(tree)
    for node, place in enumerate(places(behaviour)):
        check_node(behaviour, node, tree[place], known[place])
    assert behaviour.tested == sum(fact.p is not None for fact in known.values())
    assert behaviour.impossible == reference.impossible(known)


def check_node(behaviour: BehaviourMap, node: int, there: reference.Node, fact: reference.Facts) -> None:
    counts = [
        int(column[node])
        for column in (behaviour.support, behaviour.successes, behaviour.abandoned, behaviour.ended)
    ]
    assert counts == [there.support, there.successes, there.abandoned, there.ended]
    siblings = (behaviour.sibling_support[node], behaviour.sibling_successes[node])
    assert siblings == (fact.sibling_support, fact.sibling_successes)
    interval = (behaviour.low[node], behaviour.high[node])
    assert interval == pytest.approx(reference.wilson(there.successes, there.support), abs=1e-12)
    tests = [math.nan if value is None else float(value) for value in (fact.p, fact.q)]
    assert [behaviour.p[node], behaviour.q[node]] == pytest.approx(tests, rel=1e-9, nan_ok=True)
    assert behaviour.entropy_bits[node] == pytest.approx(fact.entropy_bits, abs=1e-9)
    columns = (behaviour.fork, behaviour.golden, behaviour.hotspot, behaviour.cut)
    flags = [bool(column[node]) for column in columns]
    assert flags == [fact.fork, fact.golden, fact.hotspot, there.cut]


@few
@given(cohorts(), st.integers(1, 12))
def test_a_bounded_map_keeps_the_largest_nodes_as_they_were(samples: list[Sample], max_nodes: int) -> None:
    behaviour, tree = built(samples, max_nodes), cut_alike(samples, max_nodes)
    known = reference.facts(reference.grow(samples))
    assert sorted(places(behaviour)) == sorted(tree)
    for node, place in enumerate(places(behaviour)):
        check_node(behaviour, node, tree[place], known[place])
    assert ("nodes" in behaviour.totals.bounds_met) == (len(known) > max_nodes)


@few
@given(cohorts(), st.randoms(use_true_random=False), st.integers(1, 12))
def test_a_map_does_not_depend_on_the_order_of_runs(
    samples: list[Sample],
    chance: Random,
    max_nodes: int,
) -> None:
    shuffled = samples[:]
    chance.shuffle(shuffled)
    one, other = built(samples, max_nodes), built(shuffled, max_nodes)
    assert one.to_frame().equals(other.to_frame())
    assert members(one) == members(other)


def members(behaviour: BehaviourMap) -> dict[str, tuple[str, int]]:
    keys = [behaviour.key_text(node) for node in behaviour.member_node.tolist()]
    return dict(
        zip(behaviour.run_ids, zip(keys, behaviour.member_outcome.tolist(), strict=True), strict=True)
    )


@few
@given(cohorts(), st.integers(1, 12))
def test_every_run_through_a_node_ended_there_or_went_on(samples: list[Sample], max_nodes: int) -> None:
    behaviour = built(samples, max_nodes)
    for node in range(len(behaviour)):
        went_on = int(behaviour.support[behaviour.children(node)].sum())
        lost = int(behaviour.support[node] - behaviour.ended[node]) - went_on
        assert lost > 0 if behaviour.cut[node] else lost == 0


@few
@given(cohorts())
def test_forks_and_hotspots_equal_the_reference(samples: list[Sample]) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    known = reference.facts(tree)
    fatal = {place for place, fact in known.items() if fact.fork}
    found = forks(behaviour)
    assert {fork.path for fork in found} == fatal
    lost = [float(reference.runs_lost(tree[fork.path], known[fork.path])) for fork in found]
    assert [fork.runs_lost for fork in found] == pytest.approx(lost)
    assert lost == pytest.approx(sorted(lost, reverse=True))
    golden = golden_forks(behaviour)
    assert {fork.path for fork in golden} == {place for place, fact in known.items() if fact.golden}
    gained = [-float(reference.runs_lost(tree[fork.path], known[fork.path])) for fork in golden]
    assert [fork.runs_gained for fork in golden] == pytest.approx(gained)
    assert gained == pytest.approx(sorted(gained, reverse=True))
    spots = {spot.path: spot for spot in hotspots(behaviour)}
    assert set(spots) == {place for place, fact in known.items() if fact.hotspot}
    for place, spot in spots.items():
        assert spot.visits == known[place].visits
        options = {token: child.support for token, child in reference.children(tree, place).items()}
        assert dict(spot.options) == options


@few
@given(cohorts())
def test_a_forks_examples_part_at_the_fork(samples: list[Sample]) -> None:
    completed = [sample for sample in samples if sample.outcome is not None]
    behaviour = built(samples)
    for fork in (*forks(behaviour), *golden_forks(behaviour)):
        place, is_golden = fork.path, fork.runs_gained > 0
        at = len(place)
        here = [s for s in completed if reference.path(s.signatures)[: at - 1] == place[:-1]]
        took = [s for s in here if reference.path(s.signatures)[:at] == place]
        beside = ((), place[-1:], (reference.MARK,))
        apart = [s for s in here if reference.path(s.signatures)[at - 1 : at] not in beside]
        lost = {s.run_id: s for s in (apart if is_golden else took) if not s.success}
        won = {s.run_id: s for s in (took if is_golden else apart) if s.success}
        assert (fork.failure in lost) == bool(lost)
        assert (fork.success in won) == bool(won)
        shared = {s.ticket for s in lost.values()} & {s.ticket for s in won.values()} - {None}
        if shared:
            assert lost[str(fork.failure)].ticket == won[str(fork.success)].ticket in shared


# --- verdicts ------------------------------------------------------------------------------


def check_verdict(verdict: Verdict, expected: reference.Verdict) -> None:
    assert (verdict.verdict, verdict.support, verdict.successes) == (
        expected.verdict,
        expected.support,
        expected.successes,
    )
    assert verdict.base_rate == (None if expected.base_rate is None else float(expected.base_rate))
    assert [(odds.support, odds.successes) for odds in verdict.depths] == expected.depths
    assert verdict.fell_most == expected.fell_most
    steps = {step.signature: (step.support, step.successes) for step in verdict.next_steps}
    assert steps == expected.next_steps
    assert verdict.best_next_step == expected.best_next_step


questions = st.one_of(behaviours(), behaviours(max_bursts=2), long_behaviours)


@few
@given(cohorts(), st.lists(questions, max_size=4), st.sampled_from(SIGNATURES))
def test_live_verdicts_equal_the_reference(
    samples: list[Sample], asked: list[tuple[str, ...]], named: str
) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    for signatures in [*asked, *{sample.signatures for sample in samples}]:
        live = Sample("live", signatures, None)
        check_verdict(judge(behaviour, run_of(live), True), reference.judge(tree, samples, live, True))
        verdict = judge_next(behaviour, run_of(live), True, named)
        check_verdict(verdict, reference.judge(tree, samples, live, True, named))


@few
@given(cohorts())
def test_a_completed_run_is_judged_as_if_the_map_had_never_held_it(samples: list[Sample]) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    for sample in one_of_each(samples):
        verdict = judge(behaviour, run_of(sample), live=False)
        check_verdict(verdict, reference.judge(tree, samples, sample, live=False))
        others = [other for other in samples if other.run_id != sample.run_id]
        assert verdict == judge(built(others), run_of(sample), live=False)


@few
@given(cohorts(), st.sampled_from(SIGNATURES))
def test_a_step_named_on_a_completed_run_is_judged_as_if_the_map_had_never_held_the_run(
    samples: list[Sample], named: str
) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    for sample in one_of_each(samples):
        for step in {named, *sample.signatures[-1:]}:
            verdict = judge_next(behaviour, run_of(sample), False, step)
            check_verdict(verdict, reference.judge(tree, samples, sample, False, step))
            others = [other for other in samples if other.run_id != sample.run_id]
            assert verdict == judge_next(built(others), run_of(sample), False, step)


def one_of_each(samples: Sequence[Sample]) -> list[Sample]:
    """One completed run of every behaviour and outcome."""
    kinds = {(s.signatures, s.outcome): s for s in samples if s.outcome is not None}
    return list(kinds.values())


@few
@given(cohorts(), questions, st.sampled_from(("success", "failure", "abandoned")))
def test_a_run_that_changed_since_the_map_was_built_is_not_left_out(
    samples: list[Sample], signatures: tuple[str, ...], outcome: str
) -> None:
    behaviour, tree = built(samples), reference.grow(samples)
    for sample in one_of_each(samples)[:3]:
        for changed in (sample._replace(signatures=signatures), sample._replace(outcome=outcome)):
            verdict = judge(behaviour, run_of(changed), live=False)
            check_verdict(verdict, reference.judge(tree, samples, changed, live=False))


@few
@given(cohorts(), st.lists(questions, max_size=3), st.integers(1, 12), st.sampled_from(SIGNATURES))
def test_verdicts_on_a_bounded_map_equal_the_reference(
    samples: list[Sample], asked: list[tuple[str, ...]], max_nodes: int, named: str
) -> None:
    behaviour, tree = built(samples, max_nodes), cut_alike(samples, max_nodes)
    live = [Sample("live", signatures, None) for signatures in asked]
    for sample in [*live, *one_of_each(samples)]:
        is_live = sample.outcome is None
        verdict = judge(behaviour, run_of(sample), is_live)
        check_verdict(verdict, reference.judge(tree, samples, sample, is_live))
        verdict = judge_next(behaviour, run_of(sample), is_live, named)
        check_verdict(verdict, reference.judge(tree, samples, sample, is_live, named))


@few
@given(cohorts(), questions)
def test_next_steps_are_what_naming_each_gives(samples: list[Sample], signatures: tuple[str, ...]) -> None:
    behaviour = built(samples)
    for sample in (Sample("live", signatures, None), *one_of_each(samples)):
        run, live = run_of(sample), sample.outcome is None
        for step in judge(behaviour, run, live).next_steps:
            named = judge_next(behaviour, run, live, step.signature)
            assert step[1:] == (named.support, named.successes, named.rate, named.low, named.high)


# --- calibration ---------------------------------------------------------------------------


@few
@given(cohorts())
def test_calibration_equals_the_reference(samples: list[Sample]) -> None:
    found, made = calibrate(paths_of(samples)), reference.predictions(samples)
    check_scores(found[:4], reference.scores(made))
    for skill in found.depths:
        check_scores(skill[1:], reference.scores([one for one in made if one.steps == skill.steps]))
    assert tuple(skill.steps for skill in found.depths) == reference.DEPTHS
    for row, (support, mean, successes) in zip(found.reliability, reference.reliability(made), strict=True):
        assert row.support == support
        assert (row.predicted_mean is None) == (mean is None)
        if mean is not None:
            assert (row.predicted_mean, row.observed) == pytest.approx((float(mean), successes / support))
        assert row[5:] == pytest.approx(reference.wilson(successes, support), abs=1e-12)


def check_scores(found: Sequence[float | None], expected: reference.Scores) -> None:
    assert number(found) == pytest.approx(number(expected), rel=1e-9, abs=1e-12, nan_ok=True)


def number(scores: Iterable[float | Fraction | None]) -> list[float]:
    """Scores as floats; nothing is not a number."""
    return [math.nan if score is None else float(score) for score in scores]


@few
@given(cohorts())
def test_both_halves_of_one_tree_equal_separate_builds(samples: list[Sample]) -> None:
    tree = grow(paths_of(samples))
    for side in (0, 1):
        apart = reference.grow(s for s in samples if reference.half(s.run_id) == side)
        together = dict(zip(grown(tree), tree.through[side].sum(axis=0).tolist(), strict=True))
        empty = dict.fromkeys(together, 0)
        assert together == empty | {place: node.support for place, node in apart.items()}


def grown(tree: Tree) -> list[Path]:
    """The path of every node of a grown tree."""
    found: list[Path] = [()]
    for parent, token in zip(tree.parent.tolist()[1:], tree.token.tolist()[1:], strict=True):
        found.append((*found[parent], tree.tokens[token]))
    return found
