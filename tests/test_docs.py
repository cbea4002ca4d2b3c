"""The documentation is held to the code: thresholds, commands, formats, exit codes, links."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import pytest

from dashboard.cli import INTERRUPTED
from dashboard.commands import answers
from dashboard.commands.asking import parser
from dashboard.components import trial, words
from engine import demo, queries
from engine.conventions import table as conventions
from engine.decisions import attributes
from engine.decisions.diff import Diagnosis
from engine.decisions.trace import Kind
from engine.demo.agents import AGENTS
from engine.demo.tickets import TICKETS
from engine.forks import forks
from engine.ingest import FORMATS
from engine.rules import MAX_RULES, parse_rules
from engine.runs import Cohort
from engine.sequences import parse
from engine.sequences.parsing import MAX_CHARACTERS, MAX_NESTING
from engine.store.sqlite import open_store

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
RULES = {
    module.rpartition(".")[2]: module
    for module in (
        *(
            f"engine.{name}"
            for name in ("statistics", "paths", "runs", "siblings", "maps", "forks", "history", "faring")
        ),
        *(f"engine.{name}" for name in ("verdicts", "calibration", "fuses", "ledger", "store")),
        *(f"engine.{name}" for name in ("builder", "builds", "shelf", "claims")),
        *(f"engine.decisions.{name}" for name in ("menus", "audit", "lines")),
        *(
            f"engine.{name}"
            for name in ("retention", "erasing", "upkeep", "guard", "checks", "holding", "forkmap_client")
        ),
        "dashboard.auth.failures",
        "dashboard.auth.sessions",
        "dashboard.theme",
        "dashboard.components.words",
    )
}
"""Modules whose documented numbers are thresholds, by their last name."""
OF_EVENTS = {conventions.DECISION_SCOPE, conventions.EVENT_ID_KEY, conventions.RESULT_OK_KEY}
"""Names by which events of decision traces are kept, and which nobody else writes."""
NO_THRESHOLDS = {"builds.WORKERS", "store.MAX_NUMBER"}
"""Documented numbers that decide nothing."""


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row that begins with code or a number."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if re.match(r"\| (`|\d)", line)
    ]


def thresholds(module: str) -> list[str]:
    """Public numbers of a module that a docstring follows."""
    loaded = importlib.import_module(RULES[module])
    body = ast.parse(Path(loaded.__file__ or "").read_text()).body
    names = []
    for statement, following in pairwise(body):
        target = (
            statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        )
        if not (isinstance(target, ast.Name) and isinstance(following, ast.Expr)):
            continue
        value = getattr(loaded, target.id, None)
        numbers = value if isinstance(value, tuple) else (value,)
        if not target.id.startswith("_") and all(isinstance(each, int | float) for each in numbers):
            names.append(f"{module}.{target.id}")
    return names


def written(name: str) -> str:
    """A threshold's value as the table writes it."""
    module, _, constant = name.partition(".")
    value = getattr(importlib.import_module(RULES[module]), constant)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if constant.endswith("_NS"):
        days = value / (24 * 3600 * 10**9)
        return f"{days:g} days" if days >= 1 else f"{value / (60 * 10**9):g} min"
    if constant.endswith("_S"):
        return f"{value:g} s"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def test_every_threshold_is_in_the_table_with_its_value_and_a_reason() -> None:
    table = {row[0].strip("`"): row[1:] for row in rows(section("Every threshold, and why"))}
    in_code = {name for module in RULES for name in thresholds(module)} - NO_THRESHOLDS
    assert {*table} == in_code
    assert {name: cells[0] for name, cells in table.items()} == {name: written(name) for name in in_code}
    assert all(len(cells) == 3 and cells[2] for cells in table.values())


def test_every_attribute_of_its_own_is_listed() -> None:
    read = re.findall(r'"(forkmap\.[\w.]+)"', Path(conventions.__file__).read_text())
    (before, *_), fields = conventions.DECISION_PREFIXES, attributes.FIELDS
    own = {*read, conventions.OUTCOME_KEY, *(before + field for field in fields)} - {before} - OF_EVENTS
    shown = {row[0].strip("`") for row in rows(section("Your own traces")) if not row[0].isdecimal()}
    assert shown == own


def test_the_python_that_is_needed_is_the_packages() -> None:
    needed = re.search(r'^requires-python = ">=(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert needed is not None
    assert f"Python {needed[1]} or later" in README


def commands() -> list[str]:
    (action,) = (each for each in parser()._actions if each.dest == "command")
    return [*(action.choices or ())]


def test_every_command_is_listed() -> None:
    line = next(line for line in README.splitlines() if line.startswith("Commands: "))
    assert re.findall(r"`(\w+)`", line) == commands()


@pytest.mark.parametrize("line", re.findall(r"^forkmap .+|(?<=`)forkmap .+?(?=`)", README, re.M))
def test_commands_shown_can_be_typed(line: str) -> None:
    parser().parse_args(shlex.split(line, comments=True)[1:])


def test_every_format_is_named_in_both_places() -> None:
    line = next(line for line in README.splitlines() if line.startswith("`otlp-json` · "))
    assert tuple(re.findall(r"`([\w-]+)`", line)) == FORMATS
    table = (ROOT / "docs" / "formats.md").read_text().partition("\n## ")[0]
    assert tuple(row[0].strip("`") for row in rows(table)) == FORMATS


@pytest.mark.parametrize(("title", "named"), [("Audit", Kind), ("Diff", Diagnosis)])
def test_every_finding_and_every_diagnosis_is_explained(title: str, named: type[StrEnum]) -> None:
    page = (ROOT / "docs" / "decisions.md").read_text().partition(f"\n## {title}\n")[2]
    table = page.partition("\n|---")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.M) == [*named]


def test_every_expression_shown_can_be_read() -> None:
    page = (ROOT / "docs" / "outcomes.md").read_text().partition("\n## Rules\n")[2]
    shown = [row[0].strip("`") for row in rows(page)] + [code for code, _ in trial.GRAMMAR]
    assert len(shown) > 30
    assert [expression for expression in shown if not parse(expression)] == []
    assert len(parse_rules(page.partition("```\n")[2].partition("```")[0])) == 3


def test_the_bounds_of_rules_are_told() -> None:
    page = " ".join((ROOT / "docs" / "outcomes.md").read_text().split())
    assert f"at most {MAX_CHARACTERS:,} characters and {MAX_NESTING} parentheses and `!`" in page
    assert f"at most {MAX_RULES} rules" in page


def test_every_verdict_is_explained() -> None:
    verdicts = {"insufficient_history", "novel", "likely_failure", "on_track"}
    assert {row[0].strip("`") for row in rows(section("Six journeys"))} == verdicts


def test_exit_codes_are_those_of_the_command() -> None:
    codes = [int(row[0]) for row in rows(section("Your own traces")) if row[0].isdecimal()]
    assert codes == [answers.DONE, answers.REFUSED, answers.CANNOT, INTERRUPTED]


def test_figures_of_the_demo_are_the_corpus(tmp_path: Path) -> None:
    runs = sum(len([*way.outcomes()]) for agent in AGENTS for way in agent.ways)
    runs += sum(len(agent.live) for agent in AGENTS) + sum(len(ticket.runs) for ticket in TICKETS)
    store = open_store(tmp_path / "demo.sqlite", create=True)
    demo.load(store)
    behaviour = queries.load_map(store, Cohort("default", "support-agent"), store.clock_ns() or 0)
    store.close()
    totals, worst = behaviour.totals, forks(behaviour)[0]
    assert str(worst.path[-1]) == "tool:search_orders×3-5"
    assert " ".join(section("Start").split()).endswith(
        f"The demo holds {runs} synthetic runs of four agents. Its support agent succeeded in "
        f"{totals.successes} of {totals.completed} runs ({words.percent(behaviour.base_rate)}). Runs that "
        f"searched orders three to five times in a row succeeded in {worst.successes} of {worst.support} "
        f"({words.percent(worst.rate)}, 95% interval {words.interval(worst.low, worst.high)}), those that "
        f"went another way from the same point in {worst.sibling_rate:.0%}: a fatal fork, "
        f"p {words.probability(worst.p)}.".replace("\xa0", " ")
    )


def test_every_ticket_of_the_demo_is_named() -> None:
    named = re.findall(r"`(repo-[a-z]+)`", section("Six journeys"))
    assert {*named} - {"repo-agent"} == {ticket.name for ticket in TICKETS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        assert not target.startswith("http"), "the documentation stands on its own"
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        headings = re.findall(r"^#+ (.+)", linked.read_text(), re.M) if anchor else []
        assert not anchor or anchor in {
            re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings
        }
