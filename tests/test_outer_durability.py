"""A killed run of the outer loop goes on from its journal to the same end, and leaves one episode (SPEC 0.9)."""

import contextlib
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from outer_players import (
    COLD,
    COOL,
    IDEAL,
    KIND,
    Played,
    Store,
    asks,
    by_round,
    ideal,
    killed,
    letters,
    outer,
    play,
    resumed,
    tale,
    timeless,
)
from players import Dying, Killed, in_child, quick_disk, shoot

from looper.budget import Budget, Price, total
from looper.checks import reader
from looper.episodes import STORE, Episodes
from looper.journal import Journal, read
from looper.launch import launch
from looper.loops.reflex import Reflex
from looper.parts import Parts

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

SURE = {"id": "sure", "description": "nothing is invented", "critical": True, "verify": {"judge": "is it all true?"}}
SHORT = ideal(exits=[], metrics=[{"target": "<= 300", "measure": "words"}])
STORY: dict[str, Any] = {
    "analyse": {"questions": [asks("who"), asks("when"), asks("how", "P1")]},
    "answer": lambda q: {"text": f"the answer to {q.context['question']['id']}"},
    "ideal": by_round(SHORT, ideal(criteria=[*IDEAL["criteria"], SURE])),
    "produce": letters(COOL, COLD, KIND), "escalate": {"decision": "budget 7"}, "confirm": {"decision": "yes"},
    "confirm_result": {"met": True},
}  # fmt: skip
"""Questions, two rounds of the interview, two loop-backs, one of them granted by the user, a confirmation."""
PRICES = {name: Price(outer=1.0) for name in ("ideal", "plan", "produce", "assess")}
MONEY = Budget(inner=None, outer=40.0, prices=PRICES)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check reads the same text once in a test: hundreds of runs are played, and no check is on trial."""
    monkeypatch.setattr("looper.checks.examine.read", remembered(reader.read))


def remembered(read_: Any) -> Any:
    known: dict[Any, Any] = {}

    def found(check: Any, artifact: str, bench: Any, *, blank: bool = False) -> Any:
        key = (check.model_dump_json(), artifact, blank)
        if key not in known:
            known[key] = read_(check, artifact, bench, blank=blank)
        return known[key]

    return found


def whole(**more: Any) -> dict[str, Any]:
    return {
        "loop": outer(Reflex(max_iterations=1), confirmation=True, max_loops=1),
        "budget": MONEY,
        "render": False,
        **more,
    }


def test_the_story_has_everything_in_it() -> None:
    run = play(STORY, **whole())
    assert run.end == ("completed", "verified")
    assert run.told["loops"] == 2
    assert run.verdicts == ["GAPS_IDENTIFIED"] * 2 + ["VERIFIED"]
    assert [one["decision"] for one in run.told["decisions"]] == ["budget"]
    wanted = {"answer", "ideal", "confirm", "produce", "assess", "escalate", "confirm_result"}
    assert wanted <= set(run.steps)


def same(run: Played, expected: Played, at: int) -> None:
    assert timeless(run.outcome.model_dump(mode="json")) == timeless(expected.outcome.model_dump(mode="json")), at
    keys = [event.key for event in run.journal.events if event.key]
    assert len(keys) == len(set(keys)), at
    assert tale(run.journal.events) == tale(expected.journal.events), at
    assert run.ledger.overall() == pytest.approx(expected.ledger.overall()), at


def test_killed_before_every_line_it_comes_to_the_same_end_and_pays_no_answer_twice(
    tmp_path: Path, quick: None
) -> None:
    expected = play(STORY, **whole(episodes=Store()))
    lines = len(expected.journal.events)
    assert lines > 80
    for at in range(1, lines + 1):
        path, store = tmp_path / f"{at}.jsonl", Store()
        killed(path, at, STORY, **whole(episodes=store))
        known = {event.key for event in read(path).events} if at > 1 else set()
        run = resumed(path, STORY, **whole(episodes=store))
        same(run, expected, at)
        assert not known & {one.key for one in run.house.asked}, at
        assert len(store.kept) == 1, at


def test_a_whole_journal_is_enough(tmp_path: Path) -> None:
    path, store = tmp_path / "j.jsonl", Store()
    first = resumed(path, STORY, **whole(episodes=store))
    again = resumed(path, STORY, **whole(episodes=store))
    assert again.outcome == first.outcome
    assert again.house.asked == []
    assert len(again.journal.events) == len(first.journal.events)


def test_a_run_that_runs_out_of_budget_ends_alike_after_a_kill(tmp_path: Path, quick: None) -> None:
    for outer_cap in (8.0, 9.0):  # three units a round, and two for the interview
        more = whole(budget=Budget(inner=None, outer=outer_cap, prices=PRICES))
        more["loop"] = outer(Reflex(max_iterations=1), confirmation=True, escalation="stop")
        expected = play(STORY, **more)
        assert expected.end == ("stopped", "budget_exhausted")
        assert expected.ledger.overall()["outer"] <= outer_cap
        assert expected.outcome.artifact is not None
        for at in range(1, len(expected.journal.events) + 1, 7):
            path = tmp_path / f"{outer_cap}-{at}.jsonl"
            killed(path, at, STORY, **more)
            same(resumed(path, STORY, **more), expected, at)


def test_pauses_and_answers_leave_the_journal_of_a_run_that_was_answered_at_once(tmp_path: Path, quick: None) -> None:
    """Three pauses: questions, the escalation, the confirmation; each is gone on from, and killed once more."""
    said = {step: word for step, word in STORY.items() if step not in ("answer", "escalate", "confirm_result")}
    path, ends = tmp_path / "j.jsonl", []
    words = {"answer": lambda key: f"the answer to {key.split('/')[-2]}", "escalate": lambda _: "budget 7",
             "confirm_result": lambda _: "yes"}  # fmt: skip
    answers: dict[str, str] = {}
    for _ in range(5):
        dying = Dying(path, at=30, after=False)
        with contextlib.suppress(Killed):  # the last part has fewer lines
            play(said, journal=dying, answers=answers, **whole())
        dying.close()
        run = resumed(path, said, answers=answers, **whole())
        ends.append(run.end)
        answers = {one["key"]: words[one["step"]](one["key"]) for one in run.waits}
    assert ends[:3] == [("paused", "questions"), ("paused", "escalate"), ("paused", "questions")]
    assert ends[-1] == ("completed", "verified")
    assert [one["decision"] for one in run.told["decisions"]] == ["budget"]


# Real kills


def parts(outputs: Path, slow: float) -> Parts:
    """The task and design of a run that takes some milliseconds a step, played by the design and the task."""
    from test_document import ROWS, WORDS, document

    loop = outer(Reflex(confirmation=False, max_iterations=2), escalation="accept", max_loops=2)
    config = {"model": {"name": "simulated", "skill": 0.75, "latency": slow}, "seed": 11, "agents": {},
              "outputs": str(outputs)}  # fmt: skip
    return Parts(task=document(*ROWS, WORDS), loop=loop, budget=MONEY, sandbox=None, tracking=None, config=config)


def facts(folder: Path) -> Any:
    state = json.loads((folder / "run.json").read_text())
    return timeless({name: state["outcome"][name] for name in ("status", "reason", "score", "facts")}), state["spent"]


def test_shot_again_and_again_it_ends_as_the_undisturbed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick_disk(monkeypatch)
    calm, wild = tmp_path / "calm" / "run", tmp_path / "wild" / "run"
    launch(parts(calm.parent, 0.0), calm)
    dice, hits = random.Random(5), 0

    def go_on() -> None:
        vars(reader)["_idle"] = {}  # the readers of checks are this process's own, not its parent's
        launch(parts(wild.parent, 0.01), wild)

    for _ in range(8):
        hits += os.WIFSIGNALED(shoot(in_child(go_on), dice.uniform(0.02, 0.25)))
    assert hits >= 3
    if not json.loads((wild / "run.json").read_text())["outcome"]:
        launch(parts(wild.parent, 0.0), wild)
    assert facts(wild) == facts(calm)
    steps = Counter(event.key for event in read(wild / "history.jsonl").events if event.key)
    assert max(steps.values()) == 1
    for outputs in (calm.parent, wild.parent):
        assert Episodes(outputs / STORE).runs() == ["run"]
        (episode,) = Episodes(outputs / STORE).all()
        assert "simulated" in episode.filled_by


def test_what_a_lost_line_of_the_journal_cost_is_not_lost(tmp_path: Path) -> None:
    run = resumed(tmp_path / "j.jsonl", STORY, **whole())
    assert run.ledger.overall() == pytest.approx(total(event.cost for event in run.journal.events))
    journal = Journal(tmp_path / "j.jsonl", sync=False)
    assert len(journal.events) == len(run.journal.events)
    journal.close()
