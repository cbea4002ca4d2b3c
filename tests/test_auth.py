"""The gate: who is let in, as whom, and what is said to the others. No browser."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from dashboard import urls
from dashboard.app import Settings, create_app
from dashboard.auth import sessions
from dashboard.auth.checking import KeyCheck
from dashboard.auth.failures import KEPT, LIMIT, WINDOW_S, Failures
from dashboard.auth.visits import NO_PROXY, Proxy, visit
from dashboard.components import drafts
from engine.errors import DamagedStoreError, KeyRefusedError
from engine.keys import NO_KEY, Caller, Key, Role, mint
from tests.memory_store import MemoryStore, corpus

HERE = {"Origin": "http://localhost"}
PROXY = Proxy("192.0.2.1", "X-Forkmap-Tenant")


class Door:
    """A server over one store, and a key of each role for the tenant ``acme``."""

    def __init__(self, proxy: Proxy = NO_PROXY, keyed: bool = True) -> None:
        self.store = MemoryStore(corpus())
        self.server = create_app(self.store, Settings(proxy=proxy)).server
        self.keys = {role: self.make(role) for role in Role} if keyed else {}

    def make(self, role: Role) -> str:
        key, text = mint("acme", role, "", 0)
        self.store.add_key(key)
        return text

    def client(self, address: str = "127.0.0.1") -> FlaskClient:
        client: FlaskClient = self.server.test_client()
        client.environ_base["REMOTE_ADDR"] = address
        return client

    def signed_in(self, role: Role = Role.READ) -> FlaskClient:
        client = self.client()
        assert client.post("/signin", data={"key": self.keys[role]}).status_code == 303
        return client


@pytest.fixture
def door() -> Door:
    return Door()


def bearing(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


# --- keys ----------------------------------------------------------------------------------------


def test_a_key_is_an_id_and_a_secret_of_which_only_a_digest_is_kept() -> None:
    key, text = mint("acme", Role.READ, "laptop", 5)
    prefix, key_id, secret = text.split("_", 2)
    assert (prefix, key_id, len(key_id), len(secret) >= 43) == ("fmk", key.key_id, 12, True)
    assert secret not in repr(key)
    assert key.caller == Caller("acme", Role.READ, f"laptop ({key.key_id})")


def test_no_secret_opens_a_revoked_key_or_that_of_an_unknown_id() -> None:
    key, text = mint("acme", Role.READ, "", 0)
    secret = text.split("_", 2)[2]
    assert key.opens(secret)
    assert not key._replace(revoked_ns=1).opens(secret)
    assert not NO_KEY.opens("")


@given(st.text())
def test_no_text_is_a_key_by_chance(text: str) -> None:
    store = MemoryStore()
    store.add_key(mint("acme", Role.ADMIN, "", 0)[0])
    with pytest.raises(KeyRefusedError):
        KeyCheck(store).key(text, "192.0.2.1")


def test_keys_of_one_label_are_told_apart() -> None:
    one, other = (mint("acme", Role.INGEST, "ci", 0)[0] for _ in range(2))
    assert one.caller.name == f"ci ({one.key_id})" != other.caller.name


# --- without a key -------------------------------------------------------------------------------


def test_without_a_key_only_this_machine_is_served_and_asked_for_nothing() -> None:
    door = Door(keyed=False)
    assert door.client().get("/").status_code == 200
    assert door.client("192.0.2.7").get("/").status_code == 403
    assert door.client().get("/", headers={"Host": "evil.example"}).status_code == 421
    assert door.client().get("/", headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 403
    assert Door(Proxy("127.0.0.1"), keyed=False).client().get("/").status_code == 403


def test_the_first_key_closes_the_door_at_once_and_revoking_the_last_opens_none() -> None:
    door = Door(keyed=False)
    client = door.client()
    assert client.get("/api/v1/agents").status_code == 200
    key, _ = mint("acme", Role.READ, "", 0)
    door.store.add_key(key)
    assert client.get("/api/v1/agents").status_code == 401
    door.store.revoke_key("acme", key.key_id, 1)
    assert client.get("/api/v1/agents").status_code == 401


def test_a_page_of_another_site_changes_nothing_though_nobody_has_to_sign_in() -> None:
    client = Door(keyed=False).client()
    asked = {"path": "/_dash-update-component", "json": {}}
    assert client.post(**asked, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post(**asked, headers={"Origin": "null"}).status_code == 403
    assert client.post(**asked, headers=HERE).status_code == 400  # It is let in; it asks nothing.


# --- with keys -----------------------------------------------------------------------------------


def test_what_holds_nothing_of_anybody_needs_no_key(door: Door) -> None:
    client = door.client("192.0.2.7")
    for path in ("/healthz", "/readyz", "/signin", "/assets/app.css"):
        with client.get(path) as answer:
            assert answer.status_code == 200, path


@pytest.mark.parametrize("role", Role)
def test_a_role_may_do_its_own_and_admin_all(door: Door, role: Role) -> None:
    client, headers = door.client(), bearing(door.keys[role])
    sends = client.post("/v1/traces", headers=headers, content_type="application/json", data="{").status_code
    reads = client.get("/api/v1/agents", headers=headers).status_code
    sees = client.get("/map", headers=headers).status_code
    rules = client.delete("/map", headers=headers).status_code
    assert (sends != 403, reads != 403, sees != 403, rules != 403) == (
        role in (Role.INGEST, Role.ADMIN),
        role in (Role.READ, Role.ADMIN),
        role in (Role.READ, Role.ADMIN),
        role is Role.ADMIN,
    )


def test_who_shows_no_key_is_told_how_in_the_form_that_the_asker_reads(door: Door) -> None:
    client = door.client()
    page = client.get("/map?agent=a%20b&window=all")
    assert (page.status_code, page.location) == (302, "/signin?next=%2Fmap%3Fagent%3Da%2520b%26window%3Dall")
    answer = client.get("/api/v1/agents")
    assert (answer.status_code, answer.mimetype) == (401, "application/problem+json")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert client.post("/_dash-update-component", json={}).status_code == 401
    assert client.get("/data/map?agent=a").status_code == 401
    assert client.get("/api/v1/none").status_code == 401


def test_a_scraper_without_a_key_is_told_so_in_plain_text(door: Door) -> None:
    answer = door.client().get(urls.PROMETHEUS)
    assert (answer.status_code, answer.content_type) == (401, "text/plain; charset=utf-8")
    assert answer.text.startswith("This needs a key") and "<" not in answer.text
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_form_of_who_is_signed_out_by_now_leads_back_to_its_page(door: Door) -> None:
    form = {"data": {"run": "bad-1"}, "headers": {"Referer": "http://localhost/run?run=bad-1"}}
    assert door.client().post("/outcome", **form).location == "/signin?next=%2Frun%3Frun%3Dbad-1"
    for elsewhere in ("//evil.example//evil.example", "http://["):
        away = {"data": {"run": "bad-1"}, "headers": {"Referer": elsewhere}}
        assert door.client().post("/outcome", **away).location == "/signin?next=%2F"


def test_a_policy_that_was_typed_outlasts_the_session(door: Door) -> None:
    answer = door.client().post(urls.SAVE_POLICY, data={"edit": "", "name": "low", "percent": "7"})
    (target,) = parse_qs(urlsplit(answer.location).query)["next"]
    draft = drafts.unwrite(urls.parse(target.partition("?")[2]).draft)
    assert (target.partition("?")[0], draft.name, draft.percent) == (urls.FUSES, "low", "7")


def test_who_may_not_save_is_told_on_a_page_that_leads_back_to_what_was_typed(door: Door) -> None:
    headers = bearing(door.keys[Role.READ]) | {"Accept": "text/html,*/*;q=0.8"}
    answer = door.client().post(urls.SAVE_POLICY, headers=headers, data={"edit": "", "name": "low"})
    assert (answer.status_code, answer.mimetype) == (403, "text/html")
    assert "This takes a key of the role admin, and this one has the role read." in answer.text
    assert 'href="/fuses?edit=&amp;draft=name%3Dlow%26' in answer.text and '<a href="/">' in answer.text


def test_a_wrong_method_is_told_on_a_page_and_to_a_script_without_one(door: Door) -> None:
    client, headers = door.client(), bearing(door.keys[Role.ADMIN])
    page = client.delete("/map", headers=headers | {"Accept": "text/html"})
    assert (page.status_code, "This was not done" in page.text) == (405, True)
    assert "GET" in page.headers["Allow"]
    assert "This was not done" not in client.delete("/map", headers=headers).text


def test_an_origin_that_is_no_address_is_foreign(door: Door) -> None:
    client, headers = door.client(), {"Origin": "http://["}
    assert client.post("/v1/traces", headers=headers).status_code == 403
    assert client.post("/signin", headers=headers, data={"key": ""}).status_code == 403


def test_a_question_of_raw_bytes_is_answered(door: Door) -> None:
    client, headers = door.client(), bearing(door.keys[Role.READ])
    paths = (("/api/v1/agents", 400), ("/data/map", 409), ("/go", 302), ("/map", 200), ("/signin", 302))
    for path, status in paths:
        asked = {"QUERY_STRING": "from=\xff&agent=\xff"}
        assert client.get(path, headers=headers, environ_overrides=asked).status_code == status


def test_a_key_may_come_in_either_header(door: Door) -> None:
    client, key = door.client(), door.keys[Role.READ]
    for headers in ({"Authorization": f"bearer {key}"}, {"X-API-Key": key}):
        assert client.get("/map", headers=headers).status_code == 200


def test_another_scheme_is_no_key(door: Door) -> None:
    assert door.client().get("/map", headers={"Authorization": "Basic eDp5"}).status_code == 302


def test_a_revoked_key_ends_its_sessions_at_once(door: Door) -> None:
    client, headers = door.signed_in(), bearing(door.keys[Role.READ])
    assert client.get("/map").status_code == 200
    door.store.revoke_key("acme", door.keys[Role.READ].split("_")[1], 1)
    assert client.get("/map").status_code == 302
    assert client.get("/map", headers=headers).status_code == 401


def test_every_answer_carries_the_headers_of_security(door: Door) -> None:
    client, headers = door.client(), bearing(door.keys[Role.READ])
    answers = [
        client.get("/signin"),
        client.get("/map"),
        client.get("/map", headers=headers),
        client.get("/api/v1/agents"),
        client.get("/api/v1/runs/none", headers=headers),
        client.post("/signin", data={"key": "x"}),
        client.post("/v1/traces"),
        client.delete("/map", headers=headers),
        client.post("/_dash-update-component", json={}, headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [200, 302, 200, 401, 404, 401, 401, 403, 400]
    for answer in answers:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"


class BrokenStore(MemoryStore):
    """Answers nothing about keys."""

    def key(self, key_id: str) -> Key | None:
        raise DamagedStoreError("/home/somebody/secret.sqlite is damaged")

    def has_keys(self) -> bool:
        raise DamagedStoreError("/home/somebody/secret.sqlite is damaged")


def test_a_store_that_does_not_answer_lets_nobody_in_and_tells_no_path() -> None:
    client = create_app(BrokenStore(corpus())).server.test_client()
    for path, status in (("/", 503), ("/api/v1/agents", 503), ("/readyz", 503), ("/healthz", 200)):
        answer = client.get(path)
        assert answer.status_code == status
        assert "secret.sqlite" not in answer.text
    refused = client.post("/signin", data={"key": "fmk_0a1b2c3d4e5f_x"})
    assert (refused.status_code, "cannot be read at the moment" in refused.text) == (503, True)


# --- the sign-in ---------------------------------------------------------------------------------


def test_signing_in_sets_a_cookie_that_scripts_and_other_sites_cannot_use(door: Door) -> None:
    answer = door.client().post("/signin", data={"key": f" {door.keys[Role.READ]}\n", "next": "/map?agent=a"})
    assert (answer.status_code, answer.location) == (303, "/map?agent=a")
    value, *flags = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", f"Max-Age={sessions.LIFE_S}", "Path=/"} <= {*flags}
    assert "Secure" not in flags
    assert door.keys[Role.READ].split("_", 2)[2] not in value


def test_the_cookie_is_for_tls_only_where_the_request_came_over_it() -> None:
    door = Door(Proxy("192.0.2.1"))
    sent = {"data": {"key": door.keys[Role.READ]}, "headers": {"X-Forwarded-Proto": "https"}}
    assert "; Secure" in door.client("192.0.2.1").post("/signin", **sent).headers["Set-Cookie"]
    assert "; Secure" not in door.client("192.0.2.9").post("/signin", **sent).headers["Set-Cookie"]


def test_a_key_that_only_sends_spans_signs_nobody_in(door: Door) -> None:
    answer = door.client().post("/signin", data={"key": door.keys[Role.INGEST]})
    assert answer.status_code == 401
    assert "only sends spans" in answer.text
    assert "Set-Cookie" not in answer.headers


def test_signing_in_or_out_for_a_page_of_another_site_is_refused(door: Door) -> None:
    client, elsewhere = door.signed_in(), {"Origin": "http://evil.example"}
    sent = {"key": door.keys[Role.READ]}
    assert client.post("/signin", data=sent, headers=elsewhere).status_code == 403
    assert client.post("/signout", headers=elsewhere).status_code == 403
    assert client.get("/signout").status_code != 303
    assert client.get("/map").status_code == 200


def test_signing_out_takes_the_cookie_back(door: Door) -> None:
    client = door.signed_in()
    assert client.post("/signout", headers=HERE).location == "/signin?again=1"
    assert client.get("/map").status_code == 302


def test_who_is_signed_in_already_is_led_on(door: Door) -> None:
    assert door.signed_in().get("/signin?next=/map?agent=a").location == "/map?agent=a"


def test_a_browser_that_may_have_held_the_cookie_back_is_asked_once_more(door: Door) -> None:
    client, held = door.client(), 'http-equiv="refresh" content="0; url=/signin?next=%2Fmap&amp;again=1"'
    assert held in client.get("/signin?next=/map").text
    assert held in client.get("/signin?next=/map", headers={"Sec-Fetch-Site": "cross-site"}).text
    assert "<form" in client.get("/signin?next=/map&again=1").text
    assert "<form" in client.get("/signin?next=/map", headers={"Sec-Fetch-Site": "none"}).text


def test_a_program_that_says_no_content_type_is_led_to_no_page(door: Door) -> None:
    for path in ("/api/v1/check", "/v1/traces"):
        answer = door.client().post(path, data={"run_id": "r"})  # As curl -d sends it.
        assert (answer.status_code, answer.headers.get("Location")) == (401, None)


LEADS_AWAY = ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "javascript:x"]
NO_PAGE = ["", "evil", "/\t/evil.example", "/signin?next=/", "/signout"]


@pytest.mark.parametrize("target", [*LEADS_AWAY, *NO_PAGE])
def test_nobody_is_led_elsewhere_after_signing_in(door: Door, target: str) -> None:
    answer = door.client().post("/signin", data={"key": door.keys[Role.READ], "next": target})
    assert (answer.status_code, answer.location) == (303, "/")


@given(st.text())
def test_whatever_is_asked_for_leads_to_a_path_of_this_server(target: str) -> None:
    assert urls.local(target).startswith("/")
    assert urls.local(target)[1:2] not in ("/", "\\")


def test_what_is_asked_for_is_text_on_the_page(door: Door) -> None:
    answer = door.client().post("/signin", data={"key": "x", "next": '/map?agent="><script>x</script>'})
    assert "<script>x" not in answer.text
    assert "&lt;script&gt;x" in answer.text


# --- sessions ------------------------------------------------------------------------------------


@given(st.text() | st.binary().map(lambda value: value.decode("latin-1")))
def test_no_made_up_cookie_is_a_session(value: str) -> None:
    assert sessions.key_id(b"secret", value, 0.0) == ""


def test_a_changed_cookie_is_no_session() -> None:
    value = sessions.issue(b"secret", "0a1b", 0.0)
    end = str(sessions.LIFE_S)
    assert sessions.key_id(b"secret", value, 0.0) == "0a1b"
    assert sessions.key_id(b"secret", value.replace(end, end + "0"), 0.0) == ""
    assert sessions.key_id(b"secret", value.replace("0a1b", "0a1c"), 0.0) == ""


def test_a_session_of_another_store_is_none(door: Door) -> None:
    class OtherStore(MemoryStore):
        def secret(self) -> bytes:
            return bytes(32)

    other = OtherStore(corpus())
    key, text = mint("acme", Role.READ, "", 0)
    other.add_key(key)
    door.store.add_key(key)
    cookie = create_app(other).server.test_client().post("/signin", data={"key": text}).headers["Set-Cookie"]
    assert door.client().get("/map", headers={"Cookie": cookie.partition(";")[0]}).status_code == 302


# --- wrong keys ----------------------------------------------------------------------------------


def test_after_ten_wrong_keys_in_a_minute_no_more_are_looked_at(door: Door) -> None:
    client, wrong = door.client(), bearing("fmk_0a1b2c3d4e5f_guess")
    statuses = [client.get("/api/v1/agents", headers=wrong).status_code for _ in range(LIMIT + 1)]
    assert statuses == [401] * LIMIT + [429]
    refused = client.get("/api/v1/agents", headers=wrong)
    assert 0 < int(refused.headers["Retry-After"]) <= WINDOW_S
    assert client.post("/signin", data={"key": "guess"}).status_code == 429
    assert door.client("192.0.2.7").get("/api/v1/agents", headers=wrong).status_code == 401


def test_guessing_the_secret_of_an_id_ends_though_the_last_guess_is_right(door: Door) -> None:
    client, right = door.client(), door.keys[Role.READ]
    wrong = right[:20] + "x" * 40
    for _ in range(LIMIT):
        assert client.get("/api/v1/agents", headers=bearing(wrong)).status_code == 401
    assert client.get("/api/v1/agents", headers=bearing(right)).status_code == 429


def test_a_sender_with_an_old_key_does_not_stop_another_at_its_address(door: Door) -> None:
    client = door.client()
    for _ in range(LIMIT + 1):
        client.get("/api/v1/agents", headers=bearing("fmk_0a1b2c3d4e5f_old"))
    assert client.get("/api/v1/agents", headers=bearing(door.keys[Role.READ])).status_code == 200


def test_a_wrong_key_counts_for_a_minute_and_few_are_remembered() -> None:
    now_s = [0.0]
    failures = Failures(lambda: now_s[0])
    for second in range(LIMIT):
        now_s[0] = float(second)
        failures.count("one")
    assert failures.wait_s("one") == WINDOW_S - LIMIT + 1
    now_s[0] = float(WINDOW_S)
    assert failures.wait_s("one") == 0
    for number in range(KEPT + 5):
        failures.count(number)
    assert len(failures._times) == KEPT


# --- the reverse proxy ---------------------------------------------------------------------------


def test_the_trusted_proxy_names_the_tenant_that_may_be_read() -> None:
    door = Door(PROXY)
    headers = {"X-Forkmap-Tenant": "acme", "X-Forwarded-For": "198.51.100.7"}
    assert door.client("192.0.2.1").get("/map", headers=headers).status_code == 200
    assert door.client("192.0.2.1").delete("/map", headers=headers).status_code == 403
    assert door.client("192.0.2.9").get("/map", headers=headers).status_code == 302
    assert door.client("192.0.2.1").get("/map").status_code == 302


def test_headers_of_a_proxy_count_only_from_its_address() -> None:
    sent = {"HTTP_X_FORKMAP_TENANT": "acme", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 198.51.100.7"}
    sent |= {"HTTP_X_FORWARDED_PROTO": "https", "wsgi.url_scheme": "http"}
    assert visit(sent | {"REMOTE_ADDR": "192.0.2.1"}, PROXY) == ("198.51.100.7", True, "acme", False)
    assert visit(sent | {"REMOTE_ADDR": "192.0.2.9"}, PROXY) == ("192.0.2.9", False, "", False)
    assert visit(sent | {"REMOTE_ADDR": "127.0.0.1"}) == ("127.0.0.1", False, "", False)
