"""``/api/v1/rules``: an agent's rules for outcomes, read, tried and set; as the page of rules does."""

from __future__ import annotations

import msgspec
from flask import Flask, Response

from dashboard import urls
from dashboard.api.asking import AgentName, expect_agent
from dashboard.api.operations import Operation, bind, body, query
from dashboard.api.responses import json_response
from dashboard.documents.problem import Problem
from dashboard.documents.rules import Rules, Trial, listed, read, trial
from dashboard.service import Service
from engine.trials import try_rules


class OfAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose rules."""

    agent: AgentName


OPERATIONS = (
    Operation(
        "get_rules",
        urls.API_RULES,
        "GET",
        "Reads an agent's rules for outcomes",
        {200: Rules, 404: Problem},
        OfAgent,
    ),
    Operation(
        "put_rules",
        urls.API_RULES,
        "PUT",
        "Replaces an agent's rules; they hold for its runs so far and for those to come",
        {200: Rules, 404: Problem},
        OfAgent,
        Rules,
    ),
    Operation(
        "try_rules",
        urls.API_TRIAL,
        "POST",
        "Tells what rules would do to an agent's runs, and sets none",
        {200: Trial, 404: Problem},
        OfAgent,
        Rules,
    ),
)


def register(server: Flask, service: Service) -> None:
    """Add the routes to the server."""
    store = service.store

    def asked() -> tuple[str, str]:
        """Whose rules: the tenant, and an agent that has rules or runs."""
        tenant, agent = service.tenant, query(OfAgent).agent
        if not store.rules(tenant, agent):
            expect_agent(service, agent)
        return tenant, agent

    def get() -> Response:
        return json_response(Rules(listed(store.rules(*asked()))))

    def put() -> Response:
        tenant, agent = asked()
        store.set_rules(tenant, agent, read(body(Rules)))
        service.maps.renew(tenant, agent)
        return get()

    def tried() -> Response:
        tenant, agent = asked()
        rules = read(body(Rules))
        return json_response(trial(rules, try_rules(store, tenant, agent, rules, service.now_ns())))

    bind(server, OPERATIONS, get, put, tried)
