"""The documentation is held to the code: thresholds, commands, formats, exit codes, links."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from dashboard.cli import parser
from dashboard.commands import answers
from engine.demo.agents import AGENTS
from engine.ingest import FORMATS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
RULES = ("statistics", "paths", "runs", "siblings", "maps", "forks", "history", "verdicts", "calibration", "store")
"""Modules of the engine whose documented numbers are thresholds."""


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
    loaded = importlib.import_module(f"engine.{module}")
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
    value = getattr(importlib.import_module(f"engine.{module}"), constant)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if constant.endswith("_NS"):
        days = value / (24 * 3600 * 10**9)
        return f"{days:g} days" if days >= 1 else f"{value / (60 * 10**9):g} min"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def test_every_threshold_is_in_the_table_with_its_value_and_a_reason() -> None:
    table = {row[0].strip("`"): row[1:] for row in rows(section("Every threshold, and why"))}
    in_code = {name for module in RULES for name in thresholds(module)}
    assert {*table} == in_code
    assert {name: cells[0] for name, cells in table.items()} == {name: written(name) for name in in_code}
    assert all(len(cells) == 3 and cells[2] for cells in table.values())


def commands() -> list[str]:
    (action,) = (each for each in parser()._actions if each.dest == "command")
    return [*(action.choices or ())]


def test_every_command_is_listed() -> None:
    line = next(line for line in README.splitlines() if line.startswith("Commands: "))
    assert re.findall(r"`(\w+)`", line) == commands()


@pytest.mark.parametrize("line", re.findall(r"^forkmap .+|(?<=`)forkmap .+?(?=`)", README, re.M))
def test_commands_shown_can_be_typed(line: str) -> None:
    parser().parse_args(shlex.split(line)[1:])


def test_every_format_is_named_in_both_places() -> None:
    line = next(line for line in README.splitlines() if line.startswith("`otlp-json` · "))
    assert tuple(re.findall(r"`([\w-]+)`", line)) == FORMATS
    table = (ROOT / "docs" / "formats.md").read_text().partition("\n## ")[0]
    assert tuple(row[0].strip("`") for row in rows(table)) == FORMATS


def test_every_verdict_is_explained() -> None:
    verdicts = {"insufficient_history", "novel", "likely_failure", "on_track"}
    assert {row[0].strip("`") for row in rows(section("Three journeys"))} == verdicts


def test_exit_codes_are_those_of_the_command() -> None:
    codes = [int(row[0]) for row in rows(section("Your own traces")) if row[0].isdecimal()]
    assert codes == [answers.DONE, answers.REFUSED, answers.CANNOT]


def test_figures_of_the_demo_are_the_corpus() -> None:
    runs = sum(len([*way.outcomes()]) for agent in AGENTS for way in agent.ways)
    runs += sum(len(agent.live) for agent in AGENTS)
    assert f"The demo holds {runs} synthetic runs of three agents." in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        assert not target.startswith("http"), "the documentation stands on its own"
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        headings = re.findall(r"^#+ (.+)", linked.read_text(), re.M) if anchor else []
        assert not anchor or anchor in {
            re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings
        }
