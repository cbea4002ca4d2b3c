"""Sequence expressions: a question about one run's steps, as text, as a value, and its answer.

``docs/outcomes.md`` shows the grammar. Rules for outcomes are made of these
(:mod:`engine.rules`).
"""

from engine.sequences.matching import Taken as Taken
from engine.sequences.matching import matches as matches
from engine.sequences.parsing import MAX_CHARACTERS as MAX_CHARACTERS
from engine.sequences.parsing import parse as parse
from engine.sequences.tree import Expression as Expression
from engine.sequences.tree import fields_of as fields_of
