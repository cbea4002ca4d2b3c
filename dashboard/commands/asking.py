"""The ``forkmap`` command: what can be asked, and what becomes of its answer.

Exit codes: 0 done, 1 done but something was refused, 2 it could not be done. What went wrong
is one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, NoReturn

from platformdirs import user_data_path

from dashboard.commands import answers, auditing, backtesting, tables
from dashboard.commands.answers import CANNOT, DONE
from dashboard.commands.terminal import plain
from dashboard.documents.forks import findings_and_chance
from dashboard.documents.maps import behaviour
from engine.backtest import COST
from engine.decisions.menus import LOW_MARGIN
from engine.errors import ExpressionError, ForkmapError
from engine.fuses import AFTER_STEPS, MIN_SUPPORT
from engine.ingest import FORMATS
from engine.ingest.scalars import iso_ns
from engine.keys import Role
from engine.narrowing import pointed

MOST_WORKERS = 64
_LOW_MARGIN = f"margins from 0 to below this are close to a tie (default: {LOW_MARGIN})"


def answer(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments (of the process, if not given) ask; the exit code."""
    try:
        asked = parser().parse_args(argv)
        code: int = asked.answer(asked)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return DONE  # Whoever read the output has had enough.
    except ExpressionError as error:
        return _complain(f"--where: {error}", *_shown(asked.where, error.column))
    except ForkmapError as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename or 'the system'}: {error.strerror or error}")
    finally:
        _let_go()


def _complain(sentence: str, *lines: str) -> int:
    shown = (f"  {plain(line)}" for line in lines)
    with suppress(OSError):
        print(f"forkmap: {plain(sentence)}", *shown, sep="\n", file=sys.stderr)
    return CANNOT


def _shown(expression: str, column: int) -> Sequence[str]:
    """The place in an expression that a complaint is about, if it is about one."""
    return pointed(expression.strip(), column) if column else ()


def _let_go() -> None:
    """Give up what cannot be written, or Python would try it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence; takes no abbreviation."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Leave with the sentence and exit code 2."""
        self.exit(CANNOT, f"forkmap: {plain(message)} (see {self.prog} --help)\n")


def parser() -> Parser:
    """Every command with its flags; ``answer`` of what is parsed answers it."""
    root = Parser(prog="forkmap", description="Behaviour maps of AI-agent runs.")
    root.add_argument("--version", action="version", version=f"forkmap {version('forkmap')}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, *parents: Parser, more: str = "") -> Parser:
        described = f"{text[0].upper()}{text[1:]}.{more}"
        return commands.add_parser(name, help=text, description=described, parents=parents)

    _serving(command)
    _importing(command)
    _questions(command)
    _outcomes(command)
    _decisions(command)
    doctor = command("doctor", "whether all of a store can be read and agrees", _place(), _json())
    receipt = "verify an erasure instead: whether what it removed is still gone"
    doctor.add_argument("--erasure", metavar="ID", help=receipt)
    doctor.set_defaults(answer=answers.doctor)
    _forgetting(command)
    _keys(command("keys", "who may send and read, where not everybody may"), _json())
    return root


def _serving(command: Callable[..., Parser]) -> None:
    """The commands that serve the dashboard."""
    demo = command("demo", "the dashboard with the demo corpus", more=" Nothing of it is kept.")
    demo.add_argument("--port", type=_port, help="serve there (default: the first free port from 8050)")
    demo.add_argument("--load", type=Path, metavar="PATH", help="write the corpus into a new store instead")
    demo.set_defaults(answer=answers.demo)

    made = " It takes in spans too, at /v1/traces. The store is made if there is none."
    serve = command("serve", "the dashboard over a store", _store(), more=made)
    serve.add_argument("--port", type=_port, help="serve there (default: the first free port from 8050)")
    host = "listen at this address (default: 127.0.0.1, this machine only); others need a key to be let in"
    serve.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=host)
    workers = "processes that answer, from 2 on with a cache they share (default: 1)"
    serve.add_argument("--workers", type=_workers, default=1, metavar="NUMBER", help=workers)
    grpc = "take spans over gRPC too, there (default: 4317)"
    serve.add_argument("--grpc", type=_port, nargs="?", const=4317, metavar="PORT", help=grpc)
    serve.set_defaults(answer=answers.serve)


def _importing(command: Callable[..., Parser]) -> None:
    """The command that takes in recorded runs."""
    again = " The store is made if there is none. Importing a file again changes nothing."
    load = command("import", "recorded runs into a store", _store(), _json(), more=again)
    load.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recorded runs")
    load.add_argument("--format", choices=FORMATS, help="what the files are (default: found out)")
    load.add_argument("--agent", help="the agent whose runs these are, whatever the files say")
    load.add_argument("--ticket", help="what these runs were asked to do, whatever the files say")
    load.set_defaults(answer=answers.import_files)


def _questions(command: Callable[..., Parser]) -> None:
    """The commands about an agent or a run."""
    store, window, machine = _store(), _window(), _json()
    of_one = (store, window, _steps(), _where(), machine)
    agents = command("agents", "who ran, and how it ended", store, window, machine)
    agents.set_defaults(answer=answers.agents)

    for name, document, table, text in (
        ("map", behaviour, tables.behaviour, "an agent's behaviour map"),
        ("forks", findings_and_chance, tables.findings, "an agent's fatal forks, golden forks and hotspots"),
    ):
        about = command(name, text, *of_one)
        about.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
        about.set_defaults(answer=partial(answers.about_map, document=document, table=table))

    steps = command("steps", "the steps that hurt or help wherever they stand", *of_one)
    steps.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
    steps.set_defaults(answer=answers.steps)

    run = command("run", "the verdict for one run", store, window, machine)
    run.add_argument("run", metavar="ID", help="a run id, or a trace id or ticket that names one run")
    then = "judge the run as if this came next, for example tool:search_orders"
    run.add_argument("--next", metavar="KIND:NAME", help=then)
    run.set_defaults(answer=answers.run)

    exits = " The exit code is 0 if they are equal, 1 if they differ, 2 if one cannot be read."
    diff = command("diff", "where two runs of one ticket chose differently", store, more=exits)
    diff.add_argument("a", metavar="A", help="a file of one run, FILE#RUN of a file of several, or a run id")
    diff.add_argument("b", metavar="B", help="likewise")
    diff.add_argument("--format", choices=("text", "json"), default="text", help="json: for programs")
    diff.add_argument("--low-margin", type=_margin, default=LOW_MARGIN, metavar="MARGIN", help=_LOW_MARGIN)
    diff.set_defaults(answer=answers.diff)

    calibrate = command("calibrate", "what an agent's predictions have been worth", *of_one)
    calibrate.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
    calibrate.set_defaults(answer=answers.calibrate)
    sides = "what changed at a moment, or between versions"
    _changing(command("compare", sides, store, window, _where(), machine))
    _backtesting(
        command("backtest", "what a fuse would have done to an agent's runs", store, window, machine)
    )


def _changing(compare: Parser) -> None:
    """What parts the runs before from those after."""
    compare.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
    sides = compare.add_mutually_exclusive_group(required=True)
    sides.add_argument("--since", type=_moment, metavar="RFC3339", help="runs begun before and since")
    sides.add_argument("--marker", metavar="NAME", help="likewise, when that was deployed: its latest marker")
    sides.add_argument("--versions", nargs=2, metavar=("OLD", "NEW"), help="runs of one and of another")
    models = "all: keep model calls, which part the tree where a new model has a new name (default: tools)"
    compare.add_argument("--steps", choices=("all", "tools"), default="tools", help=models)
    compare.set_defaults(answer=answers.compare)


def _backtesting(backtest: Parser) -> None:
    """What of a fuse can be said, and what a false stop costs."""
    backtest.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
    odds = "look at these odds (default: those that bring most)"
    backtest.add_argument("--odds", type=backtesting.odds, metavar="PERCENT", help=odds)
    support = f"earlier runs where the path stands (default: {MIN_SUPPORT})"
    backtest.add_argument(
        "--support", type=backtesting.support, default=MIN_SUPPORT, metavar="RUNS", help=support
    )
    after = f"steps the run must have taken (default: {AFTER_STEPS})"
    backtest.add_argument("--after", type=backtesting.steps, default=AFTER_STEPS, metavar="STEPS", help=after)
    earlier = "judge each run by those that were over before it began (default: by all others)"
    backtest.add_argument("--earlier", action="store_true", help=earlier)
    cost = f"right stops that make up for a false one (default: {COST:g})"
    backtest.add_argument("--cost", type=backtesting.number, default=COST, metavar="STOPS", help=cost)
    backtest.set_defaults(answer=answers.backtest, steps="all", where="")


def _outcomes(command: Callable[..., Parser]) -> None:
    """The commands that tell how runs ended, one by one or by rules."""
    twice = " Columns: run, outcome, and time and by where known. Telling a file again changes nothing."
    told = command("outcomes", "how runs ended, from CSV or JSON lines", _store(), _json(), more=twice)
    told.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a run a line; - is standard input")
    told.set_defaults(answer=answers.tell_outcomes)

    first = " A rule is EXPRESSION -> OUTCOME; the first that matches counts."
    rules = command("rules", "an agent's rules for outcomes", _store(), _json(), more=first)
    rules.add_argument("agent", metavar="AGENT", help="its name, as forkmap agents lists it")
    doing = rules.add_mutually_exclusive_group()
    trial = "say what the rules of a file would change, and change nothing"
    doing.add_argument("--try", dest="trial", type=Path, metavar="FILE", help=trial)
    doing.add_argument("--set", type=Path, metavar="FILE", help="make the rules of a file the agent's rules")
    doing.add_argument("--clear", action="store_true", help="leave it no rule")
    rules.set_defaults(answer=answers.rules)


def _decisions(command: Callable[..., Parser]) -> None:
    """The commands about decision traces in files."""
    lines = (
        " A finding a line: kind, line, detail, and of several the file. The exit code is 1 if there is one."
    )
    audit = command("audit", "what is wrong with decision traces", more=lines)
    traces = "decision traces as JSON lines, gzip too; - is standard input"
    audit.add_argument("files", nargs="+", type=Path, metavar="FILE", help=traces)
    github = "text: columns (default); json: for programs; github: annotations of a change"
    audit.add_argument("--format", choices=[*auditing.FORMATS], default="text", help=github)
    audit.add_argument("--low-margin", type=_margin, default=LOW_MARGIN, metavar="MARGIN", help=_LOW_MARGIN)
    audit.set_defaults(answer=answers.audit)

    schema = command("schema", "the JSON Schema of a line of a decision trace")
    schema.set_defaults(answer=answers.schema)


def _forgetting(command: Callable[..., Parser]) -> None:
    """The commands that forget."""
    good = " What is built of the runs in servers is forgotten too. The receipt's id is for forkmap doctor."
    erase = command("erase", "runs for good, with all that belongs to them", _store(), _json(), more=good)
    chosen = erase.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--run", metavar="ID", help="the run of this id, or of a trace or session of it")
    chosen.add_argument("--ticket", metavar="TICKET", help="all runs of this ticket")
    user = "all runs with this attribute, for example user.id=u-7"
    chosen.add_argument("--attribute", metavar="NAME=VALUE", help=user)
    chosen.add_argument("--before", type=_moment, metavar="TIME", help="all runs last active before then")
    erase.add_argument(
        "--vacuum", action="store_true", help="and write the store anew, as forkmap vacuum does"
    )
    erase.set_defaults(answer=answers.erase)

    small = " It is as small then as what it holds. Nobody can write to it meanwhile."
    vacuum = command(
        "vacuum", "write a store anew, without remains of what was removed", _place(), _json(), more=small
    )
    vacuum.set_defaults(answer=answers.vacuum)


def _keys(keys: Parser, machine: Parser) -> None:
    """The three commands about keys."""
    commands = keys.add_subparsers(dest="about", metavar="COMMAND", required=True)
    tenant = Parser(add_help=False, parents=[_place()])
    tenant.add_argument("--tenant", default="default", help="whose runs it lets send and read")

    def command(name: str, text: str, *parents: Parser) -> Parser:
        described = f"{text[0].upper()}{text[1:]}."
        return commands.add_parser(name, help=text, description=described, parents=[*parents, machine])

    create = command("create", "make a key, and print it this once", tenant)
    create.add_argument("--role", choices=[*Role], required=True, help="admin: everything")
    create.add_argument("--label", default="", metavar="TEXT", help="who holds it, for the list")
    create.set_defaults(answer=answers.create_key)
    listed = command("list", "the keys of a tenant, without their secrets", tenant)
    listed.set_defaults(answer=answers.list_keys)
    revoke = command("revoke", "let a key stop working, at once", _place())
    revoke.add_argument("id", metavar="ID", help="the part of the key after fmk_, as the list shows it")
    revoke.set_defaults(answer=answers.revoke_key)


def _place() -> Parser:
    flags = Parser(add_help=False)
    place = os.environ.get("FORKMAP_STORE") or user_data_path("forkmap") / "forkmap.sqlite"
    text = f"the file that holds the runs (default: {place})".replace("%", "%%")
    flags.add_argument("--store", type=Path, default=Path(place), help=text)
    return flags


def _store() -> Parser:
    flags = Parser(add_help=False, parents=[_place()])
    flags.add_argument("--tenant", default="default", help="whose runs, where a store holds several tenants'")
    flags.add_argument("--now", type=_moment, metavar="RFC3339", help="ask as if at this moment")
    return flags


def _window() -> Parser:
    flags = Parser(add_help=False)
    flags.add_argument("--from", dest="start", type=_moment, metavar="RFC3339", help="runs begun since then")
    flags.add_argument("--to", dest="end", type=_moment, metavar="RFC3339", help="runs begun before then")
    flags.add_argument("--all", action="store_true", help="all runs (default: those of the last 30 days)")
    return flags


def _steps() -> Parser:
    flags = Parser(add_help=False)
    flags.add_argument(
        "--steps", choices=("all", "tools"), default="all", help="tools: leave model calls out"
    )
    return flags


def _where() -> Parser:
    flags = Parser(add_help=False)
    text = "only runs that are as this says of their steps, for example 'search_orders x3 .. !issue_refund'"
    flags.add_argument("--where", default="", metavar="EXPRESSION", help=text)
    return flags


def _json() -> Parser:
    flags = Parser(add_help=False)
    flags.add_argument("--json", action="store_true", help="for programs")
    return flags


def _moment(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 date or time."""
    try:
        time_ns = iso_ns(text)
    except (ValueError, OverflowError):
        time_ns = 2**63
    if abs(time_ns) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no RFC 3339 date or time that can be used")
    return time_ns


def _margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = -1.0
    if not 0 <= margin < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no margin: a number from 0")
    return margin


def _workers(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_WORKERS}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 (any) to 65535")
    return int(text)
