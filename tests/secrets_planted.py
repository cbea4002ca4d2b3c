"""Invented secrets of every kind, as arguments and reasons may hold them."""

from __future__ import annotations

AWS = "AKIA" + "Q3EXAMPLE7PLANTD"
GITHUB = "ghp_" + "plAnt3dT0ken" * 3
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJwbGFudGVkIjoidHJ1ZSJ9" + ".c2lnbmF0dXJlLXBsYW50ZWQ"
PRIVATE_KEY = "MIIEpAIBAAKCAQEAplantedKEYplanted"
PASSWORD = "tulip-planted-99"
EMAIL = "someone.planted@mail.example"
UNIX = "/home/planted-user/srv/notes.txt"
WINDOWS = "C:\\Users\\Planted User\\Desktop\\plan.docx"
TERM, WRITTEN = "Plántéd & Söhne", "PLA\u0301NTE\u0301D & SO\u0308HNE"
"""A customer's name as it is listed, and as it is written: in capitals, with accents of their own."""

TEXTS = {
    "aws": (f"with {AWS} now", AWS),
    "github": (f"push by {GITHUB}", GITHUB),
    "jwt": (f"Cookie: session={JWT};", JWT),
    "private key": (
        f"-----BEGIN RSA PRIVATE KEY-----\n{PRIVATE_KEY}\n-----END RSA PRIVATE KEY-----\nthen",
        PRIVATE_KEY,
    ),
    "password": (f"login --user a --password {PASSWORD}", PASSWORD),
    "email": (f"ask <{EMAIL}>", EMAIL),
    "unix path": (f"look into {UNIX}.", UNIX),
    "windows path": (f"open {WINDOWS} first", "Planted User"),
    "term": (f"for {WRITTEN} only", WRITTEN),
}
"""A text of each kind, and what nobody is to find of it."""
ARGUMENTS = {name: text for name, (text, _) in TEXTS.items()} | {"db": {"password": PASSWORD}}
PROSE = "\n".join(text for text, _ in TEXTS.values())
PLANTED = frozenset(planted for _, planted in TEXTS.values())
