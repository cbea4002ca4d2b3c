"""Every component id: one factory, so that no callback spells an id out."""

from __future__ import annotations

from typing import Final

URL: Final = "url"
PAGE: Final = "page"
BODY: Final = "body"
TITLE: Final = "title"
STAMP: Final = "stamp"
POLL: Final = "poll"
REFRESH: Final = "refresh"
NAVIGATION: Final = "navigation"
SEARCH: Final = "search"
CLOCK: Final = "clock"
THEME: Final = "theme"

NEXT: Final = "next-step"
RULES: Final = "rules"
STEP_NAMES: Final = "step-names"

LIVE: Final = "live"

TREE: Final = "tree"
ICICLE: Final = "icicle"
NODE_PANEL: Final = "node-panel"

FIGURES: Final = "figures"
GRAPH: Final = "graph"
