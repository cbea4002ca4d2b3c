"""How far a fork is shown, in words: within tickets, within versions, and beside what chance makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from engine.chance import Chance
from engine.forks import Fork, compared
from engine.maps import BehaviourMap
from engine.strata import Evidence, Held, Label, held
from engine.stratified import Stratified

Within: TypeAlias = Literal["tickets", "versions", "both"]

NO_TICKET: Final = (
    "No run names its ticket (what it was asked to do), so hard tasks cannot be told from a bad step: a fork "
    "can be significant here, but not confirmed. Send forkmap.ticket with each run, and forks are compared "
    "within tickets."
)
"""What a ticket would add where there is none."""

_OF = {"tickets": "ticket", "versions": "version", "both": "ticket and version"}
_IN = {"tickets": "tickets", "versions": "versions", "both": "tickets and versions together"}


def comparisons(evidence: Evidence) -> list[tuple[Within, Stratified]]:
    """The comparisons within strata that could be made."""
    names: tuple[Within, ...] = ("tickets", "versions", "both")
    return [(name, each) for name, each in zip(names, evidence.strata, strict=True) if each is not None]


def grounds(evidence: Evidence) -> str:
    """In a few words, on what grounds a fork has its label.

    >>> from engine.strata import Strata
    >>> found = Stratified(0.4, -0.1, -0.3, 0.1, 4, 14, 6, 11, 0.03, 0.1)
    >>> grounds(Evidence(0.01, 0.02, Strata(found, None, None), True))
    'not shown within tickets, 14 runs could have shown it'
    >>> grounds(Evidence(0.01, 0.02, Strata(None, None, None), True))
    'no run names its ticket'
    """
    if evidence.strata.tickets is None:
        return "no run names its ticket"
    made = [(within, each, held(each, evidence.worse)) for within, each in comparisons(evidence)]
    short = [found for found in made if found[2] is not Held.HOLDS]
    if not short:
        return f"holds within {_IN[made[-1][0]]}"
    within, found, how = short[0]
    if how is Held.CANNOT_TELL:
        few = f", {_runs(found.runs)} could not have shown it" if found.runs else ""
        return f"cannot tell within {_IN[within]}{few}"
    return f"not shown within {_IN[within]}, {_runs(found.runs)} could have shown it"


def sentence(
    within: Within, found: Stratified, worse: bool, written: Callable[[float], str] = compared
) -> str:
    """What one comparison within strata shows; ``written`` is how p is, with its sign.

    >>> first, figures = sentence(
    ...     "tickets", Stratified(0.004, -0.41, -0.62, -0.2, 12, 40, 18, 15, 1e-6, 1e-5), worse=True
    ... ).split(" (")
    >>> first
    'Holds within tickets: beside others of the same ticket, runs that took it succeed 41 points less often'
    >>> figures
    '95% interval of the difference −62 to −20 points, exact p = 0.004); 40 runs of 12 tickets could show it.'
    """
    how, of = held(found, worse), _OF[within]
    if how is Held.CANNOT_TELL:
        return f"Cannot tell within {_IN[within]}: {_untold(found, within)}."
    start = "Holds" if how is Held.HOLDS else "Not shown"
    could = "could show it" if how is Held.HOLDS else "could have shown it"
    return (
        f"{start} within {_IN[within]}: beside others of the same {of}, runs that took it succeed "
        f"{_gap(found)}, exact p {written(found.p)}); {_runs(found.runs)} of "
        f"{_strata(found.strata, within)} {could}."
    )


def _untold(found: Stratified, within: Within) -> str:
    if not found.shared:
        return f"no {_OF[within]} has runs both on this way and on another"
    if found.runs:
        few = f"{_runs(found.runs)} of {_strata(found.strata, within)}"
        return f"{few} could not have shown it, whatever their outcomes"
    if found.shared == 1:
        return f"one {_OF[within]} has runs on both sides, and all of them ended alike"
    return f"on each of the {_strata(found.shared, within)} with runs on both sides all runs ended alike"


def _gap(found: Stratified) -> str:
    points = 100 * found.difference
    side = "less" if points < 0 else "more"
    gap = f"{abs(points):.0f} points {side} often" if round(abs(points)) else "as often"
    if found.low == found.high:
        return f"{gap} (every run of a side ended alike"
    low, high = (f"{100 * each:.0f}".replace("-", "−") for each in (found.low, found.high))
    return f"{gap} (95% interval of the difference {low} to {high} points"


def _runs(number: int) -> str:
    return f"{number:,} run{'s' if number != 1 else ''}"


def _strata(number: int, within: Within) -> str:
    if within == "both":
        return f"{number:,} pair{'s' if number != 1 else ''} of ticket and version"
    return f"{number:,} {_OF[within]}{'s' if number != 1 else ''}"


def by_chance(behaviour: BehaviourMap, chance: Chance) -> str:
    """How many fatal forks of a map chance, and a mix of tickets and versions, would make."""
    of = _SHUFFLED[chance.within_tickets, chance.within_versions]
    is_alone = chance.within_tickets and not chance.within_versions and len(set(behaviour.versions)) > 1
    if not chance.moved:
        return (
            f"How many forks {of.makes} would make cannot be told: no two runs {of.alike} ended differently, "
            "so there is nothing to shuffle."
        )
    completed = behaviour.totals.completed
    some = "" if chance.moved == completed else f" (that can change {chance.moved:,} of {completed:,})"
    text = (
        f"{of.makes[0].upper()}{of.makes[1:]} would make {chance.forks:.1f} fatal forks: so many appear on "
        f"average when outcomes are shuffled among {of.among}{some}"
    )
    if chance.found:
        as_many = f"{chance.as_many} of {chance.shuffles}" if chance.as_many else f"none of {chance.shuffles}"
        text += f"; {as_many} shuffles made {chance.found:,} or more"
    return f"{text}. {_NO_VERSIONS}" if is_alone else f"{text}."


_NO_VERSIONS = (
    "What the mix of versions makes is not in it: no two runs of one ticket and version ended differently."
)


class _Shuffle(NamedTuple):
    """What is left when outcomes are shuffled so, and among which runs they are."""

    makes: str
    among: str
    alike: str


_SHUFFLED = {
    (False, False): _Shuffle("chance alone", "all runs", "at all"),
    (True, False): _Shuffle("chance and the mix of tickets", "runs of the same ticket", "of one ticket"),
    (True, True): _Shuffle(
        "chance and the mix of tickets and versions",
        "runs of the same ticket and version",
        "of one ticket and version",
    ),
}


def foremost(forks: Sequence[Fork], found: Mapping[int, Evidence]) -> Fork:
    """The fork to look at first: of those that are shown best the first."""
    return min(forks, key=lambda fork: get_args(Label).index(found[fork.node].label))


def count_confirmed(found: Mapping[int, Evidence]) -> int:
    """How many fatal forks are confirmed."""
    return sum(each.worse and each.label == "confirmed" for each in found.values())


def confirmed(behaviour: BehaviourMap, found: Mapping[int, Evidence]) -> str:
    """How many of a map's fatal forks are confirmed; "" where there is none."""
    forks, sure = int(behaviour.fork.sum()), count_confirmed(found)
    if not forks:
        return ""
    if forks == 1:
        return "It is confirmed." if sure else "It is not confirmed."
    return f"{sure or 'None'} of the {forks:,} {'is' if sure < 2 else 'are'} confirmed."


def overall(behaviour: BehaviourMap, found: Mapping[int, Evidence], chance: Chance | None) -> list[str]:
    """What holds of all fatal forks of a map together, in sentences; none where nothing could be tested."""
    if not behaviour.tested:
        return []
    forks = bool(behaviour.fork.any())
    told = [confirmed(behaviour, found)] if forks else []
    if chance is not None and (forks or chance.moved):
        told.append(by_chance(behaviour, chance))
    lacking = forks and all(ticket is None for ticket in behaviour.tickets)
    return [*told, NO_TICKET] if lacking else told
