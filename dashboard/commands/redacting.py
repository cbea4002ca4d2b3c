"""The file that says how goals, reasons and arguments are redacted: ``FORKMAP_REDACTION``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.decisions.redaction import Mode, Redaction
from engine.decisions.schema import said
from engine.errors import ForkmapError


def read(path: Path) -> Redaction:
    """What a file in TOML says.

    Raises
    ------
    ForkmapError
        It cannot be read, or says something else; the sentence names the file, and the place in it.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Redaction)
    except OSError as error:
        raise ForkmapError(f"{path} cannot be read: {error.strerror or error}") from None
    except msgspec.ValidationError as error:
        raise ForkmapError(f"{path} says no redaction: {said(error)} (modes are {', '.join(Mode)})") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForkmapError(f"{path} is no TOML: {error}") from None
