"""How long a fuse check takes, in process and over HTTP: ``python -m benchmarks.fuse_check``.

A map of 50,000 nodes, runs of 63 tokens whose last is open, so pooled; every check walks, pools
and computes the interval. In process each call is timed by itself, with the garbage collector on.
Over HTTP a real server is asked by four clients that keep their connections, while spans come in.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, cycle, groupby
from pathlib import Path
from socket import create_connection
from tempfile import TemporaryDirectory
from time import perf_counter_ns, sleep, time_ns

import numpy as np
from numpy.typing import NDArray

from benchmarks import servers
from benchmarks.http_latency import CLIENTS, HEAD, PLACE, RATES, Question, by, measure, row
from benchmarks.servers import Server
from benchmarks.timing import print_table
from benchmarks.workload import SIGNATURES, Steps, steps
from dashboard.cache_place import MEMORY
from dashboard.caching import open_cache
from engine.builder import Maps
from engine.checks import Checks
from engine.columns import paths_from_columns
from engine.fuses import MIN_SUPPORT, Policy, ask
from engine.guard import Guard
from engine.keys import DEFAULT_TENANT, Role, mint
from engine.live import Live, so_far
from engine.maps import BehaviourMap, build
from engine.paths import BUCKET_STARTS, Token
from engine.runs import LIVE_NS, Cohort
from engine.spans import Span, Status
from engine.store.sqlite import open_store
from engine.walk import Index

TOKENS = 63
RUNS = 20_000
SENT_RUNS = 2_000
"""Runs that are sent to the server: as many as make 50,000 nodes."""
CALLS = 100_000
ROUNDS = 5
"""The best of so many rounds counts, so that a busy machine disturbs least."""
POLICIES = (
    Policy(name="everybody", min_success_odds=0.2, action="warn"),
    Policy(name="bench", agent="bench", min_success_odds=0.1, action="stop"),
)
LIVE = "in-flight"


def columns(runs: int) -> Steps:
    """Runs of 62 steps: a tenth go one way, and then repeat a last step up to a dozen times."""
    known, trodden = steps(runs, TOKENS - 1), runs // 10
    rng = np.random.default_rng(2)
    found = np.flatnonzero(known.run < trodden)
    ordered = found[np.lexsort((known.start_ns[found], known.run[found]))]
    known.signature[ordered] = np.tile(way(), trodden)
    more = np.repeat(np.arange(trodden, dtype=np.int32), 1 + np.arange(trodden) % 12)
    last_ns = np.full(more.size, known.start_ns.max() + 1)
    return known._replace(
        run=np.concatenate((known.run, more)),
        signature=np.concatenate((known.signature, np.full(more.size, way(TOKENS)[-1]))),
        start_ns=np.concatenate((known.start_ns, last_ns)),
        end_ns=np.concatenate((known.end_ns, last_ns + 1)),
        error=np.concatenate((known.error, rng.random(more.size) < 0.5)),
    )


def way(length: int = TOKENS - 1) -> NDArray[np.int32]:
    """Signatures of the way that many went."""
    return (np.arange(length) % SIGNATURES).astype(np.int32)


def flights(behaviour: BehaviourMap) -> list[Live]:
    """A run in flight at every node that lies that deep and was passed often."""
    deep = np.flatnonzero((behaviour.depth == TOKENS) & (behaviour.support >= MIN_SUPPORT))
    paths = [behaviour.path(node) for node in deep.tolist()]
    return [so_far("live", "bench", chain.from_iterable(map(_steps, path))) for path in paths]


def _steps(token: Token) -> list[str]:
    """The fewest steps that make a token."""
    return [token.signature] * BUCKET_STARTS[token.bucket]


def each_us(call: Callable[[], object], calls: int = CALLS) -> list[float]:
    """Microseconds of each call, sorted."""
    times = []
    for _ in range(calls):
        begun = perf_counter_ns()
        call()
        times.append((perf_counter_ns() - begun) / 1000)
    return sorted(times)


def percentile(times: list[float], share: float) -> float:
    """The time that so many of all calls do not exceed."""
    return times[min(len(times) - 1, int(len(times) * share))]


def told(what: str, call: Callable[[], object], calls: int = CALLS) -> tuple[str, ...]:
    """A line of the table."""
    times = min((each_us(call, calls) for _ in range(ROUNDS)), key=lambda times: percentile(times, 0.5))
    return (what, *(f"{percentile(times, share):.1f}" for share in (0.5, 0.99, 0.999)))


def in_process(database: Path) -> None:
    """Measure the fuses alone, and the whole check without HTTP."""
    behaviour = build(Cohort("default", "bench"), paths_from_columns(*columns(RUNS)), 0)
    index, live = Index(behaviour), flights(behaviour)
    named = behaviour.tokens[0].signature
    turns = cycle(live)
    rows = [
        told("path", lambda: ask(index, next(turns), POLICIES)),
        told("path, and with a step named", lambda: ask(index, next(turns), POLICIES, named)),
        whole(database),
    ]
    print_table(
        f"Fuse check in process: {len(behaviour):,} nodes, {TOKENS} tokens, {len(POLICIES)} policies",
        ("asked", "p50 µs", "p99 µs", "p99.9 µs"),
        rows,
    )


def whole(database: Path) -> tuple[str, ...]:
    """The check as a server makes it: path from the guard, map from the cache, policies from the store."""
    store = open_store(database)
    maps = Maps(store, open_cache(MEMORY, store), time_ns)
    checks = Checks(store, maps, Guard(store, time_ns), time_ns)
    with closing(store), closing(maps), checks.running():
        while checks.check(DEFAULT_TENANT, LIVE).asked is None:
            sleep(0.1)
        return told(
            "path, by guard, cache and store", lambda: checks.check(DEFAULT_TENANT, LIVE), CALLS // 10
        )


def spans(now_ns: int) -> Iterator[list[Span]]:
    """Each run's spans: those of the map, lately ended, and one in flight."""
    sent = columns(SENT_RUNS)
    order = np.lexsort((sent.start_ns, sent.run))
    shift_ns = now_ns - LIVE_NS - int(sent.end_ns.max())
    rows = zip(*(part[order].tolist() for part in sent[:5]), strict=True)
    for run, its in groupby(rows, key=lambda row: row[0]):
        name = sent.run_ids[run]
        yield [_span(name, sent, row[1], row[2], shift_ns, bool(row[4])) for row in its]
    yield [_span(LIVE, sent, signature, now_ns + at) for at, signature in enumerate(way(TOKENS).tolist())]


def _span(
    run: str, sent: Steps, signature: int, start_ns: int, shift_ns: int = 0, error: bool = False
) -> Span:
    kind, _, name = sent.signatures[signature].partition(":")
    about = {"forkmap.kind": kind, "forkmap.name": name, "gen_ai.agent.name": "bench"}
    status = Status.ERROR if error else Status.OK
    begun_ns = start_ns + shift_ns
    return Span(run, str(start_ns), name, begun_ns, begun_ns + 1, status=status, attributes=about)


def prepared(place: Path) -> tuple[Server, str]:
    """A server over a store that holds the runs and the policies, and a key to it."""
    server = servers.forkmap(place)
    store = open_store(server.database, create=True)
    key, shown = mint(DEFAULT_TENANT, Role.INGEST, "benchmark", time_ns())
    store.add_key(key)
    store.set_policies(DEFAULT_TENANT, POLICIES)
    store.append(DEFAULT_TENANT, [*chain.from_iterable(spans(time_ns()))])
    store.settle(DEFAULT_TENANT)
    store.close()
    return server, shown


def await_map(server: Server, request: bytes) -> None:
    """Ask until the map is built."""
    while True:
        with create_connection(("127.0.0.1", server.port), 60) as connection:
            connection.sendall(request)
            if b'"foresight":{' in connection.recv(1 << 16):
                return
        sleep(0.1)


def over_http(server: Server, key: str, seconds: float, workers: int) -> None:
    """Measure the whole question, while spans come in at several rates."""
    question = Question("check", "/api/v1/check", f'{{"run_id": "{LIVE}"}}'.encode())
    with by(workers, server).running():
        await_map(server, question.request(key))
        rows = [row(question, rate, measure(server, key, question, rate, seconds)) for rate in RATES]
    print_table(f"Fuse check by HTTP: {CLIENTS} clients, workers: {workers}", HEAD, rows)


def main() -> None:
    """Measure and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="how long each rate is measured over HTTP")
    asked = parser.parse_args()
    PLACE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=PLACE) as folder:
        server, key = prepared(Path(folder))
        in_process(server.database)
        for workers in (1, 2):
            over_http(server, key, asked.seconds, workers)


if __name__ == "__main__":
    main()
