"""Policy files: what they say, what is wrong with them and where, and the policy that applies the flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import tables, whatif
from dashboard.cli import _run
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.whatif import TRIGGERS, Breaker, Policy, Rules
from dashboard.whatif.located import parse as parse_json
from dashboard.whatif.policy import policy_text
from ingest.dictionary import load_outcomes
from tests.loaded import Event, at, attempt, opened

pytestmark = pytest.mark.slow

ALL = ", ".join(TRIGGERS)


def test_triggers_are_the_outcomes_of_sent_attempts() -> None:
    assert sorted(TRIGGERS) == sorted(name for name, group, _ in load_outcomes() if group != "not_sent")


def test_an_absent_key_allows_everything() -> None:
    assert whatif.parse("{}", "p") == Policy() == whatif.parse('{"version": 1, "evidence": [1, {"a": 1, "a": 2}]}', "p")


def test_a_partner_replaces_single_rules_of_everyone() -> None:
    text = """{"version": 1, "triggers": ["timeout", "reset"], "max_retries": 2, "budget_guard": true,
        "breaker": {"window_s": 10, "min_attempts": 5},
        "partners": {"dsp-a": {"max_retries": null, "breaker": null, "evidence": {}}, "dsp-b": {"triggers": []}}}"""
    policy = whatif.parse(text, "p")
    both = frozenset({"timeout", "reset"})
    breaker = Breaker(10, 5, 0.5, 30)
    assert policy.default == Rules(both, 2, True, breaker)
    assert policy.of("dsp-a") == Rules(both, None, True, None)
    assert policy.of("dsp-b") == Rules(frozenset(), 2, True, breaker)
    assert policy.of("dsp-c") == policy.default


def test_a_byte_order_mark_is_no_fault() -> None:
    assert whatif.parse(b'\xef\xbb\xbf{"max_retries": 0}', "p").default.max_retries == 0


WRONG = [
    ("", "p: empty; a policy is a JSON object"),
    (" \n\n", "p: empty"),
    ("{", "p, line 1, column 2: not JSON: a key in quotes is missing"),
    ('{"max_retries": 1,\n "breaker" 2}', "p, line 2, column 12: not JSON: ':' is missing"),
    ('{"max_retries": 1,}', "p, line 1, column 19: not JSON"),
    ('{"max_retries": 01}', "p, line 1, column 18: not JSON"),
    ('{"a', "p, line 1, column 2: not JSON: a text is not closed"),
    ("{} {}", "p, line 1, column 4: not JSON: something stands behind the end"),
    ('{"evidence": ' + "[" * 3_000, "not JSON: nested deeper than 40"),
    ('{"max_retries": ' + "1" * 5_000 + "}", "not JSON: a number of too many digits"),
    ("max_retries = 2", "p, line 1, column 1: not JSON: a value is missing"),
    ("[]", "p, line 1: a policy is an array; it takes an object with the keys version, triggers, max_retries"),
    ('{"version": 2}', "p, line 1: version is 2; it takes 1"),
    ('{\n"trigger": []}', "p, line 2: unknown key 'trigger' in a policy; choose from version, triggers, max_retries"),
    (
        '{"triggers": [\n"timeout",\n"timeot"]}',
        f"p, line 3: unknown trigger 'timeot' in triggers; choose from {ALL}",
    ),
    ('{"triggers": [null]}', f"p, line 1: unknown trigger null in triggers; choose from {ALL}"),
    ('{"triggers": "timeout"}', f"it takes a list of triggers: choose from {ALL}"),
    ('{"triggers": ["not_sent_breaker"]}', "unknown trigger 'not_sent_breaker'"),
    ('{"max_retries": -1}', "p, line 1: max_retries is -1; it takes a whole number from 0 up"),
    ('{"max_retries": 1.5}', "max_retries is 1.5; it takes a whole number"),
    ('{"max_retries": NaN}', "max_retries is nan; it takes a whole number"),
    ('{"max_retries": true}', "max_retries is true; it takes a whole number"),
    ('{"max_retries": "2"}', "max_retries is '2'; it takes a whole number"),
    ('{"max_retries": 1e400}', "max_retries is inf; it takes a whole number"),
    ('{"budget_guard": 1}', "budget_guard is 1; it takes true or false"),
    ('{"budget_guard": null}', "budget_guard is null; it takes true or false"),
    ('{"breaker": true}', "p, line 1: breaker is true; it takes an object with the keys window_s"),
    ('{"breaker": {"window": 1}}', "unknown key 'window' in breaker; choose from window_s, min_attempts"),
    ('{"breaker": {"window_s": 0}}', "window_s of breaker is 0; it takes a number above 0 and up to 86400"),
    ('{"breaker": {"window_s": -3}}', "window_s of breaker is -3; it takes a number above 0"),
    ('{"breaker": {"open_s": Infinity}}', "open_s of breaker is inf; it takes a number above 0"),
    ('{"breaker": {"open_s": 86401}}', "open_s of breaker is 86401; it takes a number above 0 and up to 86400"),
    ('{"breaker": {"failure_share": 1.5}}', "failure_share of breaker is 1.5; it takes a number above 0 and up to 1"),
    ('{"breaker": {"failure_share": false}}', "failure_share of breaker is false; it takes a number"),
    ('{"breaker": {"min_attempts": 0}}', "min_attempts of breaker is 0; it takes a whole number from 1 up"),
    ('{"partners": []}', "partners is an array; it takes an object with partner names as its keys"),
    ('{"partners": {"dsp-a": 2}}', "the value of partner 'dsp-a' is 2; it takes an object with the keys triggers"),
    (
        '{"partners": {\n"dsp-a": {"version": 1}}}',
        "p, line 2: unknown key 'version' in the value of partner 'dsp-a'; choose from triggers",
    ),
    ('{"partners": {"dsp-a": {"max_retries": -1}}}', "max_retries of partner 'dsp-a' is -1"),
    ('{"partners": {"a": {},\n"a": {}}}', "p, line 2: the key 'a' stands twice in partners; leave one out"),
    ('{"partners": {"\\ud800": {}}}', "is no text that a log can hold"),
    ('{"max_retries": 1,\n"max_retries": 2}', "p, line 2: the key 'max_retries' stands twice in a policy"),
    (b'{"max_retries": 1,\n"\xff": 1}', "p, line 2: not UTF-8 text"),
    (b" " * 1_000_001, "p: larger than 1,000,000 bytes"),
]


@pytest.mark.parametrize("content, said", WRONG, ids=range(len(WRONG)))
def test_a_mistake_is_one_line_that_names_the_place_and_the_choices(content: str | bytes, said: str) -> None:
    with pytest.raises(UserError) as error:
        whatif.parse(content, "p")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ['{"triggers": ["x"]}', "", "{"])
def test_the_command_ends_with_2_and_one_line(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(content)
    for given_path in (path, tmp_path / "nowhere.json", tmp_path):
        monkeypatch.setattr("sys.argv", ["retrylens", "whatif", "--policy", str(given_path), "--warehouse", "nowhere"])
        assert _run() == 2
        out, said = capsys.readouterr()
        assert out == ""
        assert said.count("\n") == 1
        assert given_path.name in said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 2]))
def test_what_json_writes_is_read_as_it_is(value: Any, indent: int | None) -> None:
    assert parse_json(json.dumps(value, indent=indent)).plain() == value


@given(st.text(alphabet='{}[]:,"01-.eNaut \n\\', max_size=40))
def test_any_text_is_a_policy_or_a_message(text: str) -> None:
    try:
        whatif.parse(text, "p")
    except UserError as error:
        said = str(error)
    else:
        said = "p"
    assert said.startswith("p")


RULES = st.builds(
    Rules,
    st.none() | st.frozensets(st.sampled_from(TRIGGERS)),
    st.none() | st.integers(0, 9),
    st.booleans(),
    st.none()
    | st.builds(Breaker, st.integers(1, 90), st.integers(1, 50), st.sampled_from([0.25, 0.5, 1]), st.just(7.5)),
)
POLICIES = st.builds(Policy, RULES, st.dictionaries(st.text(alphabet="ab'\"\\%", max_size=4), RULES, max_size=3))


@given(POLICIES)
def test_a_policy_is_what_its_file_says(policy: Policy) -> None:
    text = policy_text(policy.fields())
    assert whatif.parse(text, "p") == policy
    assert json.loads(text)["version"] == 1


# The policy of the flags


def call(number: int, partner: str, *outcomes: dict[str, Any], second: int = 0) -> list[Event]:
    """A call's attempts, 50 ms apart."""
    return [
        attempt(at(second + number, 50_000 * place), f"{partner}-{number}", partner, latency_ms=10 + place) | outcome
        for place, outcome in enumerate(outcomes)
    ]


FAILED, REFUSED, THROTTLED = {"http_status": 503}, {"http_status": 400}, {"http_status": 429}
BID, NO_BID = {"http_status": 200, "bids": 1, "price": 2}, {"http_status": 204}


def flagged_log() -> list[Event]:
    """p: 503 repeated 60 times in vain (disable), 429 repeated 12 times with success (keep); q: 503 repeated 60 times
    with success, a no-bid and a 400 once each (never); r: nothing repeated.
    """
    events = [event for number in range(60) for event in call(number, "p", FAILED, FAILED)]
    events += [event for number in range(60, 72) for event in call(number, "p", THROTTLED, BID)]
    events += [event for number in range(60) for event in call(number, "q", FAILED, BID)]
    events += call(60, "q", NO_BID, NO_BID) + call(61, "q", REFUSED, REFUSED, FAILED)
    return events + call(0, "r", NO_BID)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return opened(tmp_path_factory.mktemp("flagged"), flagged_log())


def test_flags_become_triggers_with_their_evidence(flagged: Snapshot) -> None:
    policy, fields = whatif.flag_policy(flagged)
    forbidden = {"no_bid", "client_error"}
    assert policy.default == Rules(frozenset(TRIGGERS) - forbidden)
    assert policy.of("p").triggers == frozenset(TRIGGERS) - forbidden - {"server_error"}
    assert set(policy.partners) == {"p", "q"}
    assert fields["version"] == 1
    assert fields["breaker"] is None
    [evidence] = fields["partners"]["p"]["evidence"]
    assert {name: evidence[name] for name in ("trigger", "verdict", "retries", "successes", "last_success")} == {
        "trigger": "server_error",
        "verdict": "disable",
        "retries": 60,
        "successes": 0,
        "last_success": None,
    }
    assert [row["trigger"] for row in fields["partners"]["q"]["evidence"]] == ["client_error", "no_bid"]
    assert {row["verdict"] for row in fields["partners"]["q"]["evidence"]} == {"never"}


def test_the_policy_of_the_flags_removes_exactly_the_flagged_retries(flagged: Snapshot) -> None:
    policy = whatif.parse(policy_text(whatif.flag_policy(flagged)[1]), "p")
    flags = {
        (row["partner"], row["trigger"]): row["retries"]
        for row in tables.rows(flagged, "flags")
        if row["verdict"] in ("never", "disable") and "*" not in (row["partner"], row["trigger"])
    }
    found = whatif.replay(flagged, policy, Filters())
    removed = {
        (row["partner"], row["trigger"]): row["attempts_saved"] for row in found.triggers if row["attempts_saved"]
    }
    assert removed == flags
    assert found.totals["attempts_saved"] == 63


def test_the_policy_of_the_flags_is_the_same_bytes_each_time(
    flagged: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for name in ("one.json", "two.json"):
        monkeypatch.setattr(
            "sys.argv",
            ["retrylens", "policy", "--warehouse", str(flagged.warehouse), "--out", str(tmp_path / name)],
        )
        assert _run() == 0
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1] == policy_text(whatif.flag_policy(flagged)[1]).encode()


def test_a_trigger_flagged_over_all_partners_is_off_but_where_a_partner_keeps_it(tmp_path: Path) -> None:
    events = [
        event
        for number in range(80)
        for name in ("a", "b", "c")
        for event in call(number, f"{name}{number}", FAILED, FAILED)
    ]
    events += [event for number in range(11) for event in call(number, "lucky", FAILED, BID if number < 3 else FAILED)]
    snapshot = opened(tmp_path, events)
    policy, fields = whatif.flag_policy(snapshot)
    assert "server_error" not in (policy.default.triggers or ())
    assert set(policy.partners) == {"lucky"}
    assert "server_error" in (policy.of("lucky").triggers or ())
    assert [row["trigger"] for row in fields["evidence"]] == ["*", "server_error"]


def test_without_retries_nothing_but_the_forbidden_is_off(tmp_path: Path) -> None:
    policy, fields = whatif.flag_policy(opened(tmp_path, call(0, "p", NO_BID)))
    assert policy == Policy(Rules(frozenset(TRIGGERS) - {"no_bid", "client_error"}))
    assert fields["evidence"] == []


def test_a_partner_called_star_changes_nothing_for_the_others(tmp_path: Path) -> None:
    """The roll-up over all partners has that name too: it holds more retries, and it decides."""
    events = [
        event
        for number in range(80)
        for name in ("a", "b", "c")
        for event in call(number, f"{name}{number}", FAILED, FAILED)
    ]
    events += [event for number in range(30) for event in call(number, "*", FAILED, FAILED)]
    policy, _ = whatif.flag_policy(opened(tmp_path, events))
    assert "server_error" not in (policy.default.triggers or ())


def test_without_any_word_of_wins_none_is_known_to_be_lost(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [event for number in range(3) for event in call(number, "p", FAILED, BID)])
    found = whatif.replay(snapshot, whatif.parse('{"triggers": []}', "p"), Filters())
    assert (found.totals["bids_lost"], found.totals["wins_lost"], found.totals["revenue_lost"]) == (3, None, None)
    assert {row["wins_lost"] for row in (*found.partners, *found.triggers)} == {None}
