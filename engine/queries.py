"""The questions that the command and the pages both ask of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from engine.calibration import Calibration, calibrate
from engine.conventions import Kind
from engine.errors import UnknownRunError, UnknownStepError
from engine.forks import Fork, forks_along, nodes_along
from engine.maps import MAX_NODES, BehaviourMap, build
from engine.occurrences import Occurrences, failures, occurrences
from engine.pasting import alike, candidates
from engine.paths import BUCKET_TEXTS, clean_name, parse_signature
from engine.questions import Questions, questions
from engine.runs import ALL_TIME, Cohort, Outcome, Run, View, Window, is_live
from engine.store import MAX_RUNS, AgentSummary, RunRow, Store
from engine.strata import Evidence, evidence
from engine.verdicts import Verdict, judge, judge_next

DEFAULT_WINDOW = Window()
"""The last 30 days, as a symbol."""

STEP_KINDS = (Kind.LLM, Kind.TOOL, Kind.AGENT)
"""Kinds of span that are steps."""
SEARCHED = 50
"""Agents whose runs are searched for names like a text."""
RECENT = 500
"""Runs of each that are compared."""


class Bounds(NamedTuple):
    """How much a map holds at most: completed runs (and as many live ones) read, nodes kept."""

    max_runs: int = MAX_RUNS
    max_nodes: int = MAX_NODES


BOUNDS = Bounds()


class Judged(NamedTuple):
    """A run, its verdict, and the verdict of the next step that was asked about, if any.

    Attributes
    ----------
    forks : tuple of Fork
        The map's fatal forks on the path that was judged, the step asked about included.
    evidence : tuple of Evidence
        What speaks for each of them.
    """

    run: Run
    verdict: Verdict
    asked: Verdict | None = None
    forks: tuple[Fork, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Example(NamedTuple):
    """A completed run that passed a node."""

    run_id: str
    ticket: str | None
    outcome: Outcome


def load_map(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds = BOUNDS) -> BehaviourMap:
    """Build the cohort's behaviour map from the store.

    Raises
    ------
    UnknownAgentError
        Nobody by that name in the tenant.
    """
    return build(cohort, store.paths(cohort, now_ns, bounds.max_runs), now_ns, bounds.max_nodes)


def load_calibration(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds = BOUNDS) -> Calibration:
    """Score how well the cohort's map predicts its own runs, by cross-validation.

    Raises
    ------
    UnknownAgentError
        Nobody by that name in the tenant.
    """
    return calibrate(store.paths(cohort, now_ns, bounds.max_runs))


def load_occurrences(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds = BOUNDS) -> Occurrences:
    """Compare the cohort's runs that have a step, or a failed call of one, with those that have not.

    Raises
    ------
    UnknownAgentError
        Nobody by that name in the tenant.
    """
    failed = failures(store.histories(cohort, now_ns, bounds.max_runs), cohort.view)
    return occurrences(store.paths(cohort, now_ns, bounds.max_runs), failed)


def load_questions(store: Store, cohort: Cohort, now_ns: int, bounds: Bounds = BOUNDS) -> Questions:
    """What fuses would have been asked before each call of the cohort's runs that are over, in view ``all``.

    Raises
    ------
    UnknownAgentError
        Nobody by that name in the tenant.
    """
    runs = store.histories(cohort._replace(view="all"), now_ns, bounds.max_runs)
    over = (run for run in runs if not is_live(run.source, run.last_ns, now_ns))
    return questions(over, bounds.max_nodes)


def cohort_of(run: Run, tenant: str, window: Window = DEFAULT_WINDOW) -> Cohort:
    """The cohort a run is judged by: its agent's runs in view ``all``."""
    return Cohort(tenant, run.agent, window)


def named_step(behaviour: BehaviourMap, text: str) -> str:
    """The signature a text means: ``kind:name``, or a bare name that one signature of the map has.

    Raises
    ------
    UnknownStepError
        It means none, or several.
    """
    kind, name = parse_signature(text.strip())
    wanted = f"{kind}:{clean_name(name)}"
    if kind in STEP_KINDS and name.strip() and not wanted.endswith(BUCKET_TEXTS[1:]):
        return wanted
    known = {token.signature for token in behaviour.tokens}
    if wanted in known:
        return wanted
    bare = clean_name(text)
    alike = [signature for signature in known if parse_signature(signature)[1] == bare]
    if len(alike) == 1:
        return alike[0]
    raise UnknownStepError(f"{bare!r} is no step: a step is kind:name, for example tool:search_orders")


def judge_run(behaviour: BehaviourMap, run: Run, now_ns: int, step: str | None = None) -> Judged:
    """Judge a run against a map; with ``step``, the path followed by that step too.

    Raises
    ------
    UnknownStepError
        The text means no step.
    """
    live = is_live(run.source, run.last_ns, now_ns)
    verdict = judge(behaviour, run, live)
    asked = None if step is None else judge_next(behaviour, run, live, named_step(behaviour, step))
    forks = forks_along(behaviour, (asked or verdict).path, open_last=live or asked is not None)
    shown = evidence(behaviour, [fork.node for fork in forks])
    return Judged(run, verdict, asked, forks, tuple(shown[fork.node] for fork in forks))


def load_verdict(
    store: Store,
    tenant: str,
    run_id: str,
    now_ns: int,
    window: Window = DEFAULT_WINDOW,
    step: str | None = None,
    bounds: Bounds = BOUNDS,
) -> Judged:
    """Read a run and judge it by a map built now.

    Raises
    ------
    UnknownRunError
        No such run in the tenant.
    UnknownStepError
        The text means no step.
    """
    run = store.run(tenant, run_id)
    behaviour = load_map(store, cohort_of(run, tenant, window), now_ns, bounds)
    return judge_run(behaviour, run, now_ns, step)


class AgentLine(NamedTuple):
    """One agent in a list: its counts inside the window and of all time."""

    window: AgentSummary
    all_time: AgentSummary

    @property
    def recent(self) -> bool:
        """Whether it has any run inside the window."""
        return self.window.completed + self.window.unknown > 0


def overview(store: Store, tenant: str, now_ns: int, window: Window = DEFAULT_WINDOW) -> list[AgentLine]:
    """Every agent of the tenant; those with runs in the window first, largest first."""
    # Two questions, between which runs may come or move: who is in one answer only is left out.
    ever = store.agents(tenant, ALL_TIME, now_ns)
    inside = {summary.agent: summary for summary in store.agents(tenant, window, now_ns)}
    lines = [AgentLine(inside[summary.agent], summary) for summary in ever if summary.agent in inside]
    return sorted(
        lines, key=lambda line: (-line.window.completed, -line.all_time.completed, line.window.agent)
    )


def examples(
    behaviour: BehaviourMap, node: int, wanted: Callable[[Outcome], bool], limit: int = 3
) -> list[Example]:
    """Completed runs that passed the node, latest first.

    Parameters
    ----------
    behaviour : BehaviourMap
        The map.
    node : int
        Node index; runs at any node of its subtree passed it.
    wanted : callable
        Which outcomes to list.
    limit : int
        At most so many.
    """
    end = node + int(behaviour.size[node])
    inside = ((behaviour.member_node >= node) & (behaviour.member_node < end)).nonzero()[0]
    found: list[Example] = []
    for member in inside.tolist():
        if len(found) == limit:
            break
        outcome = Outcome(int(behaviour.member_outcome[member]))
        if wanted(outcome):
            found.append(Example(behaviour.run_ids[member], behaviour.tickets[member], outcome))
    return found


def contrast_beside(behaviour: BehaviourMap, judged: Judged) -> Example | None:
    """The run to compare one with: a success, or beside a success one that was none; of its ticket first.

    The one that went its way longest is taken; of several that left it at one point, the latest.
    """
    run, found = judged.run, judged.verdict
    nodes = nodes_along(behaviour, found.path, found.live)
    won = behaviour.member_outcome == Outcome.SUCCESS
    other = ~won if run.outcome is Outcome.SUCCESS and not found.live else won
    other &= np.array([run_id != run.run_id for run_id in behaviour.run_ids], bool)
    alike = np.array([ticket is not None and ticket == run.ticket for ticket in behaviour.tickets], bool)
    at = behaviour.member_node
    for wanted in (other & alike, other):
        for node in (*reversed(nodes), 0):
            inside = np.flatnonzero(wanted & (at >= node) & (at < node + int(behaviour.size[node])))
            if inside.size:
                first = int(inside[0])
                outcome = Outcome(int(behaviour.member_outcome[first]))
                return Example(behaviour.run_ids[first], behaviour.tickets[first], outcome)
    return None


def telling_window(store: Store, tenant: str, agent: str, now_ns: int) -> Window:
    """The default window if the agent has a run in it, else all time."""
    recent = store.runs(Cohort(tenant, agent, DEFAULT_WINDOW), now_ns, limit=1)
    return DEFAULT_WINDOW if recent else ALL_TIME


def in_windows(
    store: Store, tenant: str, agent: str, windows: Iterable[Window], now_ns: int
) -> list[tuple[Window, AgentSummary]]:
    """Of these windows, those in which the agent has a run, and how its runs there ended."""
    return [
        (window, summary)
        for window in windows
        for summary in store.agents(tenant, window, now_ns)
        if summary.agent == agent and summary.completed + summary.unknown
    ]


class Found(NamedTuple):
    """What a pasted text names: runs, and agents by exact name.

    Attributes
    ----------
    name : str
        What of the text it was that names them.
    """

    run_ids: tuple[str, ...]
    agents: tuple[str, ...]
    name: str = ""


def find(store: Store, tenant: str, text: str, now_ns: int) -> Found:
    """Runs and agents that a pasted text names: run id, trace id (dashed or not), ticket, agent.

    The text as it is counts first, then what it may hold: see :func:`engine.pasting.candidates`.
    """
    names = candidates(text)
    agents = {summary.agent for summary in store.agents(tenant, ALL_TIME, now_ns)} if names else set()
    for name in names:
        found = Found(tuple(store.find(tenant, name)), (name,) if name in agents else (), name)
        if found.run_ids or found.agents:
            return found
    return Found((), ())


def named_run(store: Store, tenant: str, text: str, now_ns: int) -> Run:
    """The run of that id, else the one that the text names otherwise: by a trace, or a ticket.

    Raises
    ------
    UnknownRunError
        The text names no run, or several.
    """
    try:
        return store.run(tenant, text)
    except UnknownRunError:
        run_ids = find(store, tenant, text, now_ns).run_ids
        if len(run_ids) != 1:
            raise
        return store.run(tenant, run_ids[0])


class Named(NamedTuple):
    """A run that a text names or nearly names, and the window that tells most of its agent."""

    run: Run
    window: Window


def named(store: Store, tenant: str, run_ids: Iterable[str], now_ns: int) -> list[Named]:
    """These runs, to be listed; one that goes meanwhile is left out."""
    found = list[Named]()
    windows: dict[str, Window] = {}
    for run_id in run_ids:
        try:
            run = store.run(tenant, run_id)
        except UnknownRunError:
            continue
        if run.agent not in windows:
            windows[run.agent] = telling_window(store, tenant, run.agent, now_ns)
        found.append(Named(run, windows[run.agent]))
    return found


class Near(NamedTuple):
    """What has a name like a text that names nothing, and among how many it was looked for.

    Attributes
    ----------
    agents : tuple
        Names of agents, and the window that tells most of each.
    searched_runs, searched_agents : int
        What the tenant has: the text itself was looked for among all of them.
    """

    runs: tuple[Named, ...]
    agents: tuple[tuple[str, Window], ...]
    searched_runs: int
    searched_agents: int


def near(store: Store, tenant: str, text: str, now_ns: int, limit: int = 5) -> Near:
    """What is called most like a text that names nothing: one in the other, or different in one place.

    Of the first 50 agents, the latest 500 runs each are compared.
    """
    known = store.agents(tenant, ALL_TIME, now_ns)
    names = [summary.agent for summary in known]
    recent = [row.run_id for agent in names[:SEARCHED] for row in _recent(store, tenant, agent, now_ns)]
    runs = named(store, tenant, alike(text, recent, limit), now_ns)
    agents = [(name, telling_window(store, tenant, name, now_ns)) for name in alike(text, names, limit)]
    return Near(tuple(runs), tuple(agents), sum(each.completed + each.unknown for each in known), len(known))


def _recent(store: Store, tenant: str, agent: str, now_ns: int) -> list[RunRow]:
    return store.runs(Cohort(tenant, agent, ALL_TIME), now_ns, limit=RECENT)


def view_of(text: str | None) -> View:
    """The view a text names; anything but ``tools`` is the whole.

    >>> view_of("tools"), view_of(None)
    ('tools', 'all')
    """
    return "tools" if text == "tools" else "all"
