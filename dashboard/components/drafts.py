"""A policy as somebody types it: every field a text, and what is wrong with it beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, get_type_hints
from urllib.parse import parse_qsl, urlencode

import msgspec

from engine.fuses import AFTER_STEPS, MAX_NAME, MIN_SUPPORT, Policy

MAX_TEXT = 500
"""Characters of a field that are read."""
_TYPES = get_type_hints(Policy, include_extras=True)
_NUMBERS = ("foresight_min_support", "foresight_after_steps")


class Draft(NamedTuple):
    """What the fields of the form hold.

    Attributes
    ----------
    percent : str
        ``min_success_odds`` in percent; the others are called as the policy's.
    seen : str
        The policy that was there when the form was opened (:func:`stamp`), "" if none.
    """

    name: str = ""
    agent: str = ""
    percent: str = ""
    action: str = "stop"
    foresight_min_support: str = str(MIN_SUPPORT)
    foresight_after_steps: str = str(AFTER_STEPS)
    mode: str = "shadow"
    seen: str = ""


FIELDS = Draft._fields
WRONG = {
    "name": "A name begins with a letter (A to Z) or a digit; then come letters, digits, “.”, “_” or “-”, "
    f"{MAX_NAME} characters at most.",
    "agent": "This is no name of an agent.",
    "percent": "A percentage over 0, 100 at most.",
    "action": "Either stop or warn.",
    "foresight_min_support": "A whole number from 1 to 1,000,000,000.",
    "foresight_after_steps": "A whole number from 0 to 1,000,000,000.",
    "mode": "Either shadow or enforce.",
}
"""What is right in a field where something else stands."""
TAKEN = "A policy of this name is there already: edit that one, or take another name."


def draft_of(policy: Policy) -> Draft:
    """The form of a policy that is set.

    >>> policy = Policy(name="low", min_success_odds=0.07, action="warn")
    >>> draft_of(policy).percent, draft_of(policy).mode, read(draft_of(policy)) == policy
    ('7', 'enforce', True)
    """
    return Draft(
        policy.name,
        policy.agent or "",
        percent_of(policy.min_success_odds),
        policy.action,
        str(policy.foresight_min_support),
        str(policy.foresight_after_steps),
        policy.mode,
        stamp(policy),
    )


def opened(policy: Policy | None, name: str) -> Draft:
    """The form as it is opened: of the policy that is set, or of a new one by this name."""
    return draft_of(policy) if policy else Draft(name=name)


def percent_of(share: float) -> str:
    """A share in percent with every digit it has.

    >>> [percent_of(share) for share in (1.0, 0.5, 0.125, 0.07, 1e-05)]
    ['100', '50', '12.5', '7', '0.001']
    """
    text = f"{Decimal(repr(share)) * 100:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def stamp(policy: Policy | None) -> str:
    """What tells a policy from what it was before.

    >>> stamp(None), stamp(Policy(name="low", min_success_odds=0.5, action="stop"))
    ('', '-,0.5,stop,30,3,enforce')
    """
    if policy is None:
        return ""
    bounds = policy.foresight_min_support, policy.foresight_after_steps
    return ",".join(
        map(str, (policy.agent or "-", policy.min_success_odds, policy.action, *bounds, policy.mode))
    )


def typed(fields: Mapping[str, str]) -> Draft:
    """A draft of what was sent; what is missing is empty."""
    return Draft(*(fields.get(name, "")[:MAX_TEXT] for name in FIELDS))


def write(draft: Draft) -> str:
    """A draft as it stands in an address.

    >>> unwrite(write(Draft(name="a b", agent="&"))) == Draft(name="a b", agent="&")
    True
    """
    return urlencode(draft._asdict())


def unwrite(text: str) -> Draft:
    """Read back what :func:`write` wrote."""
    return typed(dict(parse_qsl(text, keep_blank_values=True)))


def read(draft: Draft) -> Policy | dict[str, str]:
    """The policy that was typed; or, by field, what would be right there.

    >>> read(Draft("low", percent="50 %")) == read(Draft("low", percent="50"))
    True
    >>> [*read(Draft("a b", "", "0", "go", "0", "-1", "on"))]
    ['name', 'percent', 'action', 'foresight_min_support', 'foresight_after_steps', 'mode']
    """
    found: dict[str, Any] = {}
    wrong = dict[str, str]()
    for field, text in draft._asdict().items():
        if field == "seen":
            continue
        name = "min_success_odds" if field == "percent" else field
        try:
            found[name] = msgspec.convert(
                _value(field, text.strip()), _TYPES[name], strict=field not in _NUMBERS
            )
        except (msgspec.ValidationError, ArithmeticError):
            wrong[field] = WRONG[field]
    return wrong or msgspec.convert(found, Policy)


def complaints(
    found: Policy | dict[str, str], draft: Draft, edited: str, every: Iterable[Policy]
) -> dict[str, str]:
    """What is wrong with a draft, by field; a new policy must not take the name of another."""
    wrong = dict(found) if isinstance(found, dict) else {}
    if not edited and any(policy.name == draft.name.strip() for policy in every):
        wrong["name"] = TAKEN
    return wrong


def _value(field: str, text: str) -> Any:
    if field == "percent":
        return float(Decimal(text.removesuffix("%").strip().replace(",", ".")) / 100)
    return None if field == "agent" and not text else text
