"""One execution of a loop: keys, replay, best so far, limits, statuses, holdout (SPEC 0.2 to 0.6)."""

import random
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from players import (
    CANARY,
    DESIGNS,
    HiddenDial,
    Seating,
    Slope,
    Spoken,
    Truth,
    TwoPlanDial,
    money,
    parts,
    play,
    quick_disk,
    story,
)  # fmt: skip
from pydantic import BaseModel

from looper.budget import Budget, Ledger, Price
from looper.criteria import Evaluation
from looper.errors import Aborted, ConfigError, Paused, PhaseError, ReplayMismatch, StopRequested
from looper.execution import execute
from looper.folder import Folder
from looper.journal import Journal, read
from looper.launch import launch
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial, Note, Setting
from looper.types import Outcome, Question, Reply


class Point(BaseModel):
    """A value with things JSON has no word for."""

    pair: tuple[int, float]
    words: str = "é\u2028"


def bare(journal: Journal, budget: Budget | None = None, cast: Any = None) -> Run:
    return Run(Stage(Dial(), cast or Seating(), journal, Ledger(budget or Budget())))


# keys


def test_branches_record_the_same_keys_whatever_thread_is_first() -> None:
    def branch(run: Run, name: str, waits: dict[str, threading.Event]) -> list[int]:
        waits[name].wait(5)
        found = [run.do("look", number) for _ in range(2)]
        for other in waits.values():
            other.set()
        return found

    stories = []
    for first in ("a", "b", "c"):
        journal = Journal()
        waits = {name: threading.Event() for name in ("a", "b", "c")}
        waits[first].set()
        run = bare(journal)
        found = run.each(["a", "b", "c"], lambda r, name, waits=waits: branch(r, name, waits))
        assert list(found) == ["a", "b", "c"]
        run.do("look", number)
        assert next(iter(journal)).key.startswith(f"parallel.1/{first}/")
        stories.append(sorted(event.key for event in journal))
    assert stories[0] == stories[1] == stories[2]
    assert "parallel.1/b/look.2" in stories[0]


def number() -> int:
    return 1


def test_a_replay_by_other_threads_finds_every_step() -> None:
    journal, done = Journal(), []

    def count() -> int:
        done.append(1)
        return 1

    def whole() -> tuple[Any, ...]:
        branches = {name: lambda r: [r.do("look", count) for _ in range(5)] for name in "abcdefgh"}
        return bare(journal).parallel(**branches)

    assert whole() == whole()
    assert len(done) == 40


# live and replayed


def test_live_and_replayed_values_are_equal(tmp_path: Path) -> None:
    def look(at: Point) -> Point:
        return Point(pair=(at.pair[0] + 1, 0.1 + 0.2))

    def ask(journal: Journal) -> list[Any]:
        run = bare(journal, cast=Seating(Talker(), ["any"]))
        point = run.do("look", look, Point(pair=(1, 2.0)))
        return [point, run.note("seen", pair=(1, 2)), run.ask("any", Note, point=point), run.affords("look")]

    journal = Journal(tmp_path / "h.jsonl", sync=False)
    live = ask(journal)
    journal.close()
    again = Journal(tmp_path / "h.jsonl", sync=False)
    assert ask(again) == live
    assert [type(value) for value in live] == [Point, dict, Note, bool]
    assert live[1] == {"pair": [1, 2]}  # as JSON would have it, live too
    again.close()


class Talker:
    kind = "policy"

    def answer(self, question: Question) -> Reply:
        return Reply(value=Note(text=f"{question.key} {time.monotonic_ns()}"))


def test_a_changed_question_is_refused_by_name(tmp_path: Path) -> None:
    launch(parts(task=Dial(low=3.0, high=5.0), loop=Interrupted()), tmp_path / "run", sync=False)
    before = len(read(tmp_path / "run" / "history.jsonl").events)
    with pytest.raises(ReplayMismatch, match=r"^look\.1: its inputs differ"):
        launch(parts(task=Dial(low=3.0, high=6.0), loop=Interrupted()), tmp_path / "run", sync=False)
    after = read(tmp_path / "run" / "history.jsonl").events
    assert [event.event for event in after[before:]] == ["resumed"]


class Interrupted:
    """Looks at the task's band, then waits for a person."""

    name = "interrupted"

    def run(self, task: Dial, run: Run) -> Outcome:
        run.do("look", band, task.high)
        raise Paused("waits", "confirm")


def band(high: float) -> float:
    return high


# best so far


def test_the_best_state_is_returned_with_its_own_score() -> None:
    """States score 0, 2, 1, 0 of 4: the second one is returned, with the score that belongs to it."""
    outcome = play(Baseline(max_steps=6), Slope(), Journal())
    assert (outcome.artifact, outcome.score, outcome.passed) == ("state 1", 0.5, False)
    assert (outcome.status, outcome.reason) == ("stopped", "iteration_limit")


@pytest.mark.parametrize("scores", [tuple(random.Random(seed).choices(range(4), k=6)) for seed in range(20)])
def test_nothing_is_returned_that_is_worse_than_what_was_seen(scores: tuple[int, ...]) -> None:
    outcome = play(Baseline(max_steps=8), Slope(scores=scores), Journal())
    assert outcome.score == max(scores) / 4
    assert outcome.artifact == f"state {scores.index(max(scores))}"


def test_a_gate_that_is_met_beats_a_higher_score() -> None:
    run, task = bare(Journal()), Slope()
    good = task.evaluate(task.apply(task.observe(None), task.answer("act")(by=1)))
    run.consider("passed", good.model_copy(update={"passed": True, "score": 0.1}))
    run.consider("high", good.model_copy(update={"score": 0.9}))
    assert (run.outcome("completed", "stable").artifact, run.outcome("stopped", "x").score) == ("passed", 0.1)


def test_before_anything_is_evaluated_nothing_is_returned() -> None:
    outcome = bare(Journal()).outcome("stopped", "user_stop")
    assert (outcome.artifact, outcome.score, outcome.passed) == (None, None, False)


# limits


@pytest.mark.parametrize(
    ("design", "limit", "status", "reason"),
    [
        ("baseline", "hard", "stopped", "budget_exhausted"), ("baseline", "wrap_up", "stopped", "budget_exhausted"),
        ("baseline", "ask", "paused", "confirm"), ("adaptive", "hard", "stopped", "budget_exhausted"),
        ("adaptive", "wrap_up", "stopped", "budget_exhausted"), ("adaptive", "ask", "paused", "confirm"),
    ],
)  # fmt: skip
def test_what_happens_at_a_cap_is_what_on_limit_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, design: str, limit: str, status: str, reason: str
) -> None:
    quick_disk(monkeypatch)
    task = TwoPlanDial(low=60.0, high=64.0)
    budget = money(inner=0.5, outer=4.0, on_limit=limit)
    outcome = launch(parts(DESIGNS[design], task, budget), tmp_path / "run")
    assert (outcome.status, outcome.reason, outcome.passed) == (status, reason, False)
    asked = [event.step for event in read(tmp_path / "run" / "history.jsonl").events if event.step == "evaluate"]
    assert bool(asked) == (design == "adaptive" and limit == "wrap_up")
    if limit == "ask":
        more = launch(parts(DESIGNS[design], task, money(inner=50.0, outer=4.0, on_limit=limit)), tmp_path / "run")
        assert more.status == "completed"


@pytest.mark.parametrize("slow", ["apply", "evaluate"])
@pytest.mark.parametrize("design", DESIGNS)
def test_the_time_cap_ends_a_run_and_a_resume_of_it_alike(design: str, slow: str) -> None:
    """A process that died knew more of the clock than its journal tells: the resumed run turns the same way."""

    class Late(TwoPlanDial):
        def apply(self, state: Setting, action: Any) -> Setting:
            time.sleep(0.03 * (slow == "apply"))
            return super().apply(state, action)

        def evaluate(self, state: Setting) -> Evaluation:
            time.sleep(0.03 * (slow == "evaluate"))
            return super().evaluate(state)

    journal, task = Journal(), Late(low=200.0, high=204.0)
    first = play(DESIGNS[design], task, journal, budget=money(inner=50.0, seconds=0.1))
    length = len(journal.events)
    assert (first.status, first.reason) == ("stopped", "time_limit")
    again = play(DESIGNS[design], task, journal, budget=money(inner=50.0, seconds=0.1))
    assert (again, len(journal.events)) == (first, length)


def test_a_priced_holdout_or_a_late_one_does_not_change_how_the_run_ended() -> None:
    budget = money()
    budget = Budget(prices={**budget.prices, "holdout": Price(outer=100.0)})
    outcome = play(Adaptive(), HiddenDial(), Journal(), budget=budget)
    assert (outcome.status, outcome.reason, "holdout" in outcome.facts) == ("completed", "stable", False)
    assert "holdout costs 100 outer" in outcome.facts["holdout_error"]


def test_neither_the_clock_nor_a_person_keeps_the_holdout_from_being_measured() -> None:
    class Slow:
        name = "slow"
        done = False

        def run(self, task: Any, run: Run) -> Outcome:
            run.consider("5.0", task.evaluate(task.setting(5.0)))
            time.sleep(0.06)
            self.done = True
            return run.outcome("completed", "stable")

    design = Slow()

    def check() -> None:
        if design.done:
            raise StopRequested("too late")

    outcome = play(design, HiddenDial(), Journal(), budget=money(seconds=0.05), check=check)
    assert (outcome.status, outcome.facts["holdout"]["passed"]) == ("completed", True)


# endings


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        (StopRequested("x"), "stopped", "user_stop"), (Paused("x", "questions"), "paused", "questions"),
        (PhaseError("x"), "failed", "phase_error"), (Aborted("x"), "aborted", "user_abort"),
    ],
)  # fmt: skip
def test_every_interruption_becomes_its_status(end: Exception, status: str, reason: str) -> None:
    class Ends:
        name = "ends"

        def run(self, task: Any, run: Run) -> Outcome:
            raise end

    outcome = play(Ends(), Dial(), Journal())
    assert (outcome.status, outcome.reason, outcome.facts["detail"]) == (status, reason, "x")


@pytest.mark.parametrize("end", ["completed", "stopped", "failed", "aborted"])
def test_a_terminal_status_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Any) -> None:
    quick_disk(monkeypatch)

    class Ends:
        name = "ends"

        def run(self, task: Any, run: Run) -> Outcome:
            return run.outcome(end, "because")

    folder = tmp_path / "run"
    outcome = launch(parts(Ends(), Dial()), folder)
    before = {name: (folder / name).read_bytes() for name in ("history.jsonl", "run.json")}
    with pytest.raises(ConfigError, match=f"has ended \\({end}\\)"):
        launch(parts(Adaptive(), Dial()), folder)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert Folder(folder).state()["outcome"] | {"artifact": None} == outcome.model_dump(mode="json")


def test_what_is_saved_is_what_is_returned(tmp_path: Path) -> None:
    outcome = launch(parts(), tmp_path / "run", sync=False)
    assert read(tmp_path / "run" / "history.jsonl").events[-1].payload == outcome.model_dump(mode="json")


def test_a_person_who_stops_a_run_gets_the_best_so_far() -> None:
    count = [0]

    def check() -> None:
        count[0] += 1
        if count[0] > 12:
            raise StopRequested("enough")

    outcome = play(Baseline(), Slope(), Journal(), check=check)
    assert (outcome.status, outcome.reason, outcome.artifact) == ("stopped", "user_stop", "state 1")


def test_a_value_that_is_no_number_ends_the_run_by_name() -> None:
    class Broken:
        name = "broken"

        def run(self, task: Any, run: Run) -> Outcome:
            run.do("look", nothing)
            return run.outcome("completed", "stable")

    outcome = play(Broken(), Dial(), Journal())
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert outcome.facts["detail"].startswith("look.1: its value cannot be kept")


def nothing() -> float:
    return float("nan")


# holdout


@pytest.mark.parametrize("design", DESIGNS)
def test_the_holdout_is_measured_once_at_the_end_and_seen_by_nobody(tmp_path: Path, design: str) -> None:
    task, cast = HiddenDial(low=3.0, high=5.0), Seating(Spoken(), ["planner", "actor"])
    task.measured.clear()
    journal = Journal(tmp_path / "h.jsonl", sync=False)
    stage = Stage(task, cast, journal, Ledger(money(outer=50.0)))
    outcome = execute(DESIGNS[design], Run(stage))
    assert outcome.facts["holdout"] == Truth(passed=True, score=1.0).model_dump()
    again = play(DESIGNS[design], task, journal, cast=cast, budget=money(outer=50.0))
    assert (again, task.measured) == (outcome, [outcome.artifact])
    holdout = [event for event in journal if event.step == "holdout"]
    assert [event.key for event in holdout] == ["end/holdout.1"]
    assert journal.events[-1] is holdout[0]
    seen = [str(question.context) for question in cast.asked] + [str(stage.brief)]
    assert len(seen) > 1
    assert [text for text in seen if CANARY in text] == []
    before = "".join(event.model_dump_json() for event in journal.events[:-1])
    assert CANARY not in before
    journal.close()


class Wanders:
    """Evaluates these positions one after the other, a unit each; the first one is handed over."""

    name = "wanders"

    def __init__(self, *places: float):
        self.places = places

    def run(self, task: Any, run: Run) -> Outcome:
        for place in self.places:
            run.do("look", task.setting, place)
            run.consider(f"{place}", task.evaluate(task.setting(20.0)))
        return run.outcome("completed", "stable")


class Between(HiddenDial):
    """Its hidden checks call right what lies in the band, and break on what lies below 0."""

    def holdout(self, artifact: str) -> Truth:
        self.measured.append(artifact)
        if float(artifact) < 0:
            raise PhaseError("no reading")
        right = self.low <= float(artifact) <= self.high
        return Truth(passed=right, score=float(right))


def wandered(*places: float, **more: Any) -> dict[str, Any] | None:
    prices = {"look": Price(outer=1.0), **more.pop("prices", {})}
    task = Between(low=3.0, high=5.0)
    task.measured.clear()
    outcome = play(
        Wanders(*places), task, Journal(), budget=Budget(outer=20.0, prices=prices), **{"hidden_on_all": True, **more}
    )
    assert len(task.measured) == len(set(task.measured)), "each state once"
    return outcome.facts.get("first_correct")


def test_the_first_state_that_was_right_is_found_once_the_run_is_over() -> None:
    assert wandered(9.0, -1.0, 4.0, 3.5) == {"state": 3, "states": 4, "spent": {"outer": 3.0}}
    assert wandered(4.0, 9.0) == {"state": 1, "states": 2, "spent": {"outer": 1.0}}
    assert wandered(9.0, 8.0, 9.0) == {"state": None, "states": 2, "not_looked_at": 0}


def test_without_being_asked_for_hidden_checks_look_at_the_result_alone() -> None:
    assert wandered(9.0, 4.0, hidden_on_all=False) is None


def test_states_that_could_not_be_looked_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    paid = {"holdout": Price(outer=9.0)}
    assert wandered(9.0, 8.0, 4.0, prices=paid) == {"state": None, "states": 3, "not_looked_at": 2}
    monkeypatch.setattr("looper.execution.MOST_STATES", 2)
    assert wandered(9.0, 8.0, 4.0) == {"state": None, "states": 3, "not_looked_at": 1}


@pytest.mark.parametrize("end", ["paused", "failed", "aborted"])
def test_a_run_that_came_to_no_orderly_end_has_no_holdout(end: Any) -> None:
    class Ends:
        name = "ends"

        def run(self, task: Any, run: Run) -> Outcome:
            run.consider("5.0", task.evaluate(task.setting(5.0)))
            return run.outcome(end, "because")

    HiddenDial.measured.clear()
    assert "holdout" not in play(Ends(), HiddenDial(), Journal()).facts
    assert HiddenDial.measured == []


# the docstring is the diagram

QUIET = ("affords", "prepare", "gate", "recall", "holdout")
"""Steps that the adaptive diagram does not draw: bookkeeping, and the gate beside every look."""
ARROWS: dict[str, tuple[set[str], set[str]]] = {
    "baseline": (
        {
            "observe probe", "probe gate", "gate act", "act apply", "apply probe", "act probe", "gate completed",
            "act stopped", "gate stopped", "apply stopped",
        },
        {"observe probe", "probe gate", "gate act", "act apply", "apply probe", "gate completed"},
    ),
    "adaptive": (
        {
            "plan observe", "observe probe", "probe decide", "decide apply", "apply adapt", "adapt probe",
            "probe evaluate", "probe replan", "decide replan", "adapt replan", "replan observe", "evaluate completed",
            "adapt evaluate", "decide evaluate", "replan evaluate", "evaluate stopped",
        },
        {
            "plan observe", "observe probe", "probe decide", "decide apply", "apply adapt", "adapt probe",
            "probe evaluate", "replan observe", "evaluate completed", "evaluate stopped",
        },
    ),
}  # fmt: skip
"""By design: the arrows that its docstring draws, and those that the runs below must show."""


def transitions(design: str, task: Any, budget: Budget) -> set[str]:
    journal = Journal()
    outcome = play(DESIGNS[design], task, journal, budget=budget)
    quiet = QUIET if design == "adaptive" else ("affords", "prepare", "iteration_advanced", "holdout")
    steps = [e.step for e in journal if e.step not in quiet and e.event != "budget_refused"]
    names = ["adapt" if step == "iteration_advanced" else step for step in steps] + [outcome.status]
    return {f"{a} {b}" for a, b in pairwise(names)}


@pytest.mark.parametrize("design", DESIGNS)
def test_the_arrows_in_the_docstring_are_those_of_the_journals(design: str) -> None:
    seen: set[str] = set()
    for task in (Dial(low=8.0, high=12.0), TwoPlanDial(low=40.0, high=44.0), Dial(low=900.0, high=901.0)):
        for inner in (0.2, 0.27, 0.37, 1.0, 20.0):
            seen |= transitions(design, task, money(inner=inner, outer=8.0))
    allowed, required = ARROWS[design]
    assert seen - allowed == set()
    assert required - seen == set()


@pytest.mark.parametrize("design", DESIGNS)
def test_the_docstring_draws_every_step(design: str) -> None:
    drawing = sys.modules[type(DESIGNS[design]).__module__].__doc__ or ""
    names = {name for arrow in ARROWS[design][0] for name in arrow.split()} - {"stopped", "completed"}
    assert [name for name in sorted(names) if name not in drawing] == []
    assert "completed" in drawing


def test_stories_of_two_runs_of_the_same_settings_are_equal() -> None:
    one, other = Journal(), Journal()
    play(Adaptive(), Dial(), one)
    play(Adaptive(), Dial(), other)
    assert story(one.events) == story(other.events)
