"""What a server writes to standard error: one line an event, each field by its name (logfmt)."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class Lines(logging.Formatter):
    """Makes one line of an event, whatever is in it: what was sent can forge no other."""

    def format(self, record: logging.LogRecord) -> str:
        """The line.

        >>> said = logging.makeLogRecord({"msg": "gone\\n", "levelname": "WARNING", "name": "engine.guard"})
        >>> said.created, said.process = 1.5, 7
        >>> Lines().format(said)
        'time=1970-01-01T00:00:01.500Z level=warning process=7 logger=engine.guard message="gone\\\\n"'
        """
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "process": record.process,
            "logger": record.name,
            "message": _quoted(record.getMessage()),
        }
        if record.exc_info:
            fields["error"] = _quoted(self.formatException(record.exc_info))
        return " ".join(f"{name}={value}" for name, value in fields.items())


def _quoted(text: str) -> str:
    return json.dumps(text)


def begin() -> None:
    """Write warnings, and what is worse, as lines from here on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
