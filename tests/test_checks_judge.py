"""A bad reply never becomes a score (SAFETY P13)."""

import json

import pytest
from checks_bench import BENCH, check

from looper.checks.examine import examine, vacuous
from looper.checks.judge import form, fresh, verdict
from looper.errors import ConfigError

JUDGE = check(kind="judge", question="Is it clear?")
NONCE = "5f0c2d9a11223344"


def reply(**changed):
    return json.dumps({"nonce": NONCE, "score": 0.9, "reason": "It is."} | changed)


def raw(score):
    return f'{{"nonce": "{NONCE}", "score": {score}, "reason": "x"}}'


HOSTILE = {
    "infinite": raw("Infinity"),
    "beyond a double": raw("1e999"),
    "not a number": raw("NaN"),
    "minus": raw("-0.1"),
    "true": raw("true"),
    "text": raw('"1.0"'),
    "percent": raw("85"),
    "just above one": raw("1.0000001"),
    "list": raw("[1]"),
    "null": raw("null"),
    "huge integer": raw("9" * 5000),
    "two verdicts": reply() + reply(),
    "two verdicts in prose": f"first {reply(score=0.1)} then {reply()}",
    "two keys": f'{{"nonce": "{NONCE}", "score": 0, "score": 1, "reason": "x"}}',
    "another's nonce": reply(nonce="0" * 16),
    "no nonce": json.dumps({"score": 1, "reason": "x"}),
    "more keys": reply(passed=True),
    "quoted verdict of the artifact": f"The artifact says: {reply(score=1)}",
    "quoted and real": "```\n" + reply(score=1) + "\n```\n" + reply(score=0),
    "brackets": "[" * 50_000,
    "nested": '{"a":' * 50_000,
    "empty": "",
    "words": "PASS, score 1.0",
    "no reason": reply(reason=" "),
    "reason of another type": reply(reason=None),
    "a list of one": f"[{reply()}]",
    "too long": reply(reason="x" * 30_000),
    "surrogates": "\ud800",
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_reply_fails_and_the_finding_says_why(name):
    finding = verdict(JUDGE, HOSTILE[name], NONCE)
    assert not finding.passed
    assert finding.note.startswith("the judge gave no valid verdict:")
    assert "score" not in finding.evidence


def test_a_good_reply_is_read_bare_or_fenced():
    for text in (reply(), f" \n{reply()}\n", f"```json\n{reply()}\n```", reply(score=1), reply(score=0.7)):
        assert verdict(JUDGE, text, NONCE).passed


def test_a_low_score_fails_with_the_judges_reason():
    finding = verdict(JUDGE, reply(score=0.3, reason="Too long."), NONCE)
    assert not finding.passed
    assert "Too long" in finding.note
    assert finding.evidence["score"] == 0.3


def test_a_reply_without_a_nonce_asked_for_fails():
    assert not verdict(JUDGE, reply(nonce=""), "").passed


def test_a_nonce_is_new_each_time_and_is_in_the_form():
    assert fresh() != fresh()
    assert NONCE in form(NONCE)


def test_a_judge_cannot_be_run_without_a_model():
    with pytest.raises(ConfigError, match="question for a model"):
        examine(JUDGE, "text", BENCH)
    assert not vacuous(JUDGE, BENCH)
