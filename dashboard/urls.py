"""Every URL of the dashboard: what is looked at lives here and nowhere else.

::

    /                                       the agents
    /map?agent=A&window=all&view=tools&node=KEY&find=WORDS&only=forks
                                            a map, the selected step, and which steps its tree shows
    /run?run=ID&window=all&next=SIGNATURE
    /runs?agent=A&window=all&view=tools&outcome=failure&node=KEY&sort=-steps&page=2
                                            the runs of a map: see Filters in engine.listing
    /runs.csv?…, /runs.json?…               the same runs, all pages, to keep
    /live?agent=A                           runs in flight, lowest estimate first, of every agent or one
    /calibration?agent=A&window=all
    /compare?ticket=T&a=RUN&b=RUN           two runs side by side; without both, what there is to compare
    /changes?agent=A&window=all&since=TIME  what changed at a moment, or from version old= to new=
    /rules?agent=A&rules=TEXT               rules for outcomes, and what others would change
    /fuses?policy=NAME&run=RUN&after=NUMBER policies, and the ledger of their firings, or a part of it
    /fuses?edit=NAME&draft=FIELDS           the form of a policy, a new one without a name
    /backtest?agent=A&support=30&after=3&history=earlier&cost=2&odds=35&policy=NAME
                                            what a fuse would have done to runs that are over; odds in %
    /palette?q=TEXT                         names that hold a text while it is typed, as JSON
    /go?q=TEXT                              a pasted run, trace, ticket or agent
    /found?q=TEXT                           what that text names, when it is not one thing
    /data/map?agent=A&...&built=NS          columns of a built map, as JSON
    /signin?next=PATH                       where a person shows their key; then on to PATH
    /signout                                where they end that
    /healthz, /readyz                       whether the process is up, whether its store answers
    /api/v1/…, /api/openapi.json            what programs ask, and that described
    /metrics                                what the server counts, for Prometheus

On ``/map``, ``/runs``, ``/changes`` and ``/calibration`` ``where=EXPRESSION`` narrows to some of the runs.
A window is the last 30 days (not written), ``window=1d``, ``7d`` or ``all``, or ``from=``, ``to=`` or both
(RFC 3339).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlencode

from engine import narrowing
from engine.backtest import COST, Fuse
from engine.errors import ExpressionError
from engine.fuses import AFTER_STEPS, LARGEST, MIN_SUPPORT
from engine.ingest.scalars import MAX_TIME_NS, iso_ns
from engine.judging import KINDS
from engine.listing import COLUMNS, EVERY, NEWEST, OUTCOMES, PLACES, SOURCES, Filters
from engine.queries import DEFAULT_WINDOW
from engine.runs import ALL_TIME, SECOND_NS, Cohort, View, Window

HOME = "/"
MAP = "/map"
RUN = "/run"
RUNS = "/runs"
RUNS_CSV = "/runs.csv"
RUNS_JSON = "/runs.json"
LIVE = "/live"
COMPARE = "/compare"
CALIBRATION = "/calibration"
CHANGES = "/changes"
RULES = "/rules"
SAY_OUTCOME = "/run/outcome"
"""Where a run's page sends what a person says of it."""
SAVE_RULES = "/rules/save"
IMPORT = "/import"
"""Where a page sends a file of traces, as it is."""
FUSES = "/fuses"
BACKTEST = "/backtest"
SAVE_POLICY = "/fuses/save"
SET_MODE = "/fuses/mode"
REMOVE_POLICY = "/fuses/remove"
GO = "/go"
PALETTE = "/palette"
FOUND = "/found"
MAP_DATA = "/data/map"
PROGRAMS = "/api/"
"""Under it programs ask, and are answered as programs are."""
API = "/api/v1/"
"""Under it they ask for what is somebody's."""
API_AGENTS = "/api/v1/agents"
API_RUNS = "/api/v1/runs"
API_RUN = "/api/v1/runs/<run:run_id>"
API_OUTCOME = "/api/v1/runs/<run:run_id>/outcome"
API_VERDICT = "/api/v1/runs/<run:run_id>/verdict"
API_RUN_DECISIONS = "/api/v1/runs/<run:run_id>/decisions"
API_COMPARE = "/api/v1/compare"
API_TICKETS = "/api/v1/tickets"
API_MAPS = "/api/v1/maps"
API_FORKS = "/api/v1/forks"
API_STEPS = "/api/v1/steps"
API_CHANGES = "/api/v1/changes"
API_MARKERS = "/api/v1/markers"
API_MARKER = "/api/v1/markers/<int:number>"
API_CALIBRATION = "/api/v1/calibration"
API_RULES = "/api/v1/rules"
API_TRIAL = "/api/v1/rules/trial"
API_DECISIONS = "/api/v1/decisions"
API_CHECK = "/api/v1/check"
API_POLICIES = "/api/v1/policies"
API_POLICY = "/api/v1/policies/<name>"
API_FIRINGS = "/api/v1/firings"
API_BACKTEST = "/api/v1/backtest"
API_ERASURES = "/api/v1/erasures"
API_ERASURE = "/api/v1/erasures/<erasure_id>"
API_DOCUMENT = "/api/openapi.json"
"""What can be asked, described for programs."""
OTLP = "/v1/"
"""Under it exporters send."""
SIGN_IN = "/signin"
SIGN_OUT = "/signout"
HEALTHY = "/healthz"
READY = "/readyz"
PROMETHEUS = "/metrics"
TRACES = "/v1/traces"
METRICS = "/v1/metrics"
LOGS = "/v1/logs"

_EPOCH = datetime(1970, 1, 1)

WINDOWS: Final = {
    "1d": Window(days=1),
    "7d": Window(days=7),
    "30d": DEFAULT_WINDOW,
    "all": ALL_TIME,
}
"""The windows that have names; all but the last are counted back from the moment of asking."""
NAMES: Final = {window: name for name, window in WINDOWS.items()}
ONLY: Final = ("forks", "golden", "hotspots", "decided")
"""Which steps a tree may be narrowed to."""
CHOSEN: Final = ("node", "find", "only")
"""What is chosen on a page and does not make it another one."""


WINDOWED = (MAP, RUN, RUNS, CALIBRATION, CHANGES, BACKTEST)
"""Pages of a window."""
NARROWED = (MAP, RUNS, CALIBRATION, CHANGES)
"""Pages of the runs that an expression lets through."""


class Look(NamedTuple):
    """What a URL looks at.

    Attributes
    ----------
    where : str
        Sequence expression that narrows the runs, "" for none.
    typed : str
        One that cannot be read, as it was typed: then ``where`` is "", and nothing is to be shown for it.
    node : str
        Stable key of the selected node, "" for none.
    find, only : str
        Words that the names of steps must contain, and one of :data:`ONLY`; "" shows every step.
    rules : str or None
        Rules for outcomes to try, None for those that are set.
    ticket, a, b : str
        Whose runs are compared, and which two.
    filters, sort, page : Filters, str, int
        Which runs are listed, in which order, and which page of them, counted from 1.
    policy : str
        The policy whose firings are looked at, "" for every one.
    after : int
        Number of the line of the ledger after which it goes on, 0 for the newest.
    edit : str or None
        The policy that is edited, "" for a new one, None for none.
    draft : str
        What its form holds, as a query of its own.
    fuse, cost, odds : Fuse, float, float or None
        The fuse that is tried on runs that are over, what a false stop costs, and at which odds; None
        for those that are best.
    since_ns : int or None
        The moment that parts runs before from runs after.
    old, new : str
        The versions whose runs are compared, where no moment is given.
    models : bool
        Whether model calls stand in the tree of changes.
    complaint : str
        What of the URL could not be read, "" if all of it.
    """

    agent: str = ""
    window: Window = DEFAULT_WINDOW
    view: View = "all"
    where: str = ""
    typed: str = ""
    node: str = ""
    find: str = ""
    only: str = ""
    run: str = ""
    next: str = ""
    q: str = ""
    rules: str | None = None
    ticket: str = ""
    a: str = ""
    b: str = ""
    filters: Filters = EVERY
    sort: str = NEWEST
    page: int = 1
    policy: str = ""
    after: int = 0
    edit: str | None = None
    draft: str = ""
    fuse: Fuse = Fuse()
    cost: float = COST
    odds: float | None = None
    since_ns: int | None = None
    old: str = ""
    new: str = ""
    models: bool = False
    complaint: str = ""

    def cohort(self, tenant: str) -> Cohort:
        """The cohort that is looked at."""
        return Cohort(tenant, self.agent, self.window, self.view, self.where)


def parse(search: str | None) -> Look:
    """Read a query string; what cannot be read falls back and is told.

    >>> parse("?agent=support-agent&window=all&view=tools").window == ALL_TIME
    True
    >>> parse("?agent=a&from=yesterday").complaint
    'from=yesterday is no RFC 3339 date or time; the last 30 days are shown.'
    >>> parse("?window=week").complaint
    'window=week is none: 1d, 7d, 30d and all are, else from= and to=; the last 30 days are shown.'
    """
    found = {key: values[-1] for key, values in parse_qs((search or "").lstrip("?"), True).items()}
    asked, complaint = window(found)
    filters, unread = _filters(found)
    where, typed = _narrowing(found.get("where", ""))
    fuse, cost, odds, unfit = _fuse(found)
    since_ns, no_time = _moment(found.get("since", "").strip())
    return Look(
        agent=found.get("agent", ""),
        window=asked,
        view="tools" if found.get("view") == "tools" else "all",
        where=where,
        typed=typed,
        node=found.get("node", ""),
        find=found.get("find", ""),
        only=found["only"] if found.get("only") in ONLY else "",
        run=found.get("run", ""),
        next=found.get("next", ""),
        q=found.get("q", ""),
        rules=found.get("rules"),
        ticket=found.get("ticket", ""),
        a=found.get("a", ""),
        b=found.get("b", ""),
        filters=filters,
        sort=found["sort"] if found.get("sort", "").removeprefix("-") in COLUMNS else NEWEST,
        page=max(1, _number(found.get("page", ""))),
        policy=found.get("policy", ""),
        after=_number(found.get("after", "")),
        edit=found.get("edit"),
        draft=found.get("draft", ""),
        fuse=fuse,
        cost=cost,
        odds=odds,
        since_ns=since_ns,
        old=found.get("old", ""),
        new=found.get("new", ""),
        models=found.get("models") == "yes",
        complaint=" ".join(each for each in (complaint, unread, unfit, no_time) if each),
    )


def _filters(found: Mapping[str, str]) -> tuple[Filters, str]:
    """Which runs are listed, and what of that cannot be read: that lets every run through.

    >>> _filters({"outcome": "lost", "steps": "5"}) == (
    ...     Filters(steps=5), "outcome=lost is none: it filters nothing.")
    True
    """
    known: dict[str, Container[str]] = {
        "outcome": OUTCOMES,
        "source": SOURCES,
        "verdict": KINDS,
        "at": PLACES,
    }
    texts = {key: found.get(key, "").strip() for key in Filters._fields if key != "steps"}
    wrong = [key for key, names in known.items() if texts[key] and texts[key] not in names]
    said = [f"{key}={texts[key]:.200} is none: it filters nothing." for key in wrong]
    steps = found.get("steps", "").strip()
    if steps.strip("0") and not _number(steps):
        said.append(f"steps={steps:.200} is no number: it filters nothing.")
    return Filters(steps=_number(steps), **texts | dict.fromkeys(wrong, "")), " ".join(said)


def _narrowing(text: str) -> tuple[str, str]:
    """The expression of a query if it can be read, and what was typed if it cannot.

    >>> _narrowing(" a > b "), _narrowing("a >")
    (('a > b', ''), ('', 'a >'))
    """
    try:
        return narrowing.read(text), ""
    except ExpressionError:
        return "", text


def _number(text: str) -> int:
    """A number of a line or page; 0 for what is none.

    >>> _number("17"), _number("-1"), _number("9" * 30)
    (17, 0, 0)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


def _fuse(found: Mapping[str, str]) -> tuple[Fuse, float, float | None, str]:
    """A fuse, the cost of a false stop, the odds, and what of them cannot be read.

    >>> _fuse({"support": "20", "history": "earlier", "odds": "12.5", "cost": "2"})
    (Fuse(min_support=20, after_steps=3, earlier=True), 2.0, 0.125, '')
    >>> _fuse({"odds": "0", "support": "few"})[2:]
    (None, 'support=few is no whole number from 1 to 1,000,000,000. odds=0 is no percentage over 0.')
    """
    texts = {key: found.get(key, "").strip() for key in ("support", "after", "cost", "odds")}
    bounds = {"support": (1, LARGEST), "after": (0, LARGEST), "cost": (0, LARGEST), "odds": (1e-9, 100)}
    read = {
        key: _figure(text, *bounds[key], whole=key in ("support", "after"))
        for key, text in texts.items()
        if text
    }
    said = {
        "support": f"no whole number from 1 to {LARGEST:,}",
        "after": f"no whole number from 0 to {LARGEST:,}",
        "cost": f"no number from 0 to {LARGEST:,}",
        "odds": "no percentage over 0",
    }
    wrong = [f"{key}={texts[key]:.200} is {said[key]}." for key, value in read.items() if value is None]
    known = {key: value for key, value in read.items() if value is not None}
    fuse = Fuse(
        int(known.get("support", MIN_SUPPORT)),
        int(known.get("after", AFTER_STEPS)),
        found.get("history") == "earlier",
    )
    odds = known["odds"] / 100 if "odds" in known else None
    return fuse, float(known.get("cost", COST)), odds, " ".join(wrong)


def _moment(text: str) -> tuple[int | None, str]:
    """A moment, and what is wrong with it.

    >>> _moment("1970-01-02"), _moment(""), _moment("noon")
    ((86400000000000, ''), (None, ''), (None, 'since=noon is no RFC 3339 date or time.'))
    """
    try:
        return (_inside(iso_ns(text)) if text else None), ""
    except ValueError:
        return None, f"since={text:.200} is no RFC 3339 date or time."


def _figure(text: str, low: float, high: float, whole: bool) -> float | None:
    """A number between bounds, perhaps a whole one; None for what is none.

    >>> _figure("12,5 %", 0, 100, False), _figure("12.5", 0, 100, True), _figure("1e999", 0, 100, True)
    (12.5, None, None)
    """
    try:
        value = float(text.removesuffix("%").strip().replace(",", "."))
    except ValueError:
        return None
    return value if low <= value <= high and (value.is_integer() or not whole) else None


def window(found: Mapping[str, str]) -> tuple[Window, str]:
    """The window that ``window``, ``from`` and ``to`` of a query mean, and what of them cannot be read.

    >>> window({"window": "7d"}) == (Window(days=7), "")
    True
    >>> window({"from": "1970-01-02", "to": "1970-01-01"})[1]
    'from= is not before to=; no run begins then.'
    """
    bounds: list[int | None] = []
    for key in ("from", "to"):
        text = found.get(key, "").strip()
        try:
            bounds.append(_inside(iso_ns(text)) if text else None)
        except ValueError:
            return (
                DEFAULT_WINDOW,
                f"{key}={text:.200} is no RFC 3339 date or time; the last 30 days are shown.",
            )
    if bounds == [None, None]:
        named = found.get("window", "")
        known = WINDOWS.get(named or "30d")
        other = f"window={named:.200} is none: 1d, 7d, 30d and all are, else from= and to="
        return known or DEFAULT_WINDOW, "" if known else f"{other}; the last 30 days are shown."
    start_ns, end_ns = bounds
    inverted = end_ns is not None and end_ns <= (start_ns or 0)
    return Window(start_ns or 0, end_ns), "from= is not before to=; no run begins then." if inverted else ""


def _inside(time_ns: int) -> int:
    """The nearest time that 64 bits hold: no run began outside them."""
    return max(-(2**63), min(time_ns, MAX_TIME_NS))


def write_time(time_ns: int) -> str:
    """An RFC 3339 time in UTC, to the nanosecond; midnight is written as the date.

    :func:`engine.ingest.scalars.iso_ns` reads back exactly what was written.

    >>> write_time(86400000000000), write_time(86401500000000)
    ('1970-01-02', '1970-01-02T00:00:01.5Z')
    """
    seconds, rest_ns = divmod(time_ns, SECOND_NS)
    whole = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    fraction = f".{rest_ns:09}".rstrip("0").rstrip(".")
    return f"{whole}{fraction}Z".removesuffix("T00:00:00Z")


def window_query(window: Window) -> dict[str, str]:
    """The window's part of a query string.

    >>> window_query(DEFAULT_WINDOW), window_query(ALL_TIME)
    ({}, {'window': 'all'})
    >>> window_query(Window(days=7))
    {'window': '7d'}
    >>> window_query(Window(0, 86400000000000))
    {'to': '1970-01-02'}
    """
    if window == DEFAULT_WINDOW:
        return {}
    if window in NAMES:
        return {"window": NAMES[window]}
    bounds = {"from": window.start_ns or None, "to": window.end_ns}
    return {key: write_time(value) for key, value in bounds.items() if value is not None}


def without_node(path: str, search: str | None) -> str:
    """An address as it is but for what is chosen on the page, as the selected node is.

    >>> without_node("/map", "?agent=a&node=00ff"), without_node("/", None)
    ('/map?agent=a', '/')
    """
    asked = parse_qs((search or "").lstrip("?"))
    kept = {key: values for key, values in asked.items() if key not in CHOSEN}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path


def as_of(path: str, search: str | None, now_ns: int) -> str:
    """An address whose window stays where it is now, though the clock goes on.

    >>> as_of("/map", "?agent=a&window=1d", 2 * 86_400_000_000_000)
    '/map?agent=a&from=1970-01-02&to=1970-01-03'
    >>> as_of("/fuses", "?policy=low", 0)
    '/fuses?policy=low'
    """
    if path not in WINDOWED:
        return f"{path}{search or ''}"
    found = parse_qs((search or "").lstrip("?"))
    start_ns, end_ns = parse(search).window.bounds(now_ns)
    kept = {key: values for key, values in found.items() if key not in ("window", "from", "to")}
    fixed = window_query(Window(max(0, start_ns), min(end_ns, now_ns)))
    return f"{path}?{urlencode(kept | fixed, doseq=True)}"


def _url(path: str, look: Look, *keys: str) -> str:
    parts = {key: str(getattr(look, key)) for key in keys}
    parts |= window_query(look.window)
    if look.view == "tools" and path == MAP:
        parts["view"] = "tools"
    if path in NARROWED:
        parts["where"] = look.where
    query = urlencode({key: value for key, value in parts.items() if value})
    return f"{path}?{query}" if query else path


def erasure_url(erasure_id: str) -> str:
    """The receipt of an erasure.

    >>> erasure_url("0a1b")
    '/api/v1/erasures/0a1b'
    """
    return f"{API_ERASURES}/{erasure_id}"


def map_url(look: Look) -> str:
    """The map page.

    >>> map_url(Look(agent="a b", view="tools", node="00ff"))
    '/map?agent=a+b&node=00ff&view=tools'
    >>> map_url(Look(agent="a", where="b > c"))
    '/map?agent=a&where=b+%3E+c'
    """
    return _url(MAP, look, "agent", "node", "find", "only")


def run_url(look: Look) -> str:
    """The page of one run.

    >>> run_url(Look(run="r/1", next="tool:x"))
    '/run?run=r%2F1&next=tool%3Ax'
    """
    return _url(RUN, look, "run", "next")


def runs_url(
    look: Look, filters: Filters = EVERY, sort: str = NEWEST, page: int = 1, path: str = RUNS
) -> str:
    """The runs of a look's agent, window and view that pass the filters, or those to keep.

    >>> runs_url(Look(agent="a", view="tools"), Filters(outcome="failure", node="00ff"))
    '/runs?agent=a&view=tools&outcome=failure&node=00ff'
    >>> runs_url(Look(agent="a"), sort="steps", page=2)
    '/runs?agent=a&sort=steps&page=2'
    """
    parts = {"agent": look.agent} | window_query(look.window)
    parts |= {"view": "tools"} if look.view == "tools" else {}
    parts |= {"where": look.where}
    parts |= {key: str(value) for key, value in filters._asdict().items() if value}
    parts |= {"sort": sort} if sort != NEWEST else {}
    parts |= {"page": str(page)} if page > 1 else {}
    query = urlencode({key: value for key, value in parts.items() if value})
    return f"{path}?{query}" if query else path


def compare_url(a: str = "", b: str = "", ticket: str = "") -> str:
    """Two runs side by side, or what of them is chosen so far.

    >>> compare_url("r/1", "r2", "t 7"), compare_url()
    ('/compare?ticket=t+7&a=r%2F1&b=r2', '/compare')
    """
    query = urlencode({key: value for key, value in (("ticket", ticket), ("a", a), ("b", b)) if value})
    return f"{COMPARE}?{query}" if query else COMPARE


def calibration_url(look: Look) -> str:
    """The calibration page.

    >>> calibration_url(Look(agent="a", window=ALL_TIME))
    '/calibration?agent=a&window=all'
    """
    return _url(CALIBRATION, look, "agent")


def changes_url(look: Look) -> str:
    """What changed: at a moment, or from one version to another; without either, what there is to choose.

    >>> changes_url(Look(agent="a", since_ns=86_400_000_000_000, models=True))
    '/changes?agent=a&since=1970-01-02&models=yes'
    >>> changes_url(Look(agent="a", window=ALL_TIME, old="v1", new="v2"))
    '/changes?agent=a&window=all&old=v1&new=v2'
    """
    parts = {"agent": look.agent} | window_query(look.window)
    parts |= {"where": look.where}
    parts |= split_query(look)
    query = urlencode({key: value for key, value in parts.items() if value})
    return f"{CHANGES}?{query}" if query else CHANGES


def split_query(look: Look) -> dict[str, str]:
    """What parts the sides that are compared, as a part of a query string; "" is left out.

    >>> split_query(Look(since_ns=0))
    {'since': '1970-01-01', 'old': '', 'new': '', 'models': ''}
    """
    since = "" if look.since_ns is None else write_time(look.since_ns)
    return {"since": since, "old": look.old, "new": look.new, "models": "yes" if look.models else ""}


def rules_url(agent: str, rules: str | None = None) -> str:
    """The rules of an agent, or others that are tried.

    >>> rules_url("a"), rules_url("a", "b -> success")
    ('/rules?agent=a', '/rules?agent=a&rules=b+-%3E+success')
    """
    tried = {} if rules is None else {"rules": rules}
    return f"{RULES}?{urlencode({'agent': agent} | tried)}"


def live_url(agent: str = "") -> str:
    """The runs in flight, of every agent or one.

    >>> live_url(), live_url("a b")
    ('/live', '/live?agent=a+b')
    """
    return f"{LIVE}?{urlencode({'agent': agent})}" if agent else LIVE


def fuses_url(
    policy: str = "", run: str = "", after: int = 0, edit: str | None = None, draft: str = ""
) -> str:
    """The policies and their ledger, or a part of it; or the form of one policy.

    >>> fuses_url(), fuses_url("low", after=17), fuses_url(edit="")
    ('/fuses', '/fuses?policy=low&after=17', '/fuses?edit=')
    """
    parts = {"policy": policy, "run": run, "after": str(after or "")}
    query = {key: value for key, value in parts.items() if value}
    if edit is not None:
        query |= {"edit": edit} | ({"draft": draft} if draft else {})
    return f"{FUSES}?{urlencode(query)}" if query else FUSES


def fuse_query(look: Look) -> dict[str, str]:
    """The part of a query that tells of the fuse which is tried.

    >>> fuse_query(Look()), fuse_query(Look(odds=0.125, cost=2.0, fuse=Fuse(20, 3, earlier=True)))
    ({}, {'support': '20', 'history': 'earlier', 'cost': '2', 'odds': '12.5'})
    """
    fuse = look.fuse
    parts = {
        "policy": look.policy,
        "support": "" if fuse.min_support == MIN_SUPPORT else str(fuse.min_support),
        "after": "" if fuse.after_steps == AFTER_STEPS else str(fuse.after_steps),
        "history": "earlier" if fuse.earlier else "",
        "cost": "" if look.cost == COST else f"{look.cost:.12g}",
        "odds": "" if look.odds is None else f"{100 * look.odds:.12g}",
    }
    return {key: value for key, value in parts.items() if value}


def backtest_url(look: Look) -> str:
    """What a fuse would have done to an agent's runs that are over.

    >>> backtest_url(Look(agent="a", window=ALL_TIME, odds=0.5, policy="low"))
    '/backtest?agent=a&window=all&policy=low&odds=50'
    """
    parts = ({"agent": look.agent} if look.agent else {}) | window_query(look.window) | fuse_query(look)
    return f"{BACKTEST}?{urlencode(parts)}" if parts else BACKTEST


def go_url(text: str) -> str:
    """The address that resolves a pasted text.

    >>> go_url("a b")
    '/go?q=a+b'
    """
    return f"{GO}?{urlencode({'q': text})}"


def found_url(text: str) -> str:
    """The page of what a text names.

    >>> found_url("task-7")
    '/found?q=task-7'
    """
    return f"{FOUND}?{urlencode({'q': text})}"


def sign_in_url(target: str) -> str:
    """The sign-in that leads on to a page of this server.

    >>> sign_in_url("/map?agent=a b&window=all")
    '/signin?next=%2Fmap%3Fagent%3Da+b%26window%3Dall'
    """
    return f"{SIGN_IN}?{urlencode({'next': target})}"


def local(target: str) -> str:
    """A path of this server with its query, as it is; anything else is the list of agents.

    >>> local("/map?agent=a"), local("https:evil.example")
    ('/map?agent=a', '/')
    >>> local("//evil.example"), local("/\\\\evil.example")
    ('/', '/')
    """
    path = target.partition("?")[0]
    fits = (
        target.startswith("/") and not target.startswith("//") and "\\" not in target and target.isprintable()
    )
    return target if fits and path not in (SIGN_IN, SIGN_OUT) else HOME


def map_data_url(cohort: Cohort, built_ns: int) -> str:
    """The columns of a built map, or of the one that has taken its place; another build has another address.

    >>> map_data_url(Cohort("default", "a", ALL_TIME, "tools"), 7)
    '/data/map?agent=a&window=all&view=tools&built=7'
    """
    parts = {"agent": cohort.agent} | window_query(cohort.window)
    if cohort.view == "tools":
        parts["view"] = "tools"
    if cohort.where:
        parts["where"] = cohort.where
    return f"{MAP_DATA}?{urlencode(parts | {'built': str(built_ns)})}"
