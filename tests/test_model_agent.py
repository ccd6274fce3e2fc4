"""What a model agent sends, charges and refuses, over real HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from model_asking import GOOD, KEY, PRICE, Ledger, Pick, asked, model, question
from model_server import (
    USAGE,
    ModelServer,
    says,
)
from pydantic import ValidationError

from looper import redact
from looper.agents.model import Model
from looper.agents.prices import Price, listed
from looper.errors import BudgetExceeded, ConfigError, InvalidAnswer
from looper.types import Usage


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_TEST_KEY", KEY)


def test_a_good_answer_is_one_call_at_the_reported_cost() -> None:
    reply, ledger, server = asked(says(GOOD))
    assert reply.value == Pick(n=3, why="because")
    assert reply.by == "model:openai/test"
    assert reply.said == GOOD
    assert ledger.labels == ["answer"]
    call = ledger.calls[0]
    assert (call.tokens_in, call.tokens_out, call.estimated) == (40, 10, False)
    assert call.usd == pytest.approx(40e-6 + 20e-6)
    assert server.requests[0]["max_tokens"] == 100


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": -5, "total_tokens": -10},
        {"prompt_tokens": 10**15, "completion_tokens": 10**15, "total_tokens": 2 * 10**15},
        {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
    ],
)
def test_missing_or_absurd_usage_is_estimated_and_marked(usage: Any) -> None:
    reply, _, server = asked(says(GOOD, usage=usage))
    call = reply.calls[0]
    prompt = sum(len(m["content"]) for m in server.requests[0]["messages"])
    assert call.estimated
    assert prompt / 4 < call.tokens_in < prompt / 2
    assert 0 < call.tokens_out <= len(GOOD)
    assert call.usd > 0


def test_a_usage_that_is_no_number_never_reaches_the_ledger() -> None:
    came, ledger, _ = asked(says(GOOD, usage={"prompt_tokens": "NaN", "completion_tokens": [1], "total_tokens": {}}))
    assert all(call.estimated and call.usd > 0 for call in ledger.calls)
    assert isinstance(came, InvalidAnswer) or came.value.n == 3


def test_a_usage_that_is_true_is_taken_as_it_is() -> None:
    reply, _, _ = asked(says(GOOD, usage=USAGE))
    assert not reply.calls[0].estimated


def test_an_unknown_price_is_refused_before_the_first_call() -> None:
    with ModelServer(says(GOOD)) as server, pytest.raises(ConfigError, match=r"model\.price"):
        model(server, price=None).answer(question())
    assert not server.requests


def test_a_price_of_zero_is_a_price() -> None:
    reply, _, _ = asked(says(GOOD), price=Price(input=0, output=0))
    assert reply.calls[0].usd == 0
    assert reply.calls[0].tokens_in == 40


def test_a_listed_price_is_used_without_a_declared_one() -> None:
    reply, _, _ = asked(says(GOOD), price=None, name="openai/gpt-4o-mini")
    assert reply.calls[0].usd == pytest.approx(40 * 0.15e-6 + 10 * 0.6e-6)


def test_the_list_knows_the_dearer_rates_of_long_prompts() -> None:
    rates = {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 2e-6,
        "input_cost_per_token_above_200k_tokens": 3e-6,
    }
    price = listed({"some-model": rates}, "provider/some-model")
    assert price.usd(200_000, 10) == pytest.approx(0.2 + 20e-6)
    assert price.usd(200_001, 0) == pytest.approx(0.600003)


def test_a_missing_key_is_refused_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPER_TEST_KEY")
    with ModelServer(says(GOOD)) as server, pytest.raises(ConfigError, match="LOOPER_TEST_KEY"):
        model(server, key_env="LOOPER_TEST_KEY").answer(question())
    assert not server.requests
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        Model(name="openai/gpt-4o-mini").ready()


def test_a_key_for_one_provider_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _, _, server = asked(says(GOOD))
    assert KEY not in json.dumps(server.headers)


def test_a_provider_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="provider/name"):
        Model(name="no-such-provider/x", price=PRICE).ready()


@pytest.mark.parametrize(
    "setting",
    [
        {"key_env": "sk-proj-abcdefghijklmnop1234"},
        {"key_env": "AKIAABCDEFGHIJKLMNOP"},
        {"key_env": "a key"},
        {"key_env": "0123456789abcdef0123456789abcdef"},
        {"key_env": "abcdef0123456789abcdef0123456789"},
        {"base_url": "http://user:password@localhost/v1"},
        {"base_url": "file:///etc/passwd"},
        {"temperature": 2.1},
        {"max_tokens": 0},
        {"retrys": 3},
    ],
)
def test_a_setting_that_cannot_be_right_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Model(**({"name": "openai/test", **setting}))


def test_the_schema_goes_to_the_provider_or_into_the_prompt() -> None:
    _, _, server = asked(says(GOOD), schema="native")
    form = server.requests[0]["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert "JSON Schema" not in server.requests[0]["messages"][0]["content"]
    _, _, server = asked(says(GOOD))
    assert "response_format" not in server.requests[0]
    assert "JSON Schema" in server.requests[0]["messages"][0]["content"]


def test_the_worst_case_holds_any_tokenizer_and_a_full_reply() -> None:
    agent = Model(name="openai/test", price=PRICE, max_tokens=1000)
    worst = agent.worst_case([{"role": "user", "content": "ä" * 500}])
    assert worst.calls == 1
    assert 2000 <= worst.tokens < 2100
    assert worst.usd == pytest.approx((worst.tokens - 1000) * 1e-6 + 1000 * 2e-6)


def test_calls_run_side_by_side() -> None:
    def slow(handler: Any) -> None:
        handler.book.over.wait(0.3)
        says(GOOD)(handler)

    with ModelServer(slow) as server:
        agent, found = model(server), []
        threads = [threading.Thread(target=lambda: found.append(agent.answer(question()).value.n)) for _ in range(10)]
        began = time.monotonic()
        _run(threads)
    assert found == [3] * 10
    assert time.monotonic() - began < 1.5


def _run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_budget_that_cannot_pay_stops_before_the_request() -> None:
    @contextmanager
    def broke(label: str, worst: Usage) -> Iterator[Ledger]:
        raise BudgetExceeded("nothing left")
        yield Ledger()

    with ModelServer(says(GOOD)) as server, pytest.raises(BudgetExceeded):
        model(server).answer(question(attempt=broke))
    assert not server.requests


def test_secrets_in_the_context_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", KEY)
    redact.rescan()
    _, _, server = asked(says(GOOD), ask={"context": {"program": f"token = '{KEY}'"}})
    assert KEY not in json.dumps(server.requests)
