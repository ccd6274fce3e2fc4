"""Pays for the calls of one question, and tells from the journal what a dead process had paid (SPEC 0.5, 0.9)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from looper.budget import Amounts, Ledger, metered, total
from looper.journal import Event, Journal
from looper.types import Call, Usage


class Place(Protocol):
    """What a meter needs of a run."""

    journal: Journal
    ledger: Ledger
    check: Callable[[], None]
    iteration: int
    phase: str


class Meter:
    """Pays for the attempts of one question: reserve, intent line, request, settle (SPEC 0.5, 0.9)."""

    def __init__(self, stage: Place, name: str, key: str, price: Amounts):
        self.stage, self.name, self.key, self.price = stage, name, key, price
        self.cost: Amounts = {}
        self.calls: list[Call] = []
        self.number = 0
        self.call: Call | None = None

    def recover(self) -> None:
        """Book the attempts of a process that died: those that had ended as they ended, the others as lost."""
        tries = self.stage.journal.tries.get(self.key, [])
        self.number = max((event.payload["attempt"] for event in tries), default=0)
        for call, cost in left_open(tries):
            self._book(call, cost)
        self.stage.ledger.charge(self.cost)

    @contextmanager
    def attempt(self, label: str, worst: Usage) -> Iterator["Meter"]:
        """One call: its worst case is reserved and its intent is on disk before it starts."""
        self.stage.check()
        self.number += 1
        bill = total((self.price, metered(worst.model_copy(update={"calls": 1}))))
        hold = self.stage.ledger.reserve(self.name, bill)
        self.call = None
        try:
            self._log("call_started", {"attempt": self.number, "label": label, "worst": bill})
            yield self
            if self.call is None:
                raise RuntimeError(f"{self.key}: the agent did not settle its attempt")
        finally:
            call = self.call or Call(label=label, ended="interrupted", estimated=True, usd=bill.get("usd", 0.0))
            cost = self._actual(call) if self.call else bill
            self.stage.ledger.settle(hold, cost)
            self._book(call, cost)
            if call.ended != "ok":
                self._log("call_done", {"attempt": self.number, "label": label}, cost, call)

    def settle(self, call: Call) -> None:
        """The agent's receipt for the attempt under way."""
        self.call = call

    def _actual(self, call: Call) -> Amounts:
        billed = self.price if call.tokens_in + call.tokens_out else {}
        return total((billed, metered(Usage.of([call]))))

    def _book(self, call: Call, cost: Amounts) -> None:
        self.calls.append(call)
        self.cost = total((self.cost, cost))

    def _log(self, event: str, payload: dict[str, Any], cost: Amounts | None = None, call: Call | None = None) -> None:
        self.stage.journal.append(
            Event(
                event=event,
                step=self.name,
                key=self.key,
                payload=payload,
                cost=cost or {},
                calls=[call] if call else [],
                iteration=self.stage.iteration,
                phase=self.stage.phase,
                status="started" if event == "call_started" else "error",
            )
        )


def left_open(tries: list[Event]) -> Iterator[tuple[Call, Amounts]]:
    """What the attempts cost that a dead process made on a question: one without an end is lost, at its worst case."""
    done = {event.payload["attempt"] for event in tries if event.event == "call_done"}
    for event in tries:
        if event.event == "call_done":
            yield event.calls[0], event.cost
        elif event.payload["attempt"] not in done:
            worst = event.payload["worst"]
            tokens, usd = int(worst.get("tokens", 0)), worst.get("usd", 0.0)
            yield Call(label="lost", ended="process_died", estimated=True, tokens_in=tokens, usd=usd), worst


def recorded(journal: Journal) -> Amounts:
    """What the journal says was spent so far."""
    lost = [cost for tries in journal.tries.values() for _, cost in left_open(tries)]
    return total([*(step.cost for step in journal.steps.values()), *lost])
