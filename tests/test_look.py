"""How designs read a state: probes that measure, probes that somebody is asked for, and what the state keeps of it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel
from search_runs import Saying, Seats, budget

from looper.budget import Budget, Ledger, Price
from looper.errors import BudgetExceeded
from looper.journal import Journal
from looper.loops.look import look, steps
from looper.run import Run
from looper.stage import Stage
from looper.types import Signal


class Pile(BaseModel):
    """A state."""

    height: int = 3
    notes: list[str] = []


class Opinion(BaseModel):
    """An answer."""

    fine: bool


class Height:
    name = "height"

    def test(self, state: Pile) -> Signal:
        return Signal(name=self.name, passed=state.height > 2, value=state.height, reason="measured")


class Tall:
    """A probe for high piles only."""

    name = "tall"

    def applies(self, state: Pile) -> bool:
        return state.height > 5

    def test(self, state: Pile) -> Signal:
        return Signal(name=self.name, passed=True, value=1.0)


@dataclass
class Asked:
    """A probe that a judge answers."""

    name: str = "looks"
    silent: bool = False
    role: ClassVar[str] = "judge"
    step: ClassVar[str] = "opinion"
    returns: ClassVar[type[BaseModel]] = Opinion

    def question(self, state: Pile) -> dict[str, Any] | None:
        return None if self.silent else {"pile": state.height, "which": self.name}

    def reading(self, state: Pile, answer: Opinion | None) -> Signal:
        fine = answer is not None and answer.fine
        reason = "nothing to ask" if answer is None else "asked"
        return Signal(name=self.name, passed=fine, value=float(fine), reason=reason)


@dataclass
class Piling:
    """As much of a task as looking needs."""

    readers: list[Any] = field(default_factory=lambda: [Height(), Asked()])

    def probes(self) -> list[Any]:
        return self.readers


class Keeping(Piling):
    """A task whose states keep what probes found."""

    def absorb(self, state: Pile, signals: list[Signal]) -> Pile:
        return state.model_copy(update={"notes": [f"{s.name}={s.value:g}" for s in signals]})


def spending(**caps: float) -> Budget:
    prices = {"probe": Price(inner=0.05), "opinion": Price(inner=0.05, outer=1.0, policy=Price(inner=0.05))}
    return Budget(**{**budget(**caps).__dict__, "prices": prices})


def stage(task: Any, judge: Saying, journal: Journal | None = None, money: Budget | None = None) -> Run:
    money = money or spending()
    made = Stage(task, Seats({"judge": judge}), journal or Journal(), Ledger(money), brief={"need": "a pile"})
    return Run(made)


def judge(*verdicts: bool) -> Saying:
    return Saying({"opinion": [{"fine": verdict} for verdict in verdicts]})


def test_signals_come_in_the_order_of_the_probes() -> None:
    task = Piling([Asked("a"), Height(), Asked("b")])
    _, signals = look(task, stage(task, judge(True)), Pile())  # pyright: ignore[reportArgumentType]
    assert [(signal.name, signal.reason) for signal in signals] == [
        ("a", "asked"), ("height", "measured"), ("b", "asked"),
    ]  # fmt: skip


def test_whoever_is_asked_sees_the_brief_and_the_question_and_nothing_else() -> None:
    task, seat = Piling(), judge(True)
    look(task, stage(task, seat), Pile())  # pyright: ignore[reportArgumentType]
    [question] = seat.asked
    assert (question.role, question.step, question.returns) == ("judge", "opinion", Opinion)
    assert question.context == {"need": "a pile", "pile": 3, "which": "looks"}


@pytest.mark.parametrize("fine", [True, False])
def test_the_answer_becomes_the_signal(fine: bool) -> None:
    task = Piling()
    _, signals = look(task, stage(task, judge(fine)), Pile())  # pyright: ignore[reportArgumentType]
    assert [signal.passed for signal in signals] == [True, fine]


def test_where_there_is_nothing_to_ask_nobody_is_asked_and_nothing_is_paid() -> None:
    task, seat = Piling([Asked(silent=True)]), judge(True)
    run = stage(task, seat)
    _, signals = look(task, run, Pile())  # pyright: ignore[reportArgumentType]
    assert (signals, seat.asked, run.ledger.spent.get("inner", 0.0)) == ([], [], 0.0)


@pytest.mark.parametrize(("height", "names"), [(3, ["height"]), (9, ["height", "tall"])])
def test_a_probe_that_has_nothing_to_read_is_passed_over_and_costs_nothing(height: int, names: list[str]) -> None:
    task = Piling([Height(), Tall()])
    run = stage(task, judge())
    _, signals = look(task, run, Pile(height=height))  # pyright: ignore[reportArgumentType]
    assert [signal.name for signal in signals] == names
    assert run.ledger.spent["inner"] == pytest.approx(0.05 * len(names))


def test_the_state_keeps_what_was_found_where_the_task_wants_it() -> None:
    keeping, plain = Keeping(), Piling()
    kept, _ = look(keeping, stage(keeping, judge(True)), Pile())  # pyright: ignore[reportArgumentType]
    same, _ = look(plain, stage(plain, judge(True)), Pile())  # pyright: ignore[reportArgumentType]
    assert (kept.notes, same.notes) == (["height=3", "looks=1"], [])


def test_each_probe_is_paid_by_its_step() -> None:
    task = Piling([Height(), Asked("a"), Asked("b")])
    run = stage(task, judge(True))
    look(task, run, Pile())  # pyright: ignore[reportArgumentType]
    assert steps(task, Pile()) == ["probe", "opinion", "opinion"]  # pyright: ignore[reportArgumentType]
    assert run.ledger.spent["inner"] == pytest.approx(0.15)


def test_a_probe_that_cannot_be_paid_is_refused_by_name() -> None:
    task = Piling([Height(), Height()])
    task.readers[1].name = "again"
    with pytest.raises(BudgetExceeded):
        look(task, stage(task, judge(), money=spending(inner=0.07)), Pile())  # pyright: ignore[reportArgumentType]


def test_what_was_read_and_asked_is_not_read_and_asked_again() -> None:
    task, journal, seat = Keeping(), Journal(), judge(True, False)
    first = look(task, stage(task, seat, journal), Pile())  # pyright: ignore[reportArgumentType]
    length = len(journal.events)
    second = look(task, stage(task, seat, journal), Pile())  # pyright: ignore[reportArgumentType]
    assert second == first
    assert (len(seat.asked), len(journal.events)) == (1, length)
