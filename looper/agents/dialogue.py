"""One question put to a model until it is answered: retries, repairs, waits, and what each attempt cost.

answer -> ok
       -> transport fault -> wait -> retry
       -> no answer in it -> repair (the reply goes back with the reason)
       -> context too long -> shorten
       -> given up: InvalidAnswer, Paused or BudgetExceeded, by name
"""

import json
import random
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from looper.agents import prices
from looper.agents.faults import MAYBE_BILLED, PAUSES, REPAIRS, RETRIED_ONCE, RETRIES, Fault
from looper.agents.parse import Unparsable, answer
from looper.agents.prompt import Messages, chosen, clean, longest, plain, render, schema_of
from looper.errors import BudgetExceeded, Interruption, InvalidAnswer, Paused
from looper.redact import redact
from looper.types import Call, Question, Reply

if TYPE_CHECKING:
    from looper.agents.model import Heard, Model

ECHO = 20_000
"""Characters of a bad reply that are sent back with its complaint."""


class Dialogue:
    """The state of one answer."""

    def __init__(self, model: "Model", question: Question):
        self.model, self.question = model, question
        self.native = model.native()
        self.schema = json.dumps(schema_of(question.returns)) if self.native else ""
        self.messages, self.extra = self._rendered(None), Messages()
        self.calls: list[Call] = []
        self.tried: dict[str, int] = {}
        self.value: Any = None
        self.said = ""
        self.waited = 0.0
        left = question.seconds_left
        self.end = None if left is None else time.monotonic() + left

    def run(self) -> Reply:
        label = "answer"
        while True:
            fault = self._attempt(label)
            if fault is None:
                return self._reply()
            label = self._next(fault)

    def _reply(self) -> Reply:
        by = f"model:{self.model.name}"
        return Reply(value=self.value, calls=self.calls, said=self.said, waited=self.waited, by=by)

    def _attempt(self, label: str) -> Fault | None:
        """One call, reserved before and settled after, whatever comes of it."""
        messages, seconds = self.messages + self.extra, self._seconds()
        worst = self.model.worst_case(messages, self.schema)
        attempt = self.question.attempt
        with nullcontext() if attempt is None else attempt(label, worst) as paid:
            heard = self.model.hear(messages, self.question.returns, seconds)
            fault = heard.fault or self._read(heard)
            self.calls.append(self._call(label, messages, heard, fault))
            if paid is not None:
                paid.settle(self.calls[-1])
        return fault

    def _read(self, heard: "Heard") -> Fault | None:
        self.said = redact(clean(heard.words.text))
        try:
            self.value = answer(replace(heard.words, text=self.said), self.question.returns)
        except Unparsable as error:
            return Fault(error.ended, redact(str(error)))
        return None

    def _call(self, label: str, messages: Messages, heard: "Heard", fault: Fault | None) -> Call:
        """What the attempt cost: as reported if believable, else estimated from its length and marked."""
        texts = [*(m["content"] for m in messages), self.schema]
        call = Call(label=label, ended=fault.ended if fault else "ok", seconds=heard.seconds)
        if heard.fault:
            if heard.fault.ended not in MAYBE_BILLED:
                return call
            return self._priced(call, prices.guess(texts), 0, estimated=True)
        given = prices.believable(heard.tokens_in, prices.bound_in(texts), some=True)
        taken = prices.believable(heard.tokens_out, self.model.max_tokens, some=bool(heard.words.text))
        guessed = min(prices.guess([heard.words.text]), self.model.max_tokens)
        return self._priced(
            call,
            prices.guess(texts) if given is None else given,
            guessed if taken is None else taken,
            estimated=given is None or taken is None,
        )

    def _priced(self, call: Call, tokens_in: int, tokens_out: int, *, estimated: bool) -> Call:
        usd = self.model.tariff().usd(tokens_in, tokens_out)
        paid = {"tokens_in": tokens_in, "tokens_out": tokens_out, "usd": usd, "estimated": estimated}
        return call.model_copy(update=paid)

    def _next(self, fault: Fault) -> str:
        """What to do about `fault`: the label of the next attempt, or the exception that ends the answer."""
        ended = fault.ended
        self.tried[ended] = self.tried.get(ended, 0) + 1
        if ended in PAUSES:
            raise self._given_up(Paused, fault, ended)
        if ended == "timeout" and self._out_of_time():
            raise self._given_up(BudgetExceeded, fault, "time_limit")
        if ended == "rate_limited" or ended in RETRIES | RETRIED_ONCE:
            return self._retry(fault)
        if ended in REPAIRS and self._count("repair") < self.model.repairs:
            return self._repair(fault)
        if ended == "context_too_long" and self._count("shorten") == 0:
            return self._shorten()
        raise self._given_up(InvalidAnswer, fault, "phase_error")

    def _retry(self, fault: Fault) -> str:
        most = 1 if fault.ended in RETRIED_ONCE else self.model.retries
        spent = self._count("retry") >= self.model.retries or self.tried[fault.ended] > most
        wait, told = self._wait(fault), fault.retry_after is not None
        if (spent and fault.ended == "rate_limited") or (not spent and wait > self.model.max_wait):
            raise self._given_up(Paused, fault, "rate_limited", retry_after=fault.retry_after)
        if spent:
            raise self._given_up(InvalidAnswer, fault, "phase_error")
        self._sleep(wait, told)
        return "retry"

    def _sleep(self, wait: float, told: bool) -> None:
        """Waiting as a server said is not working time; our own waiting is."""
        if told:
            self.waited += wait
            self.end = None if self.end is None else self.end + wait
        elif self.end is not None:
            wait = max(0.0, min(wait, self.end - time.monotonic()))
        time.sleep(wait)

    def _wait(self, fault: Fault) -> float:
        """Seconds before the next attempt: as told, else doubling; jitter keeps many runs apart."""
        if fault.retry_after is not None:
            return fault.retry_after + random.uniform(0, min(1.0, 0.1 * fault.retry_after))
        doubled = self.model.backoff * 2.0 ** self._count("retry")
        return min(doubled, self.model.max_wait) * random.uniform(0.5, 1.0)

    def _repair(self, fault: Fault) -> str:
        """The reply goes back once with what is wrong with it."""
        words = self.said.strip()[:ECHO]
        complaint = f"{fault.detail}\nGive the answer again, in the form that was asked for and nothing else."
        said = [{"role": "assistant", "content": words}] if words else []
        self.extra = [*said, {"role": "user", "content": complaint}]
        return "repair"

    def _shorten(self) -> str:
        """Renders anew with the longest texts cut until the prompt is half as long."""
        self.extra = []
        size = sum(len(m["content"]) for m in self.messages)
        limit = longest(plain(self.question))
        while limit > 200 and sum(len(m["content"]) for m in self.messages) > size / 2:
            limit //= 2
            self.messages = self._rendered(limit)
        return "shorten"

    def _rendered(self, limit: int | None) -> Messages:
        system, prompt = chosen(self.question, self.model.system, self.model.prompt, self.model.prompts)
        return render(self.question, system, prompt, form=not self.native, limit=limit)

    def _count(self, label: str) -> int:
        return sum(call.label == label for call in self.calls)

    def _seconds(self) -> float:
        """For the next call: its own deadline, or less if the run has less left."""
        if self._out_of_time():
            raise self._given_up(BudgetExceeded, Fault("time_limit", "the run's time is up"), "time_limit")
        return self.model.deadline if self.end is None else min(self.model.deadline, self.end - time.monotonic())

    def _out_of_time(self, wait: float = 0.0) -> bool:
        return self.end is not None and time.monotonic() + wait >= self.end

    def _given_up(self, kind: type[Interruption], fault: Fault, reason: str, **facts: Any) -> Interruption:
        """The exception that ends the answer, with the calls it took."""
        asked = f"{self.question.key}: {self.model.name} gave no answer to the {self.question.role}"
        tries = f"{len(self.calls)} call{'s' if len(self.calls) != 1 else ''}"
        said = f": {fault.detail}" if fault.detail else ""
        advice = _ADVICE.get(fault.ended, "")
        text = redact(f"{asked} after {tries} ({fault.ended}){said}.{advice}")
        return kind(text, reason, calls=self.calls, ended=fault.ended, **facts)


_ADVICE = {
    "insufficient_quota": " Add credit at the provider, then resume.",
    "auth": " Check the key in the environment variable (model.key_env), then resume.",
    "forbidden": " The key may not use this model: change key or model, then resume.",
    "rate_limited": " Resume later, or raise model.max_wait.",
    "truncated": " Raise model.max_tokens.",
    "timeout": " Raise model.deadline or check the server.",
    "unreachable": " Check model.base_url and the network.",
}
