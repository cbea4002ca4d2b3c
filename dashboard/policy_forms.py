"""What the forms of the fuses' page change: policies. Each leads back to the page, with what was typed."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, abort, redirect, request
from msgspec.structs import replace
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.components import drafts
from dashboard.components.drafts import Draft
from dashboard.components.policy_form import TRY
from dashboard.service import Service
from engine.errors import InputError, StoreError
from engine.fuses import Mode, Policy

_MODES: dict[str, Mode] = {"enforce": "enforce", "shadow": "shadow"}


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server; they take an admin key."""
    store = service.store

    def named(name: str) -> Policy | None:
        return next((each for each in store.policies(service.tenant) if each.name == name), None)

    def save() -> Answer:
        edited, draft = request.form.get("edit", ""), drafts.typed(request.form)
        policy = drafts.read(draft)
        if isinstance(policy, dict) or TRY in request.form or _is_stale(draft, named(policy.name)):
            return _back(urls.fuses_url(edit=edited, draft=drafts.write(draft)))
        try:
            store.set_policy(service.tenant, policy)
        except InputError:
            return _back(urls.fuses_url(edit=edited, draft=drafts.write(draft)))
        return _back(urls.fuses_url(policy=policy.name))

    def set_mode() -> Answer:
        mode, policy = _MODES.get(request.form.get("mode", "")), named(request.form.get("name", ""))
        if mode is None:
            abort(400, "This is no mode of a policy.")
        if policy is not None:
            changed, seen = replace(policy, mode=mode), request.form.get("seen", "")
            if mode == "enforce" and seen != drafts.stamp(policy):
                draft = drafts.draft_of(changed)._replace(seen=seen)
                return _back(urls.fuses_url(edit=policy.name, draft=drafts.write(draft)))
            store.set_policy(service.tenant, changed)
        return _back(urls.fuses_url(policy=request.form.get("policy", "")))

    def remove() -> Answer:
        store.remove_policy(service.tenant, request.form.get("name", ""))
        return _back(urls.fuses_url())

    for path, name, view in (
        (urls.SAVE_POLICY, "save_policy", save),
        (urls.SET_MODE, "set_mode", set_mode),
        (urls.REMOVE_POLICY, "remove_policy", remove),
    ):
        server.add_url_rule(path, name, _answered(view), methods=["POST"])


def _is_stale(draft: Draft, there: Policy | None) -> bool:
    """Whether saving would replace a policy that the form has not shown."""
    return there is not None and draft.seen != drafts.stamp(there)


def _answered(view: Callable[[], Answer]) -> Callable[[], Answer]:
    """Let a store that cannot be written to end in its sentence."""

    def answer() -> Answer:
        try:
            return view()
        except StoreError as error:
            abort(503, str(error))

    return answer


def _back(address: str) -> Answer:
    return redirect(address, 303)
