"""``forkmap rules``: an agent's rules for outcomes, tried before they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Group, RenderableType

from dashboard.commands.telling import contents
from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.errors import ForkmapError, InputError
from engine.rules import Rule, parse_rules, rules_text
from engine.trials import Trial, summary


class Tried(NamedTuple):
    """Rules, and what they would do."""

    rules: tuple[Rule, ...]
    trial: Trial


def read(file: Path) -> tuple[Rule, ...]:
    """The rules of a file, one a line.

    Raises
    ------
    ForkmapError
        What is wrong with each line.
    """
    try:
        return parse_rules(contents(file).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ForkmapError(f"{file} is no UTF-8 text") from None
    except InputError as error:
        raise ForkmapError(f"{file}: " + "; ".join(error.reason.splitlines())) from None


def lines(rules: Sequence[Rule]) -> RenderableType:
    """Rules as they are written, one a line."""
    if not rules:
        return shown("No rules: a run that nobody declared the outcome of ends as its last span did.")
    return shown(rules_text(rules).rstrip("\n"))


def trial_table(tried: Tried) -> RenderableType:
    """What rules would do, a sentence a line."""
    trial = tried.trial
    of_rules = [
        f"  {words.count(count, 'run')}: {rule}"
        for rule, count in zip(tried.rules, trial.matched, strict=True)
    ]
    changes = [
        f"  {words.count(count, 'run')} from {change.before.name.lower()} to {change.after.name.lower()}"
        for change, count in trial.changes
    ]
    named = ", ".join(each.run_id for each in trial.examples)
    texts = [
        summary(trial),
        *changes,
        *(["The first rule that matches counts:", *of_rules] if of_rules else []),
        *([f"The latest: {named}."] if named else []),
    ]
    return Group(*map(shown, texts))
