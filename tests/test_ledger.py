"""spent + reserved never exceeds a cap; what is kept is used by its name alone; every call is charged (SAFETY P8)."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from players import Seating, Spoken, money, play

from looper.budget import SLACK, Amounts, Budget, Ledger, Price, total
from looper.errors import BudgetExceeded
from looper.execution import execute
from looper.journal import Event, Journal
from looper.loops.adaptive import Adaptive
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial, Note
from looper.types import Outcome, Question, Reply

SCHEDULES = 10_000
ACCOUNTS = ("inner", "outer", "tokens")


def within(ledger: Ledger) -> bool:
    """The promise itself, for every account that has a cap."""
    return all(
        ledger.spent.get(account, 0.0) + ledger.promised.get(account, 0.0) <= cap + SLACK
        for account, cap in ledger.caps.items()
    )


def bill(dice: random.Random) -> Amounts:
    return {account: dice.choice((0.05, 0.1, 1.0, 2.0, 3.0)) for account in dice.sample(ACCOUNTS, dice.randint(1, 2))}


def worker(ledger: Ledger, dice: random.Random) -> Iterator[None]:
    """One logical thread: it may be put aside between any two calls on the ledger."""
    for _ in range(dice.randint(1, 5)):
        worst = bill(dice)
        name = dice.choice(("step", "close"))
        if dice.random() < 0.15:
            ledger.refill("inner")
        try:
            hold = ledger.reserve(name, worst)
        except BudgetExceeded:
            yield
            continue
        yield
        ledger.settle(hold, {account: amount * dice.choice((0.0, 0.5, 1.0)) for account, amount in worst.items()})
        yield


def interleave(seed: int) -> tuple[Ledger, bool]:
    """One schedule over up to five logical threads; whether the promise held after every single step of it."""
    dice = random.Random(seed)
    ledger = Ledger(Budget(inner=4.0, outer=5.0, tokens=6.0))
    if dice.random() < 0.7:
        ledger.keep("close", {"outer": 2.0})
    threads = [worker(ledger, random.Random(f"{seed}/{i}")) for i in range(dice.randint(2, 5))]
    held = True
    while threads:
        chosen = dice.choice(threads)
        if next(chosen, chosen) is chosen:
            threads.remove(chosen)
        held = held and within(ledger)
    return ledger, held


def test_no_interleaving_exceeds_a_cap() -> None:
    broken = []
    for seed in range(SCHEDULES):
        ledger, held = interleave(seed)
        if not held or ledger.promised:
            broken.append(seed)
    assert broken == []


def test_real_threads_do_not_exceed_a_cap_either() -> None:
    ledger = Ledger(Budget(inner=None, outer=50.0))
    most, failures = [0.0], []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(400):
            try:
                hold = ledger.reserve("step", {"outer": dice.choice((0.25, 0.5, 1.0))})
            except BudgetExceeded:
                continue
            if not within(ledger):
                failures.append(seed)
            most[0] = max(most[0], sum(ledger.promised.values()))
            ledger.settle(hold, {"outer": hold["outer"] * dice.choice((0.0, 0.0, 0.1))})

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert within(ledger)
    assert ledger.promised == {}


amounts = st.dictionaries(st.sampled_from(ACCOUNTS), st.floats(0, 5, allow_nan=False), max_size=3)
moves = st.lists(
    st.tuples(
        st.sampled_from(("reserve", "settle", "keep", "release", "refill")), st.sampled_from(("a", "b")), amounts
    ),
    max_size=25,
)


@settings(max_examples=300, deadline=None)
@given(moves)
def test_any_sequence_keeps_to_the_caps(sequence: list[tuple[str, str, Amounts]]) -> None:
    ledger, holds = Ledger(Budget(inner=6.0, outer=6.0, tokens=6.0)), []
    for move, name, worst in sequence:
        try:
            if move == "reserve":
                holds.append(ledger.reserve(name, worst))
            elif move == "settle" and holds:
                hold = holds.pop()
                ledger.settle(hold, {account: min(amount, worst.get(account, 0.0)) for account, amount in hold.items()})
            elif move == "keep":
                ledger.keep(name, worst)
            elif move == "release":
                ledger.release(name)
            elif move == "refill":
                ledger.refill("inner")
        except BudgetExceeded:
            pass  # refused is fine: the promise is about what is not
        assert within(ledger)
        assert total([ledger.spent, ledger.promised, *ledger.kept.values()]).get("outer", 0.0) <= 6.0 + SLACK


def test_what_is_kept_is_used_by_its_name_alone() -> None:
    ledger = Ledger(Budget(outer=4.0))
    ledger.keep("evaluate", {"outer": 2.0})
    ledger.settle(ledger.reserve("plan", {"outer": 2.0}), {"outer": 2.0})
    with pytest.raises(
        BudgetExceeded, match=r"replan costs 2 outer, but 0 of 4 are left; give more with budget\.outer="
    ):
        ledger.reserve("replan", {"outer": 2.0})
    assert not ledger.affords({"outer": 2.0})
    assert ledger.affords({"outer": 2.0}, using=("evaluate",))
    ledger.settle(ledger.reserve("evaluate", {"outer": 2.0}), {"outer": 2.0})
    assert ledger.spent == {"outer": 4.0}


def test_nothing_is_kept_that_is_not_there() -> None:
    ledger = Ledger(Budget(outer=1.0))
    with pytest.raises(BudgetExceeded):
        ledger.keep("evaluate", {"outer": 2.0})
    assert ledger.kept == {}


def test_a_refill_starts_one_account_afresh_and_forgets_nothing() -> None:
    ledger = Ledger(Budget(inner=1.0, outer=3.0))
    ledger.settle(ledger.reserve("a", {"inner": 1.0, "outer": 1.0}), {"inner": 1.0, "outer": 1.0})
    assert not ledger.affords({"inner": 0.5})
    ledger.refill("inner")
    assert (ledger.left("inner"), ledger.left("outer")) == (1.0, 2.0)
    assert ledger.overall() == {"inner": 1.0, "outer": 1.0}


def test_what_a_resumed_run_owes_cannot_be_spent_by_a_faster_branch() -> None:
    """Two branches replay; the one that is live first must not use what the other spent before the kill."""
    ledger = Ledger(Budget(outer=4.0))
    ledger.owe({"outer": 3.0})
    with pytest.raises(BudgetExceeded):
        ledger.reserve("live", {"outer": 2.0})
    ledger.charge({"outer": 3.0})
    assert (ledger.spent, ledger.owed) == ({"outer": 3.0}, {})
    assert ledger.left("outer") == 1.0


# every call is charged and labelled


def labels(journal: Journal, key: str) -> list[str]:
    return [call.label for call in journal.steps[key].calls]


def test_retries_and_repairs_are_charged_and_labelled() -> None:
    agent, journal = Spoken(bad=2), Journal()
    ledger = Ledger(money(outer=20.0))
    stage = Stage(Dial(), Seating(agent, ["planner"]), journal, ledger)
    assert execute(Adaptive(), Run(stage)).status == "completed"
    assert labels(journal, "plan.1") == ["answer", "repair", "repair"]
    assert journal.steps["plan.1"].cost == {"outer": 6.0, "calls": 3.0, "tokens": 30.0, "usd": pytest.approx(0.03)}
    assert ledger.spent["outer"] == 12.0  # plan and evaluate, three calls each
    assert ledger.promised == {}


def test_an_answer_that_never_came_is_charged_for_every_try() -> None:
    journal = Journal()
    cast = Seating(Spoken(bad=2, give_up=True), ["planner"])
    outcome = play(Adaptive(), Dial(), journal, cast=cast, budget=money(outer=20.0))
    step = journal.steps["plan.1"]
    assert (outcome.status, outcome.reason, step.event) == ("failed", "phase_error", "phase_error")
    assert labels(journal, "plan.1") == ["answer", "repair"]
    assert (step.cost["outer"], step.cost["calls"]) == (4.0, 2.0)


def test_tries_before_a_refusal_are_charged_too() -> None:
    """The second attempt cannot be paid: the first one stays in the ledger, live and replayed."""
    journal, cast = Journal(), Seating(Spoken(bad=1), ["planner"])
    budget = money(outer=5.0)
    first = play(Adaptive(), Dial(), journal, cast=cast, budget=budget)
    step = journal.steps["plan.1"]
    assert (first.status, first.reason, step.event) == ("stopped", "budget_exhausted", "budget_refused")
    assert (step.cost["outer"], [call.ended for call in step.calls]) == (2.0, ["unparsable"])
    ledger = Ledger(budget)
    again = execute(Adaptive(), Run(Stage(Dial(), cast, journal, ledger)))
    assert again == first
    assert ledger.spent["outer"] == 2.0


class Counting:
    """An agent that is not metered: its step has one price."""

    kind = "simulated"

    def answer(self, question: Question) -> Reply:
        return Reply(value=Note(text="x"))


def test_a_step_that_fails_in_the_world_gives_its_promise_back() -> None:
    ledger = Ledger(Budget(inner=1.0, prices={"probe": Price(inner=0.5)}))
    run = Run(Stage(Dial(), Seating(Counting(), ["a"]), Journal(), ledger))

    def burst() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run.do("probe", burst)
    assert (ledger.promised, ledger.spent) == ({}, {})


@pytest.mark.parametrize("limit", ["hard", "wrap_up", "ask"])
def test_the_caps_hold_in_every_event_of_a_run(tmp_path: Path, limit: str) -> None:
    """Spent as the journal tells it, event by event, refills aside."""
    journal = Journal(tmp_path / "h.jsonl", sync=False)
    cast = Seating(Spoken(bad=1), ["planner"])
    play(Adaptive(), Dial(low=90, high=91), journal, cast=cast, budget=money(inner=1.0, outer=9.0, on_limit=limit))
    spent = total(event.cost for event in journal if event.key and event.event != "call_done")
    assert spent["outer"] <= 9.0
    assert spent["inner"] <= 1.0
    journal.close()


def test_replayed_steps_use_up_what_was_kept_for_them() -> None:
    """A resumed run must not hold back for a step that it has paid already."""
    budget = Budget(outer=4.0, prices={"evaluate": Price(outer=2.0), "more": Price(outer=2.0)})

    class Design:
        name, events = "design", {}

        def run(self, task: Any, run: Run) -> Outcome:
            run.keep("evaluate")
            run.do("evaluate", number)
            return run.outcome("stopped", "yes" if run.ledger.affords({"outer": 2.0}) else "no")

    journal = Journal()
    journal_events = [play(Design(), Dial(), journal, budget=budget).reason for _ in range(2)]
    assert journal_events == ["yes", "yes"]


def number() -> int:
    return 1


def test_lost_calls_of_two_branches_are_both_owed_before_either_goes_on(tmp_path: Path) -> None:
    """Both were in flight when the process died: neither branch may spend what the other's lost call took."""
    journal = Journal(tmp_path / "h.jsonl", sync=False)
    for name in ("a", "b"):
        key = f"parallel.1/{name}/planner.1"
        worst = {"outer": 2.0, "calls": 1.0, "tokens": 25.0}
        payload = {"attempt": 1, "label": "answer", "worst": worst}
        journal.append(Event(event="call_started", step="plan", key=key, status="started", payload=payload))
    seen: list[float] = []

    class Design:
        name, events = "design", {}

        def run(self, task: Any, run: Run) -> Outcome:
            turn = threading.Event()

            def first(part: Run) -> Any:
                try:
                    return part.ask("planner", Note, step="planner")
                finally:
                    turn.set()

            def second(part: Run) -> Any:
                turn.wait(5)
                return part.ask("planner", Note, step="planner")

            try:
                run.parallel(a=first, b=second)
            except BudgetExceeded:
                return run.outcome("stopped", "budget_exhausted")
            finally:
                seen.append(run.ledger.spent["outer"] + run.ledger.owed.get("outer", 0.0))
            return run.outcome("completed", "stable")

    class Talker(Spoken):
        def answer(self, question: Question) -> Reply:
            self._attempt(question, "answer", "ok")
            return Reply(value=Note(text="x"))

    budget = Budget(outer=5.0, prices={"planner": Price(outer=2.0)})
    play(Design(), Dial(), journal, cast=Seating(Talker(), ["planner"]), budget=budget)
    assert seen == [4.0]
    journal.close()
