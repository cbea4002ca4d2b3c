"""What ``forkmap doctor`` says of a store, for programs and for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType

from dashboard.commands.terminal import shown
from dashboard.components import words
from engine.store.doctoring import Examined

_MIB = 2**20


def document(examined: Examined) -> dict[str, Any]:
    """What a store holds, and a sentence for each finding; what cannot be read is null."""
    return {
        "store": str(examined.path),
        "sound": not examined.findings,
        "version": examined.version,
        "size_bytes": examined.size_bytes,
        "log_bytes": examined.log_bytes,
        **examined.counts,
        "findings": list(examined.findings),
    }


def report(examined: Examined) -> RenderableType:
    """The same in lines."""
    count = {name: "?" if value is None else f"{value:,}" for name, value in examined.counts.items()}
    version = "?" if examined.version is None else examined.version
    sizes = f"{_size(examined.size_bytes)}, log {_size(examined.log_bytes)}"
    lines = [
        f"{examined.path}: version {version}, {sizes}",
        f"pages {count['pages']} of {count['page_bytes']} bytes, {count['free_pages']} of them free",
        f"tenants {count['tenants']}, runs {count['runs']}, traces {count['traces']}"
        f" ({count['unsettled']} not settled yet), spans {count['spans']}",
    ]
    found = examined.findings
    verdict = f"{words.count(len(found), 'finding')}:" if found else "It is sound."
    style = "bold red" if found else "bold"
    return Group(*map(shown, lines), shown(verdict, style=style), *(shown(f"- {each}") for each in found))


def _size(size_bytes: int) -> str:
    """A size for a person.

    >>> _size(782336)
    '0.7 MiB'
    """
    return f"{size_bytes / _MIB:,.1f} MiB"
