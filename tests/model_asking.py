"""What the tests of the model agent share: a question, a ledger like a run's, and `asked`."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from model_server import Behaviour, ModelServer, says
from pydantic import BaseModel, Field

from looper.agents.model import Model
from looper.agents.prices import Price
from looper.errors import Interruption
from looper.types import Call, Question, Usage

KEY = "canary-4711-of-the-model-tests"
GOOD = '{"n": 3, "why": "because"}'
PRICE = Price(input=1.0, output=2.0)


class Pick(BaseModel):
    """The place you would change."""

    n: int = Field(ge=0)
    why: str


class Ledger:
    """What a run would do about attempts: note each with its worst case, and what it was settled for."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.calls: list[Call] = []

    @contextmanager
    def attempt(self, label: str, worst: Usage) -> Iterator["Ledger"]:
        self.labels.append(label)
        before = len(self.calls)
        yield self
        assert len(self.calls) == before + 1, "an attempt was not settled"
        last = self.calls[-1]
        assert last.usd <= worst.usd + 1e-12
        assert last.tokens_in + last.tokens_out <= worst.tokens

    def settle(self, call: Call) -> None:
        self.calls.append(call)


@functools.cache
def warm() -> None:
    """LiteLLM takes seconds to import, and its first call imports more: outside the measured times."""
    with ModelServer(says(GOOD)) as server:
        model(server).answer(question())


def model(server: ModelServer, **settings: Any) -> Model:
    own = {"name": "openai/test", "base_url": server.url, "price": PRICE, "max_tokens": 100, "backoff": 0.002}
    return Model(**(own | settings))


def question(**fields: Any) -> Question:
    own = {"role": "planner", "key": "plan.1", "context": {"program": "x = 1\n"}, "returns": Pick}
    return Question(**(own | fields))


def asked(*script: Behaviour, ask: dict[str, Any] | None = None, **settings: Any) -> tuple[Any, Ledger, ModelServer]:
    """What came of one answer (a reply, or the error as a value), what it cost, and the server that saw it."""
    warm()
    ledger = Ledger()
    with ModelServer(*script) as server:
        try:
            came = model(server, **settings).answer(question(attempt=ledger.attempt, **(ask or {})))
        except Interruption as error:
            came = error
    calls = came.facts["calls"] if isinstance(came, Interruption) else came.calls
    assert calls == ledger.calls, "the calls handed back are those that were paid for"
    assert len(server.requests) == len(calls), f"every request was reserved: {server.requests}"
    return came, ledger, server


def ends(ledger: Ledger) -> list[str]:
    return [call.ended for call in ledger.calls]
