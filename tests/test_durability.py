"""A killed run resumes to the end that its journal implies, and its files are always whole (SAFETY P2, P3)."""

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from players import (
    DESIGNS,
    Dying,
    HiddenDial,
    Killed,
    Seating,
    Spoken,
    TwoPlanDial,
    in_child,
    money,
    parts,
    play,
    quick_disk,
    shoot,
    story,
)  # fmt: skip

from looper.budget import Budget, Ledger, total
from looper.errors import ConfigError, Paused
from looper.execution import execute
from looper.folder import Folder, Outputs
from looper.journal import Event, Journal, read, write_whole
from looper.launch import launch
from looper.loops.baseline import Baseline
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.types import Outcome

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
"""The test process may have threads (a reader, the test runner's own); the forked children use none of them."""


LEFT = ("inner_left", "outer_left")
"""What a lost call rightly makes smaller, in notes and in the questions that show them."""


def finished(journal: Journal) -> list[dict[str, Any]]:
    """The steps of a journal, in order, without calls that were lost and what they cost."""
    events = [event for event in journal if event.key and event.event not in ("call_started", "call_done")]
    lines = [{k: v for k, v in line.items() if k not in ("seq", "cost", "calls", "inputs")} for line in story(events)]
    for line in lines:
        if line["event"] == "iteration_advanced":
            line["payload"] = {k: v for k, v in line["payload"].items() if k not in LEFT}
    return lines


Ended = tuple[int, bool, Outcome, Journal]


def deaths(loop: Any, task: Any, path: Path, whole: int, budget: Budget, **how: Any) -> Iterator[Ended]:
    """The run killed at every append, before or after its line, and resumed: where, how it ended, its journal."""
    for at, after in itertools.product(range(1, whole + 1), (False, True)):
        file = path / f"{at}-{after}.jsonl"
        first, second = Seating(Spoken(**how), ["planner", "actor"]), Seating(Spoken(**how), ["planner", "actor"])
        dying = Dying(file, at=at, after=after)
        with pytest.raises(Killed):
            play(loop, task, dying, cast=first if how else None, budget=budget)
        dying.close()
        journal = Journal(file, sync=False)
        known = list(journal.steps)
        outcome = play(loop, task, journal, cast=second if how else None, budget=budget)
        assert [question.key for question in second.asked if question.key in known] == []
        yield at, after, outcome, journal
        journal.close()


MUCH = money(inner=50.0, outer=500.0)


@pytest.mark.parametrize(
    ("task", "budget"),
    [(HiddenDial(low=3.0, high=5.0), money()), (TwoPlanDial(low=200, high=204), money(inner=0.2, outer=8.0))],
    ids=["dial", "two plans"],
)
@pytest.mark.parametrize("design", DESIGNS)
def test_killed_before_and_after_every_step_it_ends_the_same(
    tmp_path: Path, design: str, task: Any, budget: Budget
) -> None:
    whole = Journal()
    expected = play(DESIGNS[design], task, whole, budget=budget)
    for at, after, outcome, journal in deaths(DESIGNS[design], task, tmp_path, len(whole.events), budget):
        assert outcome == expected, (at, after)
        assert story(journal.events) == story(whole.events), (at, after)


@pytest.mark.parametrize("bad", [0, 1])
@pytest.mark.parametrize("design", DESIGNS)
def test_a_killed_call_is_booked_as_it_ended_or_as_lost(tmp_path: Path, design: str, bad: int) -> None:
    """No journalled answer is bought twice; calls that had ended are booked so, the one in flight is lost."""
    task, whole = Dial(low=3.0, high=5.0), Journal()
    expected = play(DESIGNS[design], task, whole, cast=Seating(Spoken(bad=bad), ["planner", "actor"]), budget=MUCH)
    lost = 0
    for at, after, outcome, journal in deaths(DESIGNS[design], task, tmp_path, len(whole.events), MUCH, bad=bad):
        assert plain(outcome) == plain(expected), (at, after)
        assert finished(journal) == finished(whole), (at, after)
        keys = [event.key for event in journal if event.key and event.event not in ("call_started", "call_done")]
        assert len(keys) == len(set(keys))
        lost += check_bill(journal, whole)
    assert lost > 0


def plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome without what a lost call leaves less of."""
    data = outcome.model_dump(mode="json")
    data["facts"]["log"] = [{k: v for k, v in e.items() if k not in LEFT} for e in data["facts"].get("log", [])]
    return data


def check_bill(journal: Journal, whole: Journal) -> int:
    """Every started attempt is in its step's calls, in order, as it ended or as lost; the number that were lost."""
    started: dict[str, list[Event]] = {}
    ended: dict[tuple[str, int], Event] = {}
    for event in journal:
        if event.event == "call_started":
            started.setdefault(event.key, []).append(event)
        elif event.event == "call_done":
            ended[event.key, event.payload["attempt"]] = event
    lost = 0
    for key, attempts in started.items():
        step = journal.steps[key]
        assert [event.payload["attempt"] for event in attempts] == list(range(1, len(attempts) + 1))
        assert len(step.calls) == len(attempts) == step.cost["calls"]
        for start in attempts:
            end = ended.get((key, start.payload["attempt"]))
            call = next((c for c in step.calls if end and c == end.calls[0]), None)
            assert call is not None or end is None
        gone = [call for call in step.calls if call.label == "lost"]
        assert all((call.ended, call.estimated, call.tokens_in) == ("process_died", True, 25) for call in gone)
        extra = total([step.cost, {a: -v for a, v in whole.steps[key].cost.items()}])
        assert (extra["outer"] > 0) == (len(attempts) > len(whole.steps[key].calls))
        assert len(gone) <= 1
        lost += len(gone)
    return lost


def test_the_ledger_of_a_resumed_run_holds_what_its_journal_says(tmp_path: Path) -> None:
    whole, task = Journal(), Dial(low=3.0, high=5.0)
    play(Baseline(), task, whole, cast=Seating(Spoken(bad=1), ["actor"]), budget=MUCH)
    for at in range(1, len(whole.events) + 1):
        dying = Dying(tmp_path / f"{at}.jsonl", at=at, after=True)
        with pytest.raises(Killed):
            play(Baseline(), task, dying, cast=Seating(Spoken(bad=1), ["actor"]), budget=MUCH)
        dying.close()
        journal, ledger = Journal(tmp_path / f"{at}.jsonl", sync=False), Ledger(MUCH)
        execute(Baseline(), Run(Stage(task, Seating(Spoken(bad=1), ["actor"]), journal, ledger)))
        booked = total(step.cost for step in journal.steps.values())
        assert ledger.owed == {}
        assert ledger.spent == pytest.approx(booked)
        journal.close()


# budget decisions


def decisions(journal: Journal) -> list[tuple[str, str, Any]]:
    return [(e.key, e.event, e.payload) for e in journal if e.step == "affords" or e.event == "budget_refused"]


@pytest.mark.parametrize("limit", ["hard", "wrap_up"])
@pytest.mark.parametrize("design", DESIGNS)
def test_decisions_on_record_turn_the_same_way_after_a_resume(tmp_path: Path, design: str, limit: str) -> None:
    """Also where a lost call makes the ledger poorer than it was when the decision was made."""
    task, budget = TwoPlanDial(low=200, high=201), money(inner=0.2, outer=9.0, on_limit=limit)
    whole = Journal()
    roles = ["planner", "actor"]
    play(DESIGNS[design], task, whole, cast=Seating(Spoken(), roles), budget=budget)
    assert decisions(whole)
    for at, after in itertools.product(range(1, len(whole.events) + 1), (False, True)):
        file = tmp_path / f"{at}-{after}.jsonl"
        dying = Dying(file, at=at, after=after)
        with pytest.raises(Killed):
            play(DESIGNS[design], task, dying, cast=Seating(Spoken(), roles), budget=budget)
        dying.close()
        known = decisions(dying)
        journal = Journal(file, sync=False)
        once = play(DESIGNS[design], task, journal, cast=Seating(Spoken(), roles), budget=budget)
        assert decisions(journal)[: len(known)] == known
        length, events = len(journal.events), decisions(journal)
        again = play(DESIGNS[design], task, journal, cast=Seating(Spoken(), roles), budget=budget)
        assert (again, len(journal.events), decisions(journal)) == (once, length, events)
        spent = total(event.cost for event in journal.steps.values())
        assert spent["outer"] <= 9.0
        journal.close()


class Poor:
    """A design that asks whether it can go on after a question; the answer depends on what the question took."""

    name = "poor"

    def run(self, task: Any, run: Run) -> Outcome:
        run.keep("evaluate")
        turns = 0
        while run.affords("plan", "evaluate"):
            run.ask("planner", task.answer("plan"), step="plan", turn=turns)
            turns += 1
        return run.outcome("stopped", "budget_exhausted", turns=turns)


def test_a_lost_call_can_cost_a_turn_but_never_turns_a_decision(tmp_path: Path) -> None:
    budget, seen = money(outer=8.0), set()
    for at, after in itertools.product(range(1, 12), (False, True)):
        file = tmp_path / f"{at}-{after}.jsonl"
        dying = Dying(file, at=at, after=after)
        with pytest.raises(Killed):
            play(Poor(), Dial(), dying, cast=Seating(Spoken(), ["planner"]), budget=budget)
        dying.close()
        journal = Journal(file, sync=False)
        outcome = play(Poor(), Dial(), journal, cast=Seating(Spoken(), ["planner"]), budget=budget)
        assert outcome.reason == "budget_exhausted"
        seen.add(outcome.facts.get("turns", "refused"))
        for _ in range(2):
            assert play(Poor(), Dial(), journal, cast=Seating(Spoken(), ["planner"]), budget=budget) == outcome
        journal.close()
    assert seen >= {3, "refused"}


# real kills


def slow_parts(design: str) -> Any:
    """A run long enough to be killed in, some milliseconds a step."""

    class Slow(TwoPlanDial):
        def apply(self, state: Any, action: Any) -> Any:
            time.sleep(0.004)
            return super().apply(state, action)

    Slow.apply.__annotations__ = Dial.apply.__annotations__
    return parts(loop=DESIGNS[design], task=Slow(low=60, high=64), budget=money(inner=50.0))


def kill_until_done(design: str, folder: Path, dice: random.Random) -> int:
    """SIGKILL the run at random moments until a child gets to its end; the number of kills that hit."""
    hits = 0
    for attempt in range(200):
        child = in_child(lambda: launch(slow_parts(design), folder) and None)
        status = shoot(child, dice.uniform(0.0, 0.04) + 0.002 * attempt)
        history = folder / "history.jsonl"
        if os.WIFSIGNALED(status):
            hits += 1
        if history.exists() and any(e.event in ("completed", "stopped", "failed") for e in read(history).events):
            return hits
    raise AssertionError("it never ended")


@pytest.mark.parametrize(("design", "runs"), [("baseline", 3), ("adaptive", 2)])
def test_real_kills_at_random_moments_do_not_change_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, design: str, runs: int
) -> None:
    quick_disk(monkeypatch)
    expected = launch(slow_parts(design), tmp_path / "whole")
    whole, hits = Journal(tmp_path / "whole" / "history.jsonl"), 0
    for number in range(runs):
        folder = tmp_path / f"{number}"
        hits += kill_until_done(design, folder, random.Random(f"{design}/{number}"))
        with pytest.raises(ConfigError, match="has ended"):
            launch(slow_parts(design), folder)  # mends the files of a run that died after its last event
        journal = Journal(folder / "history.jsonl")
        assert journal.events[-1].payload == expected.model_dump(mode="json")
        assert steps(journal) == steps(whole)
        assert json.loads((folder / "run.json").read_bytes())["status"] == expected.status
        assert (folder / "artifact.md").read_text() == expected.artifact
        assert not (tmp_path / "current.json").exists()
        journal.close()
    whole.close()
    assert hits >= 4 * runs


def steps(journal: Journal) -> list[dict[str, Any]]:
    """All steps, none twice."""
    found = [event for event in journal if event.key]
    assert len(found) == len(journal.steps)
    return [{k: v for k, v in line.items() if k not in ("seq", "run_id")} for line in story(found)]


# P3: files are whole


def watch(paths: Sequence[Path], stop: threading.Event, broken: list[str], reads: list[int]) -> None:
    while not stop.is_set():
        for path in paths:
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            reads[0] += 1
            if path.suffix == ".json":
                try:
                    json.loads(data)
                except ValueError as error:
                    broken.append(f"{path.name}: {error}")
            elif not data.startswith(b"<") or not data.endswith(b">"):
                broken.append(f"{path.name}: {len(data)} bytes")


class BigDial(Dial):
    """A dial whose artifact is long enough to be seen half-written."""

    def render(self, state: Any) -> str:
        return f"<{state.position!r}{'x' * 300_000}>"


def write_over(folder: Path, plainly: bool) -> None:
    """Save a run again and again."""
    journal = Journal(folder / "history.jsonl", sync=False)
    state = {"status": "running", "run_id": "r", "task_alias": "dial", "updated_at": ""}
    for number in range(100_000):
        text = "<" + "y" * (200_000 + number % 7) + ">"
        if plainly:
            (folder / "artifact.md").write_text(text)
            continue
        if number % 20 == 0:
            journal.append(Event(event="artifact_created", key=f"k.{len(journal.events)}", payload={"text": text}))
        Folder(folder).save(journal)
        Outputs(folder).point(Folder(folder), state)


def broken_reads(folder: Path, kills: int, plainly: bool) -> tuple[list[str], int]:
    folder.mkdir()
    stop, broken, reads = threading.Event(), [], [0]
    names = ("run.json", "artifact.md", "current.json")
    reader = threading.Thread(target=watch, args=([folder / name for name in names], stop, broken, reads))
    children = random.Random(7)
    pids = []
    for _ in range(kills):
        pids.append(in_child(lambda: write_over(folder, plainly)))
        if not reader.is_alive():
            reader.start()
        shoot(pids[-1], children.uniform(0.03, 0.08))
    stop.set()
    reader.join()
    return broken, reads[0]


def test_a_reader_never_sees_a_broken_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick_disk(monkeypatch)
    broken, reads = broken_reads(tmp_path / "run", 20, plainly=False)
    assert broken == []
    assert reads > 100


def test_the_reader_sees_what_plain_writes_break(tmp_path: Path) -> None:
    assert broken_reads(tmp_path / "run", 5, plainly=True)[0] != []


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "run.json", b"{}")

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Paused, match=r"^run\.json cannot be written \(No space left on device\)"):
        write_whole(tmp_path / "run.json", b'{"a": 1}')
    assert (tmp_path / "run.json").read_bytes() == b"{}"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
