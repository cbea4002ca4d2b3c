"""The tables of a store, and how a file is known to be one.

========== =============================================================================
spans      as sent, clustered by the arrival-ordered number of their trace
traces     which run a trace belongs to; touched while ``stamp`` and ``settled`` differ
outcomes   what was declared, all of it, by run id
runs       one row a run, with its packed steps
rules      what makes a run of an agent a success, a failure or abandoned, in order
keys       who may send and read what; of each only a digest
secrets    what the server signs with
changes    the traces whose spans came, changed or went, in order: what those who follow the store read
sessions   run ids that a trace's spans name, but for the run it was last settled into
policies   what fuses ask before a call
markers    moments that runs before and after are compared by
firings    the ledger: every time a fuse fired
erasures   what was asked to be forgotten, and what became of it; ``selector`` only until it is done
erased     keyed digests of the ids that an erasure removed, so that their absence can be verified
tenants    by number; how often something of theirs was begun or ended to be erased, and up to
           which of these counts caches and log were emptied
paths      one row a run and view, clustered by cohort and start: a cohort is one range;
           ``names`` and ``path`` lie as :mod:`engine.store.words` joins and parts them
========== =============================================================================
"""

from __future__ import annotations

APPLICATION_ID = 0x464F524B
"""``FORK``, at byte 68 of the file."""
VERSION = 7
"""Schema version, at byte 60 of the file."""

TABLE_NAMES = (
    *("meta", "tenants", "agents", "signatures", "traces", "spans", "outcomes", "runs", "paths"),
    *("rules", "keys", "secrets", "changes", "sessions", "policies", "firings", "erasures", "erased"),
    "markers",
)

VIEWS = ("all", "tools")
"""A view's number in ``paths`` is its index here."""

_RULES = """
CREATE TABLE rules (
    tenant INTEGER NOT NULL, agent TEXT NOT NULL, place INTEGER NOT NULL, expression TEXT NOT NULL,
    outcome INTEGER NOT NULL, PRIMARY KEY (tenant, agent, place)
) STRICT, WITHOUT ROWID"""

_KEYS = """
CREATE TABLE keys (
    key_id TEXT PRIMARY KEY, tenant INTEGER NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
    digest BLOB NOT NULL, created_ns INTEGER NOT NULL, revoked_ns INTEGER
) STRICT, WITHOUT ROWID"""

_SECRETS = "CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID"

_CHANGES = "CREATE TABLE changes (no INTEGER PRIMARY KEY, trace INTEGER NOT NULL) STRICT"

_SESSIONS = """
CREATE TABLE sessions (
    tenant INTEGER NOT NULL, run_id TEXT NOT NULL, trace INTEGER NOT NULL,
    PRIMARY KEY (tenant, run_id, trace)
) STRICT, WITHOUT ROWID"""
_SESSIONS_OF_TRACE = "CREATE INDEX sessions_of_trace ON sessions (trace)"

_POLICIES = """
CREATE TABLE policies (
    tenant INTEGER NOT NULL, name TEXT NOT NULL, agent TEXT, min_success_odds REAL NOT NULL,
    action TEXT NOT NULL, min_support INTEGER NOT NULL, after_steps INTEGER NOT NULL, mode TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID"""

_FIRINGS = """
CREATE TABLE firings (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, time_ns INTEGER NOT NULL, run_id TEXT NOT NULL,
    agent TEXT NOT NULL, policy TEXT NOT NULL, action TEXT NOT NULL, mode TEXT NOT NULL, next_step TEXT,
    steps INTEGER NOT NULL, support INTEGER NOT NULL, successes INTEGER NOT NULL, odds REAL NOT NULL,
    reason TEXT NOT NULL
) STRICT"""
_FIRINGS_OF_RUN = "CREATE INDEX firings_of_run ON firings (tenant, run_id)"
_FIRINGS_OF_TENANT = "CREATE INDEX firings_of_tenant ON firings (tenant)"

_ERASURES = """
CREATE TABLE erasures (
    erasure_id TEXT PRIMARY KEY, tenant INTEGER NOT NULL, what TEXT NOT NULL, selector TEXT,
    digest BLOB NOT NULL, asked_by TEXT NOT NULL, asked_ns INTEGER NOT NULL, done_ns INTEGER,
    runs INTEGER NOT NULL DEFAULT 0, traces INTEGER NOT NULL DEFAULT 0, spans INTEGER NOT NULL DEFAULT 0,
    outcomes INTEGER NOT NULL DEFAULT 0, firings INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID"""

_ERASED = """
CREATE TABLE erased (
    erasure_id TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (erasure_id, digest)
) STRICT, WITHOUT ROWID"""

_MARKERS = """
CREATE TABLE markers (
    no INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, name TEXT NOT NULL,
    time_ns INTEGER NOT NULL, agent TEXT
) STRICT"""
_MARKERS_OF_TENANT = "CREATE INDEX markers_of_tenant ON markers (tenant, time_ns)"

_BARE = "lower(replace(run_id, '-', ''))"
_IS_HEX = (
    f"length({_BARE}) = 32 AND {_BARE} NOT GLOB '*[^0-9a-f]*'"
    " AND (length(run_id) = 32 OR run_id GLOB '????????-????-????-????-????????????')"
)

STEPS_FORWARD = (
    (
        "ALTER TABLE runs ADD COLUMN said_by TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN inferred INTEGER NOT NULL DEFAULT 3",
        _RULES,
        _KEYS,
        _SECRETS,
    ),
    (
        "UPDATE traces SET stamp = stamp + 1"
        f" WHERE trace_id IN (SELECT {_BARE} FROM outcomes WHERE {_IS_HEX} AND run_id <> {_BARE})",
        f"UPDATE OR IGNORE outcomes SET run_id = {_BARE} WHERE {_IS_HEX}",
        f"DELETE FROM outcomes WHERE {_IS_HEX} AND run_id <> {_BARE}",
    ),
    (
        _CHANGES,
        _SESSIONS,
        _SESSIONS_OF_TRACE,
        _POLICIES,
        _FIRINGS,
        _FIRINGS_OF_RUN,
        _FIRINGS_OF_TENANT,
        _ERASURES,
        _ERASED,
    ),
    (
        "ALTER TABLE tenants ADD COLUMN erasures INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE tenants ADD COLUMN tidied INTEGER NOT NULL DEFAULT 0",
        "UPDATE tenants SET erasures = value FROM meta WHERE key = 'erasures'",
        "UPDATE tenants SET tidied = value FROM meta WHERE key = 'tidied'",
        "DELETE FROM meta WHERE key IN ('erasures', 'tidied')",
    ),
    (
        "UPDATE paths SET names = names || ',' || coalesce(json_quote(runs.version), 'null')"
        " FROM runs WHERE runs.no = paths.run",
    ),
    (_MARKERS, _MARKERS_OF_TENANT),
)
"""Statements that make version 2 of version 1, and so on.

3 keeps outcomes under one form of a trace id, 5 counts erasures tenant by tenant, 6 has
versions beside paths, 7 has markers.
"""

TABLES = f"""
{_RULES};
{_KEYS};
{_SECRETS};
{_CHANGES};
{_SESSIONS};
{_SESSIONS_OF_TRACE};
{_POLICIES};
{_FIRINGS};
{_FIRINGS_OF_RUN};
{_FIRINGS_OF_TENANT};
{_ERASURES};
{_ERASED};
{_MARKERS};
{_MARKERS_OF_TENANT};

CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE tenants (
    no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    erasures INTEGER NOT NULL DEFAULT 0, tidied INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE agents (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (tenant, name)
) STRICT;

CREATE TABLE signatures (
    tenant INTEGER NOT NULL, number INTEGER NOT NULL, signature TEXT NOT NULL,
    PRIMARY KEY (tenant, number), UNIQUE (tenant, signature)
) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, trace_id TEXT NOT NULL, run INTEGER,
    stamp INTEGER NOT NULL DEFAULT 0, settled INTEGER NOT NULL DEFAULT -1,
    UNIQUE (tenant, trace_id)
) STRICT;
CREATE INDEX traces_of_run ON traces (run) WHERE run IS NOT NULL;
CREATE INDEX touched_traces ON traces (tenant) WHERE stamp <> settled;

CREATE TABLE spans (
    trace INTEGER NOT NULL, span_id TEXT NOT NULL, ended INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (trace, span_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE outcomes (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, run_id TEXT NOT NULL, outcome INTEGER NOT NULL,
    time_ns INTEGER NOT NULL, declared_by TEXT NOT NULL,
    UNIQUE (tenant, run_id, time_ns, outcome, declared_by)
) STRICT;

CREATE TABLE runs (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, run_id TEXT NOT NULL, agent INTEGER NOT NULL,
    version TEXT, ticket TEXT, start_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
    outcome INTEGER NOT NULL, source INTEGER NOT NULL, step_count INTEGER NOT NULL, steps BLOB NOT NULL,
    said_by TEXT NOT NULL DEFAULT '', inferred INTEGER NOT NULL DEFAULT 3,
    UNIQUE (tenant, run_id)
) STRICT;
CREATE INDEX runs_by_start ON runs (agent, start_ns, last_ns, outcome, source);
CREATE INDEX runs_by_outcome ON runs (agent, outcome, source, start_ns);
CREATE INDEX runs_by_activity ON runs (agent, last_ns) WHERE source <> 0;
CREATE INDEX runs_by_ticket ON runs (tenant, ticket) WHERE ticket IS NOT NULL;

CREATE TABLE paths (
    agent INTEGER NOT NULL, view INTEGER NOT NULL, start_ns INTEGER NOT NULL, run INTEGER NOT NULL,
    last_ns INTEGER NOT NULL, source INTEGER NOT NULL, names TEXT NOT NULL, path BLOB NOT NULL,
    PRIMARY KEY (agent, view, start_ns, run)
) STRICT, WITHOUT ROWID;
"""
