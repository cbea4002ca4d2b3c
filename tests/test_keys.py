"""Keys from the command line, what the store keeps of them, and where the server listens with and without."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from typing import IO

import pytest

from dashboard.auth.checking import KeyCheck
from dashboard.cli import main
from dashboard.commands import listening
from dashboard.commands.settings import from_environment
from engine.errors import ForkmapError, KeyRefusedError
from engine.keys import Caller, Role, mint
from engine.store import Store
from engine.store.sqlite import open_store

FORKMAP = (sys.executable, "-c", "import sys; from dashboard.cli import main; sys.exit(main())")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = open_store(path, create=True)
    yield store
    store.close()


def caller(store: Store, text: str) -> Caller:
    return KeyCheck(store).key(text, "192.0.2.1").caller


# --- what the store keeps ------------------------------------------------------------------------


def test_a_key_is_kept_for_its_tenant_and_of_its_secret_nothing(store: Store, path: Path) -> None:
    assert not store.has_keys()
    key, text = mint("acme", Role.READ, "laptop", 7)
    store.add_key(key)
    assert (store.keys("acme"), store.keys("other"), store.key(key.key_id)) == ([key], [], key)
    assert store.has_keys()
    store.close()
    secret = text.split("_", 2)[2].encode()
    assert all(secret not in file.read_bytes() for file in path.parent.iterdir())


def test_only_its_own_tenant_revokes_a_key_and_only_once(store: Store) -> None:
    key, text = mint("acme", Role.READ, "", 7)
    store.add_key(key)
    assert not store.revoke_key("other", key.key_id, 8)
    assert caller(store, text).tenant == "acme"
    assert store.revoke_key("acme", key.key_id, 8)
    assert not store.revoke_key("acme", key.key_id, 9)
    assert store.key(key.key_id) == key._replace(revoked_ns=8)
    with pytest.raises(KeyRefusedError):
        caller(store, text)


def test_keys_are_listed_by_age(store: Store) -> None:
    keys = [mint("acme", Role.READ, label, age)[0] for age, label in ((9, "new"), (1, "old"))]
    for key in keys:
        store.add_key(key)
    assert [key.label for key in store.keys("acme")] == ["old", "new"]


def test_a_key_of_another_store_is_none(store: Store, tmp_path: Path) -> None:
    other = open_store(tmp_path / "other.sqlite", create=True)
    key, text = mint("acme", Role.READ, "", 7)
    other.add_key(key)
    store.add_key(mint("acme", Role.READ, "", 7)[0])
    assert caller(other, text) == Caller("acme", Role.READ, f"key {key.key_id}")
    with pytest.raises(KeyRefusedError):
        caller(store, text)
    other.close()


def secret_of(path: Path) -> bytes:
    store = open_store(path)
    try:
        return store.secret()
    finally:
        store.close()


def test_all_servers_of_a_store_sign_with_one_secret(store: Store, path: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        secrets = {*pool.map(secret_of, [path] * 6)} | {store.secret()}
    assert [len(secret) for secret in secrets] == [32]
    other = open_store(tmp_path / "other.sqlite", create=True)
    assert other.secret() not in secrets
    other.close()


def test_a_role_that_this_version_does_not_know_is_no_role(store: Store, path: Path) -> None:
    key, text = mint("acme", Role.READ, "", 7)
    store.add_key(key)
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE keys SET role = 'owner'")
    db.close()
    with pytest.raises(ForkmapError):
        caller(store, text)


# --- the command ---------------------------------------------------------------------------------


def test_create_prints_the_key_once_and_alone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["keys", "create", "--store", str(path), "--tenant", "acme", "--role", "ingest", "--label", "ci"]
    assert main(asked) == 0
    text, said = capsys.readouterr()
    key_id = text.split("_")[1]
    assert said == f"Key {key_id} of tenant acme, role ingest. It is shown this once.\n"
    store = open_store(path)
    assert caller(store, text) == Caller("acme", Role.INGEST, f"ci ({key_id})")
    store.close()


def test_keys_for_programs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_acme = ["--store", str(path), "--tenant", "acme", "--json"]
    assert main(["keys", "create", *of_acme, "--role", "admin"]) == 0
    made = json.loads(capsys.readouterr().out)
    text = made.pop("key")
    assert made.items() >= {"tenant": "acme", "role": "admin", "label": "", "revoked": None}.items()
    assert main(["keys", "list", *of_acme]) == 0
    assert json.loads(capsys.readouterr().out) == [made]
    assert main(["keys", "revoke", "--store", str(path), "--json", text]) == 0
    revoked = json.loads(capsys.readouterr().out)
    assert revoked.pop("revoked") >= made.pop("created")
    assert made.items() > revoked.items() - {("created", revoked["created"])}


def test_keys_for_people(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_acme = ["--store", str(path), "--tenant", "acme"]
    assert main(["keys", "create", *of_acme, "--role", "read", "--label", "desk"]) == 0
    key_id = capsys.readouterr().out.split("_")[1]
    assert main(["keys", "list", *of_acme]) == 0
    assert f"{key_id}   read   desk " in capsys.readouterr().out
    assert main(["keys", "revoke", "--store", str(path), key_id]) == 0
    assert capsys.readouterr().out == f"Key {key_id} of tenant acme works no more.\n"
    assert main(["keys", "list", "--store", str(path), "--tenant", "other"]) == 0
    assert capsys.readouterr().out.startswith("No key has been made for the tenant other")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["create", "--role", "read", "--tenant", ""], "forkmap: '' cannot be a tenant"),
        (["create", "--role", "read", "--tenant", " acme"], "forkmap: ' acme' cannot be a tenant"),
        (["create", "--role", "read", "--tenant", "a\nb"], r"forkmap: 'a\nb' cannot be a tenant"),
        (["create", "--role", "read", "--label", "x" * 101], "forkmap: 'xxx"),
        (["revoke", "0a1b"], "forkmap: no key has the id '0a1b'"),
    ],
)
def test_what_is_no_key_is_one_sentence_and_exit_code_2(
    store: Store, path: Path, asked: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", asked[0], "--store", str(path), *asked[1:]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(sentence)
    assert err.count("\n") == 1


# --- where the server listens --------------------------------------------------------------------


def test_without_a_key_no_other_address_is_listened_at(
    store: Store, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--store", str(path), "--host", "0.0.0.0", "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "forkmap: others can reach 0.0.0.0, and without a key anybody could read every run"
    )
    assert "forkmap keys create --role admin" in said


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_told(host: str) -> None:
    with pytest.raises(ForkmapError, match=f"{host} is no address of this machine"):
        listening.first_free(host)


def test_both_families_of_addresses_can_be_listened_at() -> None:
    for host in ("127.0.0.1", *(["::1"] if socket.has_ipv6 else [])):
        with listening.listening(0, host) as listener:
            assert listener.getsockname()[0] == host


def ask(address: str, headers: dict[str, str], data: bytes | None = None) -> tuple[int, str]:
    """Status and cookie of an answer; no redirect is followed."""
    host, _, path = address.removeprefix("http://").partition("/")
    connection = HTTPConnection(host, timeout=30)
    connection.request("GET" if data is None else "POST", f"/{path}", data, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers.get("Set-Cookie", "")


def status(address: str, key: str = "") -> int:
    return ask(address, {"Authorization": f"Bearer {key}"} if key else {})[0]


@contextmanager
def served(path: Path, *more: str, **settings: str) -> Iterator[tuple[str, IO[str]]]:
    """The command serving a store; its address, and what it prints after that."""
    command = (*FORKMAP, "serve", "--store", str(path), "--port", "0", *more)
    environment = {**os.environ, **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[3].rstrip("/"), process.stdout
        finally:
            process.terminate()
        assert process.wait(30) == 0


def test_a_key_that_is_made_or_revoked_while_serving_counts_at_once(store: Store, path: Path) -> None:
    with served(path) as (address, output):
        assert output.readline().startswith("No key was made: it serves this machine only")
        agents = f"{address}/api/v1/agents"
        assert status(agents) == 200
        assert ask(agents, {"X-Forwarded-For": "192.0.2.7"})[0] == 403
        key, text = mint("acme", Role.READ, "", 0)
        store.add_key(key)
        assert (status(agents), status(agents, text)) == (401, 200)
        store.revoke_key("acme", key.key_id, 1)
        assert (status(agents, text), status(agents)) == (401, 401)
        assert (status(f"{address}/healthz"), status(f"{address}/readyz")) == (200, 200)


def test_with_a_key_every_address_is_listened_at(store: Store, path: Path) -> None:
    key, text = mint("acme", Role.READ, "", 0)
    store.add_key(key)
    with served(path, "--host", "0.0.0.0") as (address, _):
        assert address.startswith("http://0.0.0.0:")
        agents = f"{address.replace('0.0.0.0', '127.0.0.1')}/api/v1/agents"
        assert (status(agents), status(agents, text)) == (401, 200)


def test_a_proxy_is_believed_once_it_is_trusted(store: Store, path: Path) -> None:
    key, text = mint("acme", Role.READ, "", 0)
    store.add_key(key)
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Proto": "https"}
    tenant = {"X-Forkmap-Tenant": "acme"}
    for proxy, believed in (("127.0.0.1", True), ("192.0.2.1", False)):
        trusting = {"FORKMAP_TRUSTED_PROXY": proxy, "FORKMAP_PROXY_HEADER": "X-Forkmap-Tenant"}
        with served(path, "--host", "0.0.0.0", **trusting) as (address, _):
            here = address.replace("0.0.0.0", "127.0.0.1")
            code, cookie = ask(f"{here}/signin", form, f"key={text}".encode())
            assert (code, "; Secure" in cookie) == (303, believed)
            assert ask(f"{here}/api/v1/agents", tenant)[0] == (200 if believed else 401)
            assert ask(f"{here}/api/v1/agents", {"X_Forkmap_Tenant": "acme"})[0] == 401


# --- settings of the reverse proxy ---------------------------------------------------------------


def test_the_proxy_is_an_address_and_perhaps_a_header() -> None:
    assert from_environment({}).proxy == ("", "")
    given = {"FORKMAP_TRUSTED_PROXY": "192.0.2.1", "FORKMAP_PROXY_HEADER": "X-Tenant"}
    assert from_environment(given).proxy == ("192.0.2.1", "X-Tenant")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"FORKMAP_PROXY_HEADER": "X-Tenant"}, "FORKMAP_PROXY_HEADER needs FORKMAP_TRUSTED_PROXY"),
        ({"FORKMAP_TRUSTED_PROXY": "proxy"}, "FORKMAP_TRUSTED_PROXY is 'proxy': it must be an IP address"),
        (
            {"FORKMAP_TRUSTED_PROXY": "::1", "FORKMAP_PROXY_HEADER": "X Tenant"},
            "FORKMAP_PROXY_HEADER is 'X Tenant': it must be the name of a header",
        ),
    ],
)
def test_a_proxy_that_cannot_be_is_told(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ForkmapError, match=sentence):
        from_environment(given)
