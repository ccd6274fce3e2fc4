"""Servers that refuse, fail, stall or flood: every row of SAFETY's model-call table, over real HTTP."""

import gzip
import json
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from model_asking import GOOD, KEY, PRICE, Ledger, asked, ends, model, question, warm
from model_server import (
    Behaviour,
    ModelServer,
    body,
    completion,
    drips,
    drips_head,
    echoes_key,
    floods,
    hangs,
    resets,
    says,
    status,
)

from looper.agents.faults import retry_after
from looper.agents.model import Model
from looper.errors import BudgetExceeded, InvalidAnswer, Paused

HTML = b"<html><body>502 Bad Gateway</body></html>"
BAD_UTF8 = completion(GOOD).replace(b"because", b"be\xff\xfecause")
OTHERS: dict[str, Callable[[str], bytes]] = {
    "ollama_chat/test": lambda text: json.dumps(
        {"model": "test", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop",
         "prompt_eval_count": 40, "eval_count": 10}
    ).encode(),
    "anthropic/test": lambda text: json.dumps(
        {"id": "m", "type": "message", "role": "assistant", "model": "test", "stop_reason": "end_turn",
         "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 40, "output_tokens": 10}}
    ).encode(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_TEST_KEY", KEY)


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "0.01"}, {"retry-after-ms": "10"}, {"Retry-After": "soon"}])
def test_a_rate_limit_is_waited_out_and_costs_nothing(headers: dict[str, str]) -> None:
    reply, ledger, _ = asked(status(429, "slow down", "rate_limit_exceeded", **headers), says(GOOD))
    assert reply.value.n == 3
    assert ledger.labels == ["answer", "retry"]
    assert ends(ledger) == ["rate_limited", "ok"]
    assert ledger.calls[0].usd == 0
    assert (reply.waited > 0) == (headers not in ({}, {"Retry-After": "soon"}))


def test_a_wait_is_at_least_as_long_as_the_server_said() -> None:
    began = time.monotonic()
    reply, _, _ = asked(status(429, **{"Retry-After": "0.3"}), says(GOOD))
    assert 0.3 <= reply.waited <= 0.35
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(("code", "ended"), [(429, "rate_limited"), (503, "server_error")])
def test_an_hour_of_waiting_pauses_the_run_at_once(code: int, ended: str) -> None:
    began = time.monotonic()
    end, ledger, _ = asked(status(code, **{"Retry-After": "3600"}))
    assert isinstance(end, Paused)
    assert (end.reason, end.facts["retry_after"]) == ("rate_limited", 3600)
    assert ends(ledger) == [ended]
    assert time.monotonic() - began < 3


def test_a_rate_limit_that_stays_pauses_the_run() -> None:
    end, ledger, _ = asked(status(429), retries=2)
    assert isinstance(end, Paused)
    assert end.reason == "rate_limited"
    assert ends(ledger) == ["rate_limited"] * 3


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (
            status(429, "You exceeded your current quota", "insufficient_quota", **{"Retry-After": "1"}),
            "insufficient_quota",
        ),
        (echoes_key(401), "auth"),
        (echoes_key(403), "forbidden"),
    ],
)
def test_what_a_person_must_settle_pauses_without_a_retry_or_a_key_in_the_text(refusal: Behaviour, reason: str) -> None:
    end, ledger, server = asked(refusal, key_env="LOOPER_TEST_KEY")
    assert isinstance(end, Paused)
    assert end.reason == reason
    assert ends(ledger) == [reason]
    assert ledger.calls[0].usd == 0
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(end) + repr(end.facts)


def test_the_key_in_a_refusal_would_show_without_redaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looper.agents.faults.redact", lambda text: text)
    monkeypatch.setattr("looper.agents.dialogue.redact", lambda text: text)
    end, _, _ = asked(echoes_key(401), key_env="LOOPER_TEST_KEY")
    assert KEY in str(end)


@pytest.mark.parametrize(
    ("behaviour", "ended", "billed"),
    [
        (status(500), "server_error", False),
        (status(503), "server_error", False),
        (body(HTML, 502, None, **{"Content-Type": "text/html"}), "server_error", False),
        (resets, "reset", True),
        (body(HTML, 200, None, **{"Content-Type": "text/html"}), "bad_body", True),
        (body(HTML), "bad_body", True),
        (body(b"{}"), "bad_body", True),
        (body(b"[]"), "bad_body", True),
        (body(b'"hello"'), "bad_body", True),
        (body(b"null"), "bad_body", True),
        (body(json.dumps({"id": "c", "object": "chat.completion", "choices": []}).encode()), "bad_body", True),
        (body(json.dumps({"id": "c", "choices": [{"index": 0, "finish_reason": "stop"}]}).encode()), "bad_body", True),
        (body(json.dumps({"choices": "none"}).encode()), "bad_body", True),
        (body(BAD_UTF8), "bad_body", True),
        (body(b""), "bad_body", True),
        (body(completion(GOOD), 200, 10_000), "bad_body", True),
        (body(gzip.compress(completion(GOOD)), 200, None, **{"Content-Encoding": "gzip"}), "bad_body", True),
        (body(b"", 302, None, Location="http://127.0.0.1:9/elsewhere"), "bad_request", False),
    ],
)
def test_a_bad_reply_is_asked_again_and_then_a_phase_error(behaviour: Behaviour, ended: str, billed: bool) -> None:
    began = time.monotonic()
    end, ledger, _ = asked(behaviour, retries=2)
    assert isinstance(end, InvalidAnswer), end
    assert (end.reason, end.facts["ended"]) == ("phase_error", ended)
    retried = ended != "bad_request"
    assert ends(ledger) == [ended] * (3 if retried else 1)
    assert ledger.labels == ["answer", "retry", "retry"][: len(ledger.calls)]
    assert all((call.usd > 0, call.estimated) == (billed, billed) for call in ledger.calls)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("behaviour", [status(500), resets, body(HTML), body(b"{}")])
def test_a_bad_reply_followed_by_a_good_one_is_an_answer(behaviour: Behaviour) -> None:
    reply, ledger, _ = asked(behaviour, behaviour, says(GOOD))
    assert reply.value.n == 3
    assert ledger.labels == ["answer", "retry", "retry"]


def test_a_server_that_is_not_there_is_a_phase_error() -> None:
    with ModelServer(hangs) as server:
        url = server.url
    ledger = Ledger()
    agent = Model(name="openai/test", base_url=url, price=PRICE, retries=1, backoff=0.001)
    with pytest.raises(InvalidAnswer, match=r"unreachable.*network") as caught:
        agent.answer(question(attempt=ledger.attempt))
    assert ends(ledger) == ["unreachable"] * 2
    assert all(call.usd == 0 for call in ledger.calls), "nothing left this machine"
    assert caught.value.facts["calls"] == ledger.calls


@pytest.mark.parametrize("behaviour", [hangs, drips, drips_head])
def test_a_slow_server_is_cut_off_at_the_deadline_and_asked_once_more(behaviour: Behaviour) -> None:
    began = time.monotonic()
    end, ledger, _ = asked(behaviour, deadline=0.3)
    took = time.monotonic() - began
    assert isinstance(end, InvalidAnswer)
    assert end.facts["ended"] == "timeout"
    assert ends(ledger) == ["timeout"] * 2
    assert all(0.3 <= call.seconds < 1.5 and call.estimated and call.usd > 0 for call in ledger.calls)
    assert 0.6 <= took < 5
    assert _no_thread_is_left()


def _no_thread_is_left() -> bool:
    for _ in range(100):
        if not any(thread.name == "model-call" for thread in threading.enumerate()):
            return True
        time.sleep(0.02)
    return False


def test_no_call_outlasts_the_run() -> None:
    began = time.monotonic()
    end, ledger, _ = asked(hangs, ask={"seconds_left": 0.3})
    assert isinstance(end, BudgetExceeded)
    assert end.reason == "time_limit"
    assert ends(ledger) == ["timeout"]
    assert time.monotonic() - began < 3


def test_no_call_is_made_when_the_time_is_up() -> None:
    end, ledger, _ = asked(says(GOOD), ask={"seconds_left": 0.0})
    assert isinstance(end, BudgetExceeded)
    assert not ledger.calls


def test_a_refused_request_is_not_repeated() -> None:
    end, ledger, _ = asked(status(404, "no such model"))
    assert isinstance(end, InvalidAnswer)
    assert ends(ledger) == ["bad_request"]
    assert ledger.calls[0].usd == 0


def test_a_resend_by_the_client_library_is_stopped_before_it_leaves() -> None:
    """LiteLLM sends a second request of its own when a server complains about alternating roles."""
    _, ledger, _ = asked(status(400, "Conversation roles must alternate user/assistant"))
    assert ends(ledger) == ["bad_request"]


def test_a_flood_is_cut_off_while_reading() -> None:
    began = time.monotonic()
    end, ledger, _ = asked(floods, max_bytes=100_000)
    assert isinstance(end, InvalidAnswer)
    assert ends(ledger) == ["too_large"] * 2
    assert all(call.estimated and call.usd > 0 for call in ledger.calls)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", OTHERS)
def test_other_providers_have_the_same_bounds(name: str) -> None:
    reply, ledger, _ = asked(body(OTHERS[name](GOOD)), name=name)
    assert reply.value.n == 3
    assert (ledger.calls[0].tokens_in, ledger.calls[0].tokens_out) == (40, 10)
    end, ledger, _ = asked(floods, name=name, max_bytes=100_000)
    assert ends(ledger) == ["too_large"] * 2, end
    end, ledger, _ = asked(drips_head, name=name, deadline=0.3)
    assert ends(ledger) == ["timeout"] * 2, end
    end, ledger, _ = asked(status(500), name=name, retries=1)
    assert ends(ledger) == ["server_error"] * 2, end


def test_an_interrupt_ends_a_call_in_flight_at_once() -> None:
    main, began = threading.main_thread().ident or 0, time.monotonic()
    with ModelServer(hangs) as server:
        warm()
        threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            model(server).answer(question())
    assert time.monotonic() - began < 5
    assert _no_thread_is_left()


def test_waiting_as_a_server_said_is_not_working_time() -> None:
    refusal = status(429, **{"Retry-After": "1.5"})
    reply, _, _ = asked(refusal, says(GOOD), ask={"seconds_left": 1.5})
    assert reply.value.n == 3


def test_our_own_waiting_ends_with_the_time_of_the_run() -> None:
    began = time.monotonic()
    end, ledger, _ = asked(status(500), ask={"seconds_left": 1.0}, backoff=60.0)
    assert isinstance(end, BudgetExceeded)
    assert (end.reason, ends(ledger)) == ("time_limit", ["server_error"])
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25, 0.25),
        ({"retry-after": (datetime.now(UTC) + timedelta(hours=2)).strftime("%a, %d %b %Y %H:%M:%S GMT")}, 6000, 7200),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
    ],
)
def test_a_server_may_say_how_long_in_three_ways(headers: dict[str, str], low: float, high: float) -> None:
    seconds = retry_after(headers)
    assert seconds is not None
    assert low <= seconds <= high


@pytest.mark.parametrize("value", ["soon", "-5", "nan", "inf", "1e999", ""])
def test_a_wait_that_makes_no_sense_is_not_a_wait(value: str) -> None:
    assert retry_after({"retry-after": value}) is None
