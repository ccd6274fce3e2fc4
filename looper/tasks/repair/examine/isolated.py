"""Candidates that a model wrote: they answer calls in a box of their own and never meet a test (SAFETY P12)."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from looper.checks.sandbox import Worker
from looper.tasks.repair.examine.channel import STARTING, Channel, Late, WorkerLost
from looper.tasks.repair.examine.codec import encode
from looper.tasks.repair.examine.crew import Answer, Crew, finished
from looper.tasks.repair.examine.offer import Offer
from looper.tasks.repair.examine.verdicts import numbers
from looper.tasks.repair.problem import Cases

Evidence = Literal["separate processes", "in process"]
"""How a verdict about model-written code came about; only the first cannot be forged by that code."""
TOLD = ("v", "o", "e", "k", "l", "s", "a")
"""Fields of an answer to a call."""
SHARE = 0.8
"""Share of the time for a candidate after which its calls count as timed out, so that the tests can still report."""
LOADING = 5.0
"""Seconds to start a process and read its code, on top of the candidate's own time, on a busy machine."""


class Candidate:
    """One model-written program behind calls. Everything it says is taken as hostile."""

    def __init__(self, channel: Channel, seconds: float):
        self.channel, self.seconds = channel, seconds
        self.deadline = 0.0
        self.lost = ""

    def load(self, source: str, steps: int, trace: bool) -> str:
        """Why it cannot be called, empty if it can."""
        said = self._asked({"source": source, "steps": steps, "trace": trace}, self.seconds + LOADING)
        self.deadline = time.monotonic() + SHARE * self.seconds
        return "" if said.get("ok") is True else str(said.get("e", "no verdict"))[:300]

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """What it says the call returned or raised."""
        left = self.deadline - time.monotonic()
        if self.lost or left <= 0:
            return {"e": self.lost or "timeout", "k": ["TimeExceeded"]}
        said = self._asked(request, left)
        said["l"] = numbers(said.get("l"))
        return {key: value for key, value in said.items() if key in TOLD}

    def _asked(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            self.channel.send(request, seconds)
            return self.channel.receive(seconds)
        except Late:
            self.lost = "timeout"
            return {"e": "timeout", "k": ["TimeExceeded"]}
        except WorkerLost:
            self.lost = "worker lost"
            return {"e": "worker lost", "k": []}


class Isolated:
    """Examines one untrusted candidate after the other, each in a fresh box."""

    def __init__(self, start: Callable[[str], Worker], spec: dict[str, Any], steps: int):
        self.start, self.spec, self.steps = start, spec, steps
        self.seconds: float = spec["seconds"]

    @contextmanager
    def candidate(self, source: str) -> Iterator[Candidate]:
        channel = Channel(self.start(source), self.spec)
        try:
            yield Candidate(channel, self.seconds)
        finally:
            channel.close()

    def cases(self, source: str, function: str, calls: list[list[Any]]) -> Answer:
        """Outputs by call, for a comparison outside."""
        started = time.monotonic()
        answer = Answer(ended="finished")
        with self.candidate(source) as candidate:
            error = candidate.load(source, self.steps, trace=True)
            if error:
                answer.messages.append({"error": error})
                calls = []
            for number, arguments in enumerate(calls):
                said = candidate.call({"call": function, "args": [encode(value) for value in arguments]})
                answer.messages.append({**said, "i": number})
        answer.seconds = time.monotonic() - started
        return answer

    def tests(self, source: str, crew: Crew, offer: Offer) -> Answer:
        """Verdicts of tests that run in the box of a worker of `crew`, with every call relayed."""
        started = time.monotonic()
        with self.candidate(source) as candidate:
            error = candidate.load(source, self.steps, trace=True)
            if error:
                return Answer([{"error": error}], "finished", time.monotonic() - started)

            def relay(channel: Channel, message: dict[str, Any]) -> None:
                known = message.get("call") in offer.functions
                said = candidate.call(message) if known else {"e": "NameError: no such function", "k": ["NameError"]}
                channel.send(said, self.seconds)

            answer = crew.ask({"steps": self.steps, "proxy": offer.message()}, relay)
        answer.seconds = time.monotonic() - started
        return answer


def cases_calls(tests: Cases) -> list[list[Any]]:
    return [case.args for case in tests.cases]


def server_spec(spec: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The specification of a candidate's own process: no tests, no expected values, not the original program."""
    kept = ("module", "support", "path_first", "path_last", "seconds", "memory_mb")
    return {key: spec[key] for key in kept} | {"role": "server"} | changed


def in_process(channel: Channel, source: str, steps: int, seconds: float) -> tuple[Answer, str]:
    """Tests and candidate in one fresh process, the report marked with a nonce; and that nonce."""
    nonce = secrets.token_hex(16)
    answer = Answer()
    try:
        channel.receive(STARTING)
        channel.send({"source": source, "steps": steps, "trace": True, "nonce": nonce}, seconds)
        answer = finished(channel.receive(seconds + LOADING))
    except (WorkerLost, KeyError, ValueError):  # the candidate shares a process tree with what speaks here
        answer.ended = "lost"
    finally:
        channel.close()
    return answer, nonce
