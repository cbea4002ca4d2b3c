"""What a page's forms change: how a run ended, and an agent's rules. Each leads back to its page."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Flask, abort, redirect, request
from werkzeug.wrappers import Response as Answer

from dashboard import urls
from dashboard.components.outcome import UNDO
from dashboard.pages import rules
from dashboard.service import Service
from engine.conventions import OUTCOMES
from engine.declaring import BY_HAND, is_by_hand, say_now, signed
from engine.errors import InputError, StoreError, UnknownRunError
from engine.rules import parse_rules
from engine.runs import Declaration, Outcome


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server; they take an admin key."""

    def say() -> Answer:
        asked = request.form
        back = redirect(urls.run_url(urls.parse(urlencode(asked.to_dict()))), 303)
        word = OUTCOMES.get(asked.get("outcome", "") or asked.get(UNDO, ""))
        if word is None:
            abort(400, "This is no outcome.")
        try:
            _say(service, asked.get("run", ""), Outcome[word.upper()])
        except UnknownRunError:
            return back
        except StoreError as error:
            abort(503, str(error))
        return back

    def save() -> Answer:
        agent, text = request.form.get("agent", ""), request.form.get("rules", "")
        if len(text) > rules.MAX_TEXT:
            abort(400, rules.too_long(text))
        try:
            if not rules.is_known(service, agent):
                abort(404, rules.nobody(agent))
            service.store.set_rules(service.tenant, agent, parse_rules(text))
        except InputError:
            return redirect(urls.rules_url(agent, text), 303)
        except StoreError as error:
            abort(503, str(error))
        service.maps.renew(service.tenant, agent)
        return redirect(urls.rules_url(agent), 303)

    server.add_url_rule(urls.SAY_OUTCOME, "say_outcome", say, methods=["POST"])
    server.add_url_rule(urls.SAVE_RULES, "save_rules", save, methods=["POST"])


def _say(service: Service, run_id: str, outcome: Outcome) -> None:
    """Declare the outcome by hand, or take back what was declared so."""
    store, caller = service.store, service.caller()
    run = store.run(caller.tenant, run_id)
    if UNDO in request.form:
        time, by = request.form.get("time", ""), request.form.get("by", "")
        time_ns = int(time) if time.isascii() and time.isdecimal() and len(time) < 20 else 0
        said = Declaration(request.form.get("told", run_id), outcome, time_ns, by)
        if is_by_hand(said):
            store.withdraw(caller.tenant, said)
    else:
        say_now(store, caller.tenant, run_id, outcome, signed(BY_HAND, caller.name), service.now_ns())
    service.maps.renew(caller.tenant, run.agent)
