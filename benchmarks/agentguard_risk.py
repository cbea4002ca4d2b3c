"""agentguard-predict's risk after every step of a run, by its own interpreter.

Reads a line of JSON a run from standard input, a list of its steps as the library takes them; writes a
line of JSON each: ``{"rules": [...], "model": [...]}``, its default predictors and the model it ships.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from agentguard import Guard, Step  # type: ignore[import-not-found]
from agentguard.predictors.model import DEFAULT_MODEL_PATH, RiskEnsemble  # type: ignore[import-not-found]
from agentguard.train import run_to_features  # type: ignore[import-not-found]


def main() -> None:
    """Watch every run; the model judges all steps of a run at once, which changes nothing but the time."""
    model = RiskEnsemble.load(str(DEFAULT_MODEL_PATH))
    for line in sys.stdin:
        steps = json.loads(line)
        print(json.dumps({"rules": by_rules(steps), "model": by_model(model, steps)}))


def by_rules(steps: list[dict[str, Any]]) -> list[float]:
    """The risk of a guard as it comes."""
    watcher = Guard().watch()
    return [float(watcher.record(Step.from_dict(step))) for step in steps]


def by_model(model: Any, steps: list[dict[str, Any]]) -> list[float]:
    """The risk of a guard that has the shipped model as its only predictor."""
    if not steps:
        return []
    risks = model.risk(run_to_features([Step.from_dict(step) for step in steps]))
    return [float(risk) for risk in np.clip(risks, 0.0, 1.0)]


if __name__ == "__main__":
    main()
