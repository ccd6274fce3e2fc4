"""One execution of one loop on one task: the only door between a design and the world.

Every question (`ask`) and every effect (`do`) is a step: a structural key, a fingerprint of its inputs, a recorded
value. A step that the journal holds is not repeated: its value is returned and its cost is charged. Resuming is
running again.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from looper.budget import Amounts, Ledger, metered, total
from looper.criteria import Evaluation
from looper.decoding import adapter, returns_of
from looper.errors import BudgetExceeded, Interruption, PhaseError, ReplayMismatch
from looper.journal import Event, fingerprint
from looper.meter import Meter
from looper.stage import Best, Stage
from looper.types import Agent, Outcome, Question, Reply, Usage

KEPT_PROMPT = 16_000
"""Bytes of prompt, each counted as a token, for which a closing model call is kept from the start."""
T = TypeVar("T")
Answer = TypeVar("Answer", bound=BaseModel)


class Run:
    """Asks roles, does things, and remembers the answers."""

    def __init__(self, stage: Stage, path: str = ""):
        self.stage, self.path = stage, path
        self._seen: dict[str, int] = {}

    @property
    def task(self) -> Any:
        return self.stage.task

    @property
    def ledger(self) -> Ledger:
        return self.stage.ledger

    @property
    def brief(self) -> dict[str, Any]:
        return self.stage.brief

    @property
    def best(self) -> Best | None:
        return self.stage.best

    # What a design can do

    def ask(self, role: str, returns: type[Answer], /, step: str = "", **context: Any) -> Answer:
        """Put a question to whoever holds the role; `step` names the kind of question where a role has several.

        Raises BudgetExceeded if it cannot be paid, InvalidAnswer if none is valid, Paused if it is waited for.
        """
        name = step or role
        agent = self.stage.cast.agent(role, name, self.task)
        kind = getattr(agent, "kind", "model")
        price = self.ledger.budget.price(name, by_policy=kind == "policy")

        def answer(key: str) -> tuple[Reply, Amounts]:
            question = Question(
                role=role, step=name, key=key, context=context, returns=returns, task=self.task,
                seed=self.stage.seed, seconds_left=self.ledger.seconds_left(),
            )  # fmt: skip
            if getattr(agent, "metered", False):
                return self._metered(agent, question, price)
            with self._paying(name, price):
                return agent.answer(question), price

        return self._step(name, returns, {"role": role, **context}, answer, by=kind)

    def do(self, name: str, fn: Callable[..., T], *args: Any, quantity: float = 1.0) -> T:
        """Measure or change the world once. Killed before it is recorded, it is done again.

        `quantity` multiplies the step's price, where one step does several priced things. A value with `waited` says
        how many seconds of it a server told us to wait: they are not working time.
        """
        price = self.ledger.budget.price(name, quantity=quantity)

        def act(_key: str) -> tuple[Reply, Amounts]:
            with self._paying(name, price):
                value = fn(*args)
                return Reply(value=value, waited=getattr(value, "waited", 0.0)), price

        return self._step(name, returns_of(fn), args, act)

    def parallel(self, **branches: "Callable[[Run], Any]") -> tuple[Any, ...]:
        """Run branches side by side, each recorded under its own name."""
        group = self._next("parallel")
        runs = [Run(self.stage, f"{self.path}{group}/{name}/") for name in branches]
        if len(runs) == 1:
            return tuple(branch(run) for branch, run in zip(branches.values(), runs, strict=True))
        with ThreadPoolExecutor(max(1, len(branches))) as pool:
            begun = [pool.submit(branch, run) for branch, run in zip(branches.values(), runs, strict=True)]
            wait(begun)  # `map` would cancel the branches that had not started when an early one failed
        return tuple(branch.result() for branch in begun)

    def each(self, names: Iterable[str], fn: "Callable[[Run, str], T]") -> dict[str, T]:
        """Do the same for each of several names, side by side."""
        names = list(names)
        branches = {name: lambda run, name=name: fn(run, name) for name in names}
        return dict(zip(names, self.parallel(**branches), strict=True))

    def scope(self, name: str) -> "Run":
        """A part of this run, such as an inner loop or an iteration, recorded under its own name."""
        child = self._next(name)
        if name == "iteration":
            self.stage.iteration = self.stage.before + self._seen[name]
        return Run(self.stage, f"{self.path}{child}/")

    def phase(self, name: str) -> None:
        """Name the phase that the steps to come belong to."""
        self.stage.phase = name

    def affords(self, *names: str, quantity: float = 1.0) -> bool:
        """Whether these steps could be paid together. The answer is journalled, so a resumed run decides alike.

        Without names: whether there is time left. Raises BudgetExceeded in place of no where `on_limit` is `ask`.
        """

        def decide() -> bool:
            bills = [self.ledger.budget.price(name, quantity=quantity) for name in names]
            seconds = self.ledger.seconds_left()
            timely = seconds is None or seconds > 0
            short = self.ledger.short(*bills, using=names)
            if self.ledger.budget.on_limit == "ask" and (short or not timely):
                account = short or "seconds"
                raise BudgetExceeded(f"{' and '.join(names)}: not enough {account} are left.", account=account)
            return timely and not short

        return self._step("affords", bool, names, lambda _key: (Reply(value=decide()), {}), lazy=True)

    def keep(self, name: str, role: str = "") -> None:
        """Set aside what this step will cost, because it closes the run (SPEC 0.5).

        With a `role` that a model fills, the worst case of one call is kept too, for a prompt of KEPT_PROMPT bytes.
        """
        agent = self.stage.cast.agent(role, name, self.task) if role else None
        worst: Usage | None = None
        if self._metered_and_capped(agent):
            bound: Any = agent
            worst = bound.worst_case([{"role": "user", "content": " " * KEPT_PROMPT}]).model_copy(update={"calls": 1})
        price = self.ledger.budget.price(name, by_policy=getattr(agent, "kind", "model") == "policy")
        self.ledger.keep(name, total((price, metered(worst or Usage()))))

    def _metered_and_capped(self, agent: Any) -> bool:
        """Whether a call of this agent weighs on a cap; only then is its price asked for."""
        return bool(getattr(agent, "metered", False) and {"usd", "tokens", "calls"} & self.ledger.caps.keys())

    def note(self, event: str, /, **payload: Any) -> dict[str, Any]:
        """Record that something happened, once, whatever is resumed; returns what is on record."""
        return self._step(event, dict[str, Any], (), lambda _key: (Reply(value=payload), {}), lazy=True, event=event)

    def consider(self, artifact: str, evaluation: Evaluation, *, final: bool = False) -> None:
        """Remember an evaluated state if it is the best so far.

        A tie is decided for the earlier one, but for this one if it is `final` or the task says `later_on_ties`.
        """
        best = self.stage.best
        later = final or getattr(self.task, "later_on_ties", False)
        tie = best is not None and not best.evaluation.better_than(evaluation)
        if evaluation.better_than(best.evaluation if best else None) or (later and tie):
            self.stage.best = Best(artifact, evaluation)
        if self.stage.hidden_on_all:
            self.stage.looks.setdefault(artifact, self.ledger.overall())

    def outcome(self, status: Any, reason: str, **facts: Any) -> Outcome:
        """An outcome with the best state so far and the score that belongs to it."""
        best = self.stage.best
        return Outcome(
            status=status,
            reason=reason,
            artifact=best.artifact if best else None,
            score=best.evaluation.score if best else None,
            passed=bool(best and best.evaluation.passed),
            facts=facts,
        )

    # How a step is taken

    def _next(self, name: str) -> str:
        self._seen[name] = self._seen.get(name, 0) + 1
        return f"{name}.{self._seen[name]}"

    def _step(
        self,
        name: str,
        returns: Any,
        inputs: Any,
        act: Callable[[str], tuple[Reply, Amounts]],
        by: str = "",
        lazy: bool = False,
        event: str = "",
    ) -> Any:
        key = self.path + self._next(name)
        given = fingerprint(inputs)
        record = self.stage.journal.find(key, given)
        if record is not None:
            self._replay(record)
        else:
            draft = Event(
                event=event or self.stage.events.get(name, "step_done"), step=name, key=key, inputs=given, by=by,
                iteration=self.stage.iteration, phase=self.stage.phase,
            )  # fmt: skip
            record = self._live(draft, returns, act, lazy)
        try:
            return adapter(returns).validate_python(self.stage.journal.payload(record))
        except ValidationError as error:
            raise ReplayMismatch(
                f"{key}: what the journal holds is no {name} of this version of looper; use the version that wrote it, "
                "or start a new run."
            ) from error

    def _replay(self, record: Event) -> None:
        unpaid = record.event == "budget_refused" and not record.calls
        self.ledger.charge(record.cost, "" if unpaid else record.step)
        if record.event in ("phase_error", "budget_refused"):
            kind = PhaseError if record.event == "phase_error" else BudgetExceeded
            end = self.stage.journal.payload(record)
            raise kind(end["message"], end["reason"], **end["facts"])

    def _live(self, draft: Event, returns: Any, act: Callable[..., tuple[Reply, Amounts]], lazy: bool) -> Event:
        self.stage.check()
        began = time.monotonic()
        try:
            self._in_time(draft.step)
            reply, cost = act(draft.key)
        except (PhaseError, BudgetExceeded) as end:
            self._refused(draft, end, time.monotonic() - began)
            raise
        self.ledger.wait(reply.waited)
        done = draft.model_copy(
            update={
                "payload": adapter(returns).dump_python(reply.value, mode="json"),
                "cost": cost, "calls": reply.calls, "said": reply.said, "by": reply.by or draft.by,
                "seconds": round(time.monotonic() - began, 6), "elapsed": round(self.ledger.segment(), 3),
            }
        )  # fmt: skip
        return self.stage.journal.append(done, lazy=lazy)

    def _in_time(self, name: str) -> None:
        left = self.ledger.seconds_left()
        closes = self.stage.closing or name in ("affords", "holdout", "deliver", *self.ledger.kept)
        if left is not None and left <= 0 and not closes:
            used = f"{name}: the {self.ledger.budget.seconds:g} seconds of the run are used up"
            raise BudgetExceeded(used, "time_limit")

    def _refused(self, draft: Event, end: Interruption, seconds: float) -> None:
        """Record why a step did not happen, so that a resumed run turns the same way."""
        if isinstance(end, BudgetExceeded) and self.ledger.budget.on_limit == "ask":
            return
        update = {
            "event": "budget_refused" if isinstance(end, BudgetExceeded) else "phase_error", "status": "error",
            "cost": end.facts.pop("cost", {}), "calls": end.facts.pop("calls", []), "seconds": round(seconds, 6),
            "payload": {"message": str(end), "reason": end.reason, "facts": end.facts},
        }  # fmt: skip
        self.stage.journal.append(draft.model_copy(update=update))

    @contextmanager
    def _paying(self, name: str, price: Amounts) -> Iterator[None]:
        hold = self.ledger.reserve(name, price)
        try:
            yield
        except BaseException:
            self.ledger.settle(hold, {})
            raise
        self.ledger.settle(hold, price)

    def _metered(self, agent: Agent, question: Question, price: Amounts) -> tuple[Reply, Amounts]:
        meter = Meter(self.stage, question.step, question.key, price)
        meter.recover()
        question.attempt = meter.attempt
        try:
            reply = agent.answer(question)
        except (PhaseError, BudgetExceeded) as end:
            end.facts.update(cost=meter.cost, calls=meter.calls)
            raise
        return reply.model_copy(update={"calls": meter.calls}), meter.cost
