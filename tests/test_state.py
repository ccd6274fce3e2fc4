"""run.json and artifact.md are functions of history.jsonl (SAFETY P5, SPEC 2.10)."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from players import quick_disk

from looper.errors import JournalDamaged
from looper.folder import Folder, Outputs
from looper.journal import LARGE, Event, Journal
from looper.state import fold, fresh
from looper.types import TERMINAL, Call, Outcome

HISTORIES = 500
STEPS = ("plan", "probe", "gate", "apply", "act", "affords")
NAMES = (
    "step_done", "plan_created", "checks_prepared", "evaluation_done", "critique_done", "artifact_created",
    "refinement_done", "iteration_advanced", "phase_error", "budget_refused", "call_started", "call_done",
)  # fmt: skip
WORDS = ("", "ok", "é\u2028", "lone \ud800", "\x1b[2J", "x" * 300, "{not json")


def value(dice: random.Random, depth: int = 2) -> Any:
    """Any JSON data, numbers of both kinds included."""
    plain = [None, True, 3, 0.1 + 0.2, 1e-12, -7.0, dice.choice(WORDS)]
    if depth == 0 or dice.random() < 0.5:
        return dice.choice(plain)
    if dice.random() < 0.5:
        return [value(dice, depth - 1) for _ in range(dice.randint(0, 3))]
    return {dice.choice(("score", "a", "$blob", "é")): value(dice, depth - 1) for _ in range(dice.randint(0, 3))}


def ending(dice: random.Random) -> Event:
    status: Any = dice.choice([*sorted(TERMINAL), "paused"])
    facts = {"waiting": {"key": "plan.1"}} if status == "paused" and dice.random() < 0.5 else {"n": value(dice)}
    artifact = dice.choice([None, "art", "é\u2028", "lone \ud800"])
    return Event(event=status, payload=Outcome(status=status, reason="r", artifact=artifact, score=0.5, facts=facts))


def step(dice: random.Random, number: int) -> Event:
    name = dice.choice(NAMES)
    payload = value(dice)
    if name in ("artifact_created", "refinement_done"):
        payload = {"text": dice.choice(WORDS)}
    elif name in ("call_started", "call_done"):
        payload = {"attempt": 1, "label": "answer", "worst": {"outer": 1.0}}
    elif name in ("phase_error", "budget_refused"):
        payload = {"message": dice.choice(WORDS), "reason": "r", "facts": {}}
    elif dice.random() < 0.01:
        payload = {"score": 1, "text": "y" * LARGE}
    cost: dict[str, Any] = {a: dice.choice((1, 2, 0.05, 0.1)) for a in dice.sample(("inner", "outer", "usd"), 2)}
    return Event(
        event=name, step=dice.choice(STEPS), key=f"k.{number}" if dice.random() < 0.7 else f"k.{max(1, number - 1)}",
        iteration=dice.randint(0, 3), phase=dice.choice(("", "A", "B")), payload=payload,
        inputs="i", said=dice.choice(WORDS),
        calls=[Call(usd=0.1)] if name == "call_done" else [],
        elapsed=round(dice.uniform(0, 9), 3), seconds=round(dice.uniform(0, 1), 6),
    ).model_copy(update={"cost": cost if dice.random() < 0.6 else {}})  # fmt: skip


def history(dice: random.Random) -> list[Event]:
    """What a run could leave behind, likely or not."""
    setup = {"task_alias": "t", "design": "d", "task": {"prompt": "é"}, "max_iterations": 5, "seed": 1}
    events = [Event(event="run_started", payload=setup)]
    for number in range(1, dice.randint(1, 14)):
        events.append(step(dice, number))
        if dice.random() < 0.1:
            events += [ending(dice), Event(event="resumed")]
    return [*events, ending(dice)] if dice.random() < 0.7 else events


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("run.json", "artifact.md") if (folder / name).exists()}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_disk(monkeypatch)


@pytest.mark.usefixtures("quick")
def test_files_written_live_equal_those_rebuilt_from_history(tmp_path: Path) -> None:
    """Saved by the writing process as it went, and by another one that only has the history."""
    different, artifacts = [], 0
    for seed in range(HISTORIES):
        path = tmp_path / f"{seed}"
        dice = random.Random(seed)
        live = Journal(path / "history.jsonl", run_id="r", sync=False)
        for event in history(dice):
            live.append(event)
            if dice.random() < 0.15:
                Folder(path).save(live)
        Folder(path).save(live)
        live.close()
        before = files(path)
        for name in before:
            (path / name).unlink()
        again = Journal(path / "history.jsonl", run_id="r", sync=False)
        Folder(path).save(again)
        again.close()
        artifacts += "artifact.md" in before
        if before != files(path) or Folder(path).state() != fold(live.events, path):
            different.append(seed)
    assert different == []
    assert artifacts > HISTORIES / 4


def test_the_same_events_give_the_same_bytes(tmp_path: Path) -> None:
    events = history(random.Random(3))
    assert json.dumps(fold(events, tmp_path)) == json.dumps(fold(events, tmp_path))
    assert list(fold([], tmp_path)) == list(fresh())


def test_a_step_counts_once_and_its_failed_calls_with_it(tmp_path: Path) -> None:
    call = {"attempt": 1, "label": "answer"}
    bad = Event(event="call_done", key="plan.1", step="plan", cost={"outer": 2.0}, payload=call)
    done = Event(event="step_done", key="plan.1", step="plan", cost={"outer": 4.0})
    assert fold([bad], tmp_path)["spent"] == {"outer": 2.0}
    state = fold([bad, done], tmp_path)
    assert (state["spent"], state["steps"]) == ({"outer": 4.0}, {"plan": 1})


def test_working_time_is_the_sum_of_all_segments(tmp_path: Path) -> None:
    events = [
        Event(event="run_started", payload={}), Event(event="step_done", key="a", elapsed=2.0),
        Event(event="step_done", key="b", elapsed=1.5), Event(event="resumed"),
        Event(event="step_done", key="c", elapsed=3.0),
    ]  # fmt: skip
    assert fold(events, tmp_path)["elapsed"] == 5.0


def test_a_step_named_like_an_ending_ends_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl", sync=False)
    journal.append(Event(event="run_started", payload={}))
    journal.append(Event(event="artifact_created", key="a.1", payload={"text": "mine"}))
    journal.append(Event(event="failed", key="failed.1", payload=["not an outcome"]))
    assert Folder(tmp_path).save(journal)["status"] == "running"
    assert (tmp_path / "artifact.md").read_text() == "mine"
    journal.close()


def test_resuming_takes_back_the_pause_but_not_what_was_found(tmp_path: Path) -> None:
    pause = Outcome(status="paused", reason="questions", artifact="a", facts={"waiting": {"key": "plan.1"}})
    events = [
        Event(event="run_started", payload={}),
        Event(event="evaluation_done", key="gate.1", payload={"score": 0.5}),
        Event(event="paused", payload=pause.model_dump(mode="json")),
    ]
    paused = fold(events, tmp_path)
    assert (paused["status"], paused["waiting"], "artifact" in paused["outcome"]) == (
        "paused",
        {"key": "plan.1"},
        False,
    )
    state = fold([*events, Event(event="resumed")], tmp_path)
    assert (state["status"], state["waiting"], state["outcome"], state["last_score"]) == ("running", None, None, 0.5)


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b"null", b'{"journal": 3}', b'{"journal": {"seq": 0}}', b"\xff"])
def test_a_lost_or_broken_run_json_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    journal = Journal(tmp_path / "history.jsonl", sync=False)
    journal.append(Event(event="run_started", payload={}))
    Folder(tmp_path).save(journal)
    whole = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json").write_bytes(broken)
    Folder(tmp_path).check_head(journal)
    Folder(tmp_path).save(journal)
    assert (tmp_path / "run.json").read_bytes() == whole
    journal.close()


@pytest.mark.parametrize("head", [{"seq": 2, "hash": "0"}, {"seq": 1, "hash": "0"}, {"seq": "1"}, {"seq": 1}])
def test_a_head_that_the_journal_does_not_know_is_refused(tmp_path: Path, head: dict[str, Any]) -> None:
    journal = Journal(tmp_path / "history.jsonl", sync=False)
    journal.append(Event(event="run_started", payload={}))
    (tmp_path / "run.json").write_text(json.dumps({"journal": head}))
    with pytest.raises(JournalDamaged):
        Folder(tmp_path).check_head(journal)
    with pytest.raises(JournalDamaged):
        Folder(tmp_path).state()
    journal.close()


@pytest.mark.parametrize("broken", [b"", b"[]", b"3", b'{"folder": 3}', b'{"folder": "gone"}'])
def test_a_broken_pointer_points_at_nothing(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "current.json").write_bytes(broken)
    assert Outputs(tmp_path).active() is None
