"""Goals, reasons and arguments before they are stored: what is masked, what is not, and what it costs."""

from __future__ import annotations

import json
import re
from functools import partial
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from dashboard.commands.settings import from_environment
from engine.conventions.table import ARGUMENT_KEYS
from engine.decisions import detecting
from engine.decisions.masking import Masker, marker
from engine.decisions.redaction import MASK, Mode, Redaction, Redactor, Rules
from engine.decisions.terms import finder
from engine.errors import ForkmapError
from engine.spans import Event, Span
from tests.secrets_planted import (
    ARGUMENTS,
    AWS,
    EMAIL,
    GITHUB,
    JWT,
    PASSWORD,
    PLANTED,
    TERM,
    UNIX,
    WINDOWS,
    WRITTEN,
)

mark = marker(lambda: blake2b(b"default", key=bytes(32)).digest())
masker = Masker(mark, finder([TERM]))
NOTHING_SET = Rules()
ARGUMENTS_KEY = "gen_ai.tool.call.arguments"


def compact(value: Any) -> str:
    """JSON as it is written after masking."""
    return msgspec.json.encode(value).decode()


def redactor(rules: Rules = NOTHING_SET) -> Redactor:
    return Redactor(Redaction(rules), lambda: bytes(32))


def redacted(attributes: dict[str, Any], rules: Rules = NOTHING_SET) -> dict[str, Any]:
    """The attributes of a span afterwards."""
    (span,) = redactor(rules).spans("default", [Span("t", "1", "", 0, attributes=attributes)])
    return span.attributes


@pytest.mark.parametrize(
    ("kind", "found", "text"),
    [
        ("secret", AWS, "use {} now"),
        ("secret", f"token={GITHUB}"[6:], "token={}"),
        ("secret", JWT, "{},"),
        ("secret", f"https://a:b@host.example/{GITHUB}", "clone ({})."),
        ("secret", "sk-" + "ant-" + "a1b2c3d4" * 4, "try '{}'"),
        ("secret", "fmk_" + "0a1b2c3d4e5f_" + "aB3-" * 10, "{}"),
        ("secret", "two words", 'password = "{}"'),
        ("secret", "hunter2", "PASSWORD: {}"),
        ("secret", "hunter2", "{{'db_password': '{}', 'user': 'a'}}"),
        ("secret", "hunter2", "mysql --password {} -u root"),
        ("secret", "abc.def1", "curl -H 'Authorization: Bearer {}' -X POST"),
        ("secret", "abc.def1", "Bearer {}"),
        ("secret", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "key:\n{}\nend"),
        ("secret", "-----BEGIN PRIVATE KEY-----\ncut off", "{}"),
        ("secret", "hunter2", "https://a.example/?next=b%3Fpassword%3D{} now"),
        ("secret", "hunter2", r"no JSON: {{\"password\": \"{}\"}}"),
        ("secret", "two words", r'"\ud800 {{\\\"password\\\": \\\"{}\\\"}}"'),
        ("email", "someone%40mail.example", "to={}&n=1"),
        ("email", EMAIL, "mail {}, or <x>"),
        ("email", "jöhn+tag@bücher.example", "({})"),
        ("path", UNIX, "see {}."),
        ("path", "~/notes", "see {}"),
        ("path", "../up/a.py", "see {}"),
        ("path", "file:///srv/a", "see {}"),
        ("path", "$HOME/a", "cd {}"),
        ("path", "src/acme/dates.py", "edit {}:12"),
        ("path", WINDOWS, "open {} then"),
        ("path", "\\\\server\\share\\a", "open {}"),
        ("path", "/home/a/b", "PYTHONPATH=[{}]"),
        ("term", WRITTEN, "for {} only"),
        ("term", "Plánted  &\nSohne", "un{}s"),
    ],
)
def test_what_is_found_is_masked_and_what_stands_around_it_stays(kind: str, found: str, text: str) -> None:
    assert masker.text(text.format(found)) == text.format(mark(kind, found))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "find existing helpers, or 1/2 of them and/or none (3.5/4.5)",
        "reset the password of a user",
        "max_tokens: 100, token_type, tokens: 5",
        "W2378156 4579334072 paypal_3024827 2026-09-13T02:11:04Z",
        "https://docs.example/a/b.html?q=1#top",
        "application/json, text/plain, 2026/01/02, a@b, @types/node, pkg@1.2.3",
        "123e4567-e89b-12d3-a456-426614174000",
        "a-rather-long-name-of-a-branch-without-secrets",
        "at $50/passenger, $5/seat",
        "192.168.0.1 and 8.8.8.8",
        "re.sub(r'\\d+', '', text)",
        "Plant & Sohn",
    ],
)
def test_what_is_nothing_of_that_stays(text: str) -> None:
    assert masker.text(text) == text


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"password": 1234, "n": 1234}, {"password": mark("secret", "1234"), "n": 1234}),
        ({"apiKey": {"a": ["x", None, True]}}, {"apiKey": {"a": [mark("secret", "x"), None, True]}}),
        ({"files": ["a b/c", "d"]}, {"files": [mark("path", "a b/c"), "d"]}),
        ({"path": "https://a.example/b"}, {"path": "https://a.example/b"}),
        ({EMAIL: 1}, {mark("email", EMAIL): 1}),
        ({"pass": "x", "passes": "x"}, {"pass": mark("secret", "x"), "passes": "x"}),
        (
            [{"name": "DB_PASSWORD", "value": "x"}, {"key": "user", "value": "x"}],
            [{"name": "DB_PASSWORD", "value": mark("secret", "x")}, {"key": "user", "value": "x"}],
        ),
        (
            {"body": compact({"token": "x", "inner": compact([UNIX])})},
            {"body": compact({"token": mark("secret", "x"), "inner": compact([mark("path", UNIX)])})},
        ),
    ],
)
def test_fields_of_json_are_masked_by_their_names_however_deep(value: Any, masked: Any) -> None:
    assert masker.value(value) == masked
    assert masker.text(compact(value)) == compact(masked)


@pytest.mark.parametrize(
    "text", ['{"n": 2.50, "at": "a/b", "a": [] }', ' ["\\u0041/", {"a": 1, "b": {"a": 1}}]']
)
def test_json_in_which_nothing_is_masked_stays_as_it_is_written(text: str) -> None:
    assert masker.text(text) == text


def test_of_a_field_that_is_there_twice_the_last_is_left() -> None:
    assert masker.text(f'{{"to": "{EMAIL}", "to": "all"}}') == '{"to":"all"}'
    options = f'[{{"tool": "a", "reason": "{EMAIL}", "reason": "none"}}]'
    told = redacted({"forkmap.decision.options": options})
    assert told == {"forkmap.decision.options": '[{"tool":"a","reason":"none"}]'}


def test_json_that_is_cut_off_is_masked_as_far_as_it_goes() -> None:
    whole = json.dumps({"name": WRITTEN, "to": [EMAIL, UNIX], "password": PASSWORD})
    for end in range(len(whole)):
        masked = masker.text(whole[:end])
        assert not [each for each in (json.dumps(WRITTEN)[1:-1], EMAIL, UNIX, PASSWORD) if each in masked]


@pytest.mark.parametrize("kept", ["", "ab", "ab\N{GRINNING FACE}é\\"])
def test_json_in_json_that_is_cut_off_is_masked_wherever_the_cut_is(kept: str) -> None:
    inner = json.dumps({"password": f"{PASSWORD} {PASSWORD}", "kept": kept})
    for whole in (json.dumps({"body": inner}), json.dumps({"outer": json.dumps({"body": inner})})):
        for end in range(len(whole)):
            assert PASSWORD not in masker.text(whole[:end])


@given(st.text() | st.text("aé.@:/\\ =\"'[]{}_-~pwdtokenAKI0123456789"))
@example(f"password=[secret abcdef] {EMAIL}")
@example('password = "two words"')
@example("{'db_password': 'two words'}")
def test_what_is_masked_stays_as_it_is_when_it_is_masked_again(text: str) -> None:
    once = masker.text(text)
    assert masker.text(once) == once


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text("ab@./\\ =:")
    | st.sampled_from([EMAIL, UNIX]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "password", "path"]), inner),
)


@given(JSON)
def test_json_stays_json_of_the_same_shape(value: Any) -> None:
    def shape(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: shape(each) for key, each in found.items()}
        return [shape(each) for each in found] if isinstance(found, list) else None

    assert shape(json.loads(masker.text(compact(value)))) == shape(value)
    assert EMAIL not in masker.text(compact(value))


@given(st.from_regex(re.compile(detecting.ASSIGNMENT.pattern, re.ASCII)))
def test_whatever_is_found_is_looked_for(text: str) -> None:
    assert detecting.may_hold(text)


def test_equal_values_have_equal_marks_under_one_key_and_others_under_another() -> None:
    spans = [Span("t", "1", "", 0, attributes={ARGUMENTS_KEY: EMAIL})]
    secrets = ("acme", b"a" * 32), ("acme", b"a" * 32), ("other", b"a" * 32), ("acme", b"b" * 32)
    redactors = ((tenant, Redactor(MASK, partial(bytes, secret))) for tenant, secret in secrets)
    found = [each.spans(tenant, spans)[0].attributes[ARGUMENTS_KEY] for tenant, each in redactors]
    assert found[0] == found[1]
    assert len({*found}) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("eyJ", "password", "/", "/a", "a.", "a@", "-", "://a:b", 'password="', '{"a":"', "sk-", "token  "),
        *("a%40", 'password\\"', "password%3D", '"\\u00'),
        *("-----BEGIN PRIVATE KEY", "bearer ", "\\", "c:\\a b ", "[email abcdef]", "xoxb-1-", "--a", "QUJD"),
    ],
)
def test_masking_takes_time_in_proportion_to_the_text(text: str) -> None:
    begun_s = perf_counter()
    masker.text(text * (100_000 // len(text)))
    assert perf_counter() - begun_s < 10


DECISION = {
    "forkmap.decision.goal": f"mail {EMAIL}",
    "forkmap.decision.options": compact(
        [{"tool": "src/a.py", "score": 0.5, "reason": UNIX, "extra": [EMAIL]}, {"tool": "b"}]
    ),
    "forkmap.decision.chosen": "src/a.py",
    "forkmap.decision.policy": f"rule of {EMAIL}",
    "forkmap.decision.margin": 0.5,
}


@pytest.mark.parametrize(
    ("mode", "goal", "options"),
    [
        (Mode.KEEP, DECISION["forkmap.decision.goal"], DECISION["forkmap.decision.options"]),
        (
            Mode.MASK,
            f"mail {mark('email', EMAIL)}",
            compact(
                [
                    {
                        "tool": "src/a.py",
                        "score": 0.5,
                        "reason": mark("path", UNIX),
                        "extra": [mark("email", EMAIL)],
                    },
                    {"tool": "b"},
                ]
            ),
        ),
        (Mode.DROP, "", compact([{"tool": "src/a.py", "score": 0.5}, {"tool": "b"}])),
    ],
)
def test_of_a_decision_goal_and_reasons_are_redacted_and_nothing_else(
    mode: Mode, goal: str, options: str
) -> None:
    found = redacted(DECISION | {"openinference.span.kind": "CHAIN"}, Rules(mode))
    told = {"forkmap.decision.goal": goal, "forkmap.decision.options": options}
    assert found == DECISION | {"openinference.span.kind": "CHAIN"} | told


def test_options_are_redacted_in_every_shape() -> None:
    option = {"tool.name": "a/b/c.py", "score": "0.5", "reason": EMAIL}
    dropped = {"tool.name": "a/b/c.py", "score": "0.5"}
    shapes = {
        "gen_ai.decision.options": [option, compact(option), "a/b/c.py"],
        "gen_ai.decision.options.0.option.tool.name": "a/b/c.py",
        "gen_ai.decision.options.0.reason": EMAIL,
        "gen_ai.decision.rationale": EMAIL,
    }
    assert redacted(shapes, Rules(Mode.DROP)) == {
        "gen_ai.decision.options": [dropped, compact(dropped), "a/b/c.py"],
        "gen_ai.decision.options.0.option.tool.name": "a/b/c.py",
    }
    assert EMAIL not in str(redacted(shapes))


@pytest.mark.parametrize("broken", ['[{"tool": "a", "reason": "' + EMAIL, EMAIL, "[" * 5000 + EMAIL])
def test_options_that_are_no_json_are_redacted_as_text(broken: str) -> None:
    assert EMAIL not in redacted({"forkmap.decision.options": broken})["forkmap.decision.options"]
    assert redacted({"forkmap.decision.options": broken}, Rules(Mode.DROP)) == {
        "forkmap.decision.options": ""
    }


TOOL, CHAIN = {"openinference.span.kind": "TOOL"}, {"openinference.span.kind": "CHAIN"}
REQUESTED = "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments"


@pytest.mark.parametrize(
    ("attributes", "key"),
    [
        *((TOOL, key) for key, _ in ARGUMENT_KEYS),
        (CHAIN, ARGUMENTS_KEY),
        (CHAIN, REQUESTED),
        ({"openinference.span.kind": "DECISION"}, "input.value"),
        ({"openinference.span.kind": "DECISION"}, "decision.goal"),
        ({"forkmap.kind": "other"}, "gen_ai.completion.0.tool_calls.1.arguments"),
    ],
)
def test_arguments_are_known_by_the_keys_of_every_convention(attributes: dict[str, Any], key: str) -> None:
    found = redacted({**attributes, key: compact(ARGUMENTS)}, Rules(terms=(TERM,)))
    assert {name: found[name] for name in attributes} == attributes
    assert [each for each in PLANTED if each in found[key]] == []


@pytest.mark.parametrize("key", ["input.value", "decision.goal", "gen_ai.tool.call.result", "http.url"])
def test_what_is_no_argument_is_kept_as_sent(key: str) -> None:
    sent = {**CHAIN, key: EMAIL}
    assert redacted(sent) == redacted(sent, Rules(Mode.DROP)) == sent


def test_arguments_in_events_and_of_any_type_are_redacted() -> None:
    told = {ARGUMENTS_KEY: {"to": [EMAIL, 7, None, True], "secret": 5}}
    masked = {ARGUMENTS_KEY: {"to": [mark("email", EMAIL), 7, None, True], "secret": mark("secret", "5")}}
    span = Span("t", "1", "", 0, attributes=told, events=(Event("asked", 0, told), Event("other", 1)))
    expected = structs.replace(span, attributes=masked, events=(Event("asked", 0, masked), Event("other", 1)))
    assert redactor().spans("default", [span]) == [expected]


def test_arguments_nested_too_deeply_to_be_read_are_left_out() -> None:
    nested: Any = EMAIL
    for _ in range(5000):
        nested = [nested]
    assert redacted({ARGUMENTS_KEY: nested, "a": 1}) == {"a": 1}


def test_spans_without_any_of_it_are_the_very_same() -> None:
    span = Span("t", "1", "chat", 0, attributes={"gen_ai.operation.name": "chat", "http.url": EMAIL})
    assert redactor().spans("default", [span])[0] is span


def run_of(decisions: int) -> list[Span]:
    """A run that decides and calls so many times."""
    spans = []
    for number in range(decisions):
        decided = DECISION | {"session.id": "r"}
        spans.append(Span("t", f"d{number}", "", number, attributes=decided))
        called = {"session.id": "r", "gen_ai.tool.name": "a", ARGUMENTS_KEY: "{}"}
        spans.append(Span("t", f"c{number}", "", number, parent_id=f"d{number}", attributes=called))
    return spans


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_only_the_first_decisions_of_a_run_keep_reasons_and_arguments(batch: int) -> None:
    sampled = redactor(Rules(Mode.KEEP, sample_after=2))
    spans = run_of(5)
    found = [
        span
        for at in range(0, len(spans), batch)
        for span in sampled.spans("default", spans[at : at + batch])
    ]
    bare = compact([{"tool": "src/a.py", "score": 0.5}, {"tool": "b"}])
    assert found[:4] == spans[:4]
    for before, after in zip(spans[4:], found[4:], strict=True):
        expected = before.attributes | {"forkmap.decision.options": bare}
        is_call = ARGUMENTS_KEY in before.attributes
        assert after.attributes == (
            {key: value for key, value in before.attributes.items() if key != ARGUMENTS_KEY}
            if is_call
            else expected
        )
    assert [*sampled.spans("default", spans)] == found  # sent again


def test_a_run_without_decisions_keeps_its_arguments() -> None:
    calls = run_of(3)[1::2]
    assert redactor(Rules(Mode.KEEP, sample_after=1)).spans("default", calls) == calls


def test_a_tenants_rules_go_before_those_of_all() -> None:
    rules = Redaction(Rules(Mode.DROP, 5, ("all",)), {"acme": Rules(Mode.MASK, terms=("own",))})
    assert rules.of("acme") == Rules(Mode.MASK, 5, ("all", "own"))
    assert rules.of("other") == Rules(Mode.DROP, 5, ("all",))
    assert Redaction().of("acme") == Rules(Mode.MASK)


def test_ten_thousand_terms_are_found_as_fast_as_ten() -> None:
    find = finder([f"customer {number} ltd" for number in range(10_000)])
    begun_s = perf_counter()
    found = find("nothing of theirs " * 1000 + "CUSTOMER\n9999 LTD")
    assert perf_counter() - begun_s < 1
    assert found == [(18_000, 18_017)]


@pytest.mark.parametrize(
    "terms", [["a" * size for size in range(1, 101)], ["\u0301", " ", "x"], [".*", "(", "x"]]
)
def test_any_terms_can_be_looked_for(terms: list[str]) -> None:
    assert finder(terms)("b" * 50 + terms[-1]) == [(50, 50 + len(terms[-1]))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[default]\nmode = "msk"', "says no redaction: default.mode: invalid enum value 'msk'"),
        ("[default]\nmod = 1", "says no redaction: default: object contains unknown field `mod`"),
        ("[default]\nsample_after = -1", "says no redaction: default.sample_after: expected `int` >= 0"),
        (
            "[tenants.a]\nterms = ['']",
            "says no redaction: tenants[...].terms[0]: expected `str` of length >= 1",
        ),
        ("[default", "is no TOML: "),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_a_sentence(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "redaction.toml"
    file.write_text(text)
    with pytest.raises(ForkmapError) as raised:
        from_environment({"FORKMAP_REDACTION": str(file)})
    assert str(raised.value).startswith(f"{file} {said}")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ForkmapError, match=r"absent\.toml cannot be read: No such file or directory"):
        from_environment({"FORKMAP_REDACTION": str(tmp_path / "absent.toml")})
