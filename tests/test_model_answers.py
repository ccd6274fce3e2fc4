"""Replies that are no answer, by name: sent back once, then a phase error (SPEC 0.10), over real HTTP."""

import pytest
from model_asking import GOOD, Pick, asked, ends
from model_server import (
    Behaviour,
    says,
    status,
)

from looper.errors import InvalidAnswer

TOOL = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("behaviour", "ended"),
    [
        (says(""), "empty"),
        (says(None), "empty"),
        (says("\ufeff \n"), "empty"),
        (says(None, refusal="I cannot help with that."), "refusal"),
        (says(GOOD, refusal="I cannot help with that."), "refusal"),
        (says(GOOD, finish="content_filter"), "content_filter"),
        (says(GOOD, finish="length"), "truncated"),
        (says(None, finish="tool_calls", tool_calls=TOOL), "tool_call"),
        (says(GOOD, tool_calls=TOOL), "tool_call"),
        (says("I would rather not."), "no_json"),
        (says(GOOD + "\nor rather\n" + '{"n": 4, "why": "no"}'), "ambiguous"),
        (says('{"n": -1, "why": "x"}'), "invalid"),
        (says('{"n": 1, "n": 2, "why": "x"}'), "invalid"),
        (says('{"n": NaN, "why": "x"}'), "invalid"),
        (says('{"n": 1e999, "why": "x"}'), "invalid"),
        (says('{"n": ' + "[" * 50_000 + "]" * 50_000 + "}"), "invalid"),
        (says("[" * 50_000), "invalid"),
        (says('{"n": ' + "9" * 5_000 + ', "why": "x"}'), "invalid"),
        (says('"just a string"'), "invalid"),
    ],
)
def test_a_reply_that_is_no_answer_is_named_sent_back_once_and_then_a_phase_error(
    behaviour: Behaviour, ended: str
) -> None:
    end, ledger, server = asked(behaviour)
    assert isinstance(end, InvalidAnswer), end
    assert (end.reason, end.facts["ended"]) == ("phase_error", ended)
    assert ends(ledger) == [ended] * 2
    assert ledger.labels == ["answer", "repair"]
    assert all(call.usd > 0 for call in ledger.calls)
    assert "Give the answer again" in server.requests[1]["messages"][-1]["content"]


def test_the_repair_carries_the_validation_error_and_is_accepted() -> None:
    reply, ledger, server = asked(says('{"n": "many", "why": 1}'), says(GOOD))
    assert reply.value == Pick(n=3, why="because")
    assert ends(ledger) == ["invalid", "ok"]
    first, second = (r["messages"] for r in server.requests)
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": '{"n": "many", "why": 1}'}
    assert "n: Input should be a valid integer" in second[-1]["content"]
    assert "why: Input should be a valid string" in second[-1]["content"]


def test_the_number_of_repairs_is_a_setting() -> None:
    _, ledger, _ = asked(says("no"), repairs=3)
    assert ledger.labels == ["answer", "repair", "repair", "repair"]
    _, ledger, _ = asked(says("no"), repairs=0)
    assert ledger.labels == ["answer"]


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"\ufeff{GOOD}",
        f'Here it is {{as asked}}: {GOOD}\nI hope {{it}} helps, "really".',
        f"{GOOD}\n\nThat is, again: {GOOD}",
        f"An empty {{}} first, then {GOOD}",
    ],
)
def test_fenced_or_wrapped_json_is_an_answer_at_the_first_try(text: str) -> None:
    reply, ledger, _ = asked(says(text))
    assert reply.value == Pick(n=3, why="because")
    assert ends(ledger) == ["ok"]


def test_lone_surrogates_are_cleaned_at_the_boundary() -> None:
    reply, _, server = asked(says('{"n": 1, "why": "a\ud800b\\udfffc"}'), ask={"context": {"program": "\ud83d x"}})
    assert reply.value.why.encode()
    assert reply.said.encode()
    assert "\ud83d" not in server.requests[0]["messages"][1]["content"]


def test_a_context_too_long_is_shortened_once() -> None:
    refusal = status(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded")
    context = {"program": "x = 1\n" * 5_000, "note": "keep me"}
    reply, ledger, server = asked(refusal, says(GOOD), ask={"context": context})
    assert reply.value.n == 3
    assert ledger.labels == ["answer", "shorten"]
    assert ledger.calls[0].usd == 0
    before, after = (r["messages"][1]["content"] for r in server.requests)
    assert len(after) < len(before) * 0.6
    assert "characters left out" in after
    assert "keep me" in after


def test_a_context_that_stays_too_long_is_a_phase_error() -> None:
    end, ledger, _ = asked(status(400, "maximum context length exceeded"))
    assert isinstance(end, InvalidAnswer)
    assert ends(ledger) == ["context_too_long"] * 2
