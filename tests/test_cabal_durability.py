"""A killed mission goes on from its journal to the same end, and no step is paid twice (SPEC 0.9)."""

from pathlib import Path
from typing import Any

import pytest
from cabal_players import (
    Company,
    Paper,
    Played,
    charter,
    concern,
    inspect_all,
    plan_all,
    play,
    script,
    version,
    work,
    write_all,
)  # fmt: skip
from players import Dying, Killed, story

from looper.budget import Budget, Price, total
from looper.errors import ReplayMismatch
from looper.journal import Journal
from looper.loops.cabal.rounds import STEP_NAMES

MUCH = Budget(inner=None, outer=None, prices={step: Price(outer=2.0) for step in STEP_NAMES.values()})
ANSWERS = {"halt.1": "Spain", "iteration.2/halt.1": "Yes, in May."}


def cites(context: dict[str, Any]) -> dict[str, Any]:
    """The price list leans on a version of the landing page."""
    return {"versions": [version("p2", "All about p2, as in [[v:p1:1]].")]}


def plot(answered: bool = True) -> Any:
    """Two halts, requests, a refused version, acceptance, an accepted product that is opened again, a flag."""
    return script(
        answers=ANSWERS if answered else {},
        r0_chair_bootstrap={"halt": "Which country?"}, r0_chair_bootstrap_2=charter(),
        r1_chair_assign={"assignments": [work("p1", "o1"), work("p3", "o3")]},
        r1_o3_compose=lambda c: {"versions": [*write_all(c)["versions"], version("p1", "Not mine.")]},
        r1_o2_peer_review={"collabs": [concern("p1", 6, "Say more.")]},
        r1_watchdog_inspect=lambda c: inspect_all(c, p3=[9]),
        r2_o3_reflect={"request_context": ["p1"]}, r2_o3_reflect_2={"assessment": "I see."},
        r2_chair_assign={"halt": "In May?"},
        r2_chair_assign_2=lambda c: plan_all(c) | {"overrides": {"constraints": ["By May"]}},
        r2_o2_compose=cites,
        r3_chair_assign={"assignments": [work("p1", "o1")]},
        r4_chair_assign={"assignments": [work("p2", "o2")]},
    )  # fmt: skip


def whole(journal: Journal | None = None, **more: Any) -> Played:
    cast = Company(plot(), metered=more.pop("metered", False))
    return play(journal=journal, task=Paper(rows={"a.completeness.page": ("fail", "p1 in round 3")}), cast=cast,
                budget=MUCH, artifact="bare", **more)  # fmt: skip


def test_the_mission_has_everything_in_it() -> None:
    run = whole()
    board = run.board
    assert run.end == ("completed", "all_accepted")
    assert [one.answer for one in board.halts] == ["Spain", "Yes, in May."]
    assert [one.author for one in board.requests] == ["o3"]
    assert [(one.author, one.operation) for one in board.rejections] == [("o3", "version of p1")]
    assert [(one.product, one.round) for one in board.happenings if one.kind == "reopened"] == [("p2", 3)]
    assert [(one.product, one.round) for one in board.happenings if one.kind == "blocked"] == [("p3", 1)]
    assert {one.product for one in board.happenings if one.kind == "accepted"} == {"p1", "p2", "p3"}
    assert board.constraints == ("By May",)
    assert board.round == 4


def killed(path: Path, at: int, *, after: bool = False, **more: Any) -> Played:
    """The run killed at its n-th line, and the rest of it in another process."""
    dying = Dying(path, at=at, after=after)
    with pytest.raises(Killed):
        whole(dying, **more)
    dying.close()
    journal = Journal(path, sync=False)
    known = list(journal.steps)
    run = whole(journal, **more)
    assert [one.name for one in run.cast.asked if one.question.key in known] == [], "no step is paid twice"
    run.journal.close()
    return run


def lines(run: Played) -> list[dict[str, Any]]:
    """Steps without their order: branches side by side may end in any; nothing of a clock."""
    left_out = ("seq", "prev", "hash", "seconds", "elapsed")
    found = [{k: v for k, v in line.items() if k not in left_out} for line in story(run.journal.events)]
    return sorted((line for line in found if line["key"]), key=lambda line: line["key"])


@pytest.mark.parametrize(("after", "each"), [(False, 1), (True, 6)], ids=["before every line", "after some"])
def test_killed_at_a_line_it_comes_to_the_same_end(tmp_path: Path, after: bool, each: int) -> None:
    expected = whole()
    count = len(expected.journal.events)
    assert count > 60
    told = lines(expected)
    for at in range(1, count + 1, each):
        run = killed(tmp_path / f"{at}.jsonl", at, after=after)
        assert run.outcome == expected.outcome, at
        assert lines(run) == told, at
        assert run.board == expected.board, at
        assert run.ledger.spent == expected.ledger.spent, at


def test_a_call_in_flight_at_the_kill_is_in_the_ledger_as_lost_and_no_other_is_made_again(tmp_path: Path) -> None:
    expected = whole(metered=True)
    lost = 0
    for at in range(1, len(expected.journal.events) + 1, 9):
        run = killed(tmp_path / f"{at}.jsonl", at, metered=True)
        assert run.outcome == expected.outcome, at
        labels = [call.label for event in run.journal.steps.values() for call in event.calls]
        lost += labels.count("lost")
        assert run.ledger.spent == pytest.approx(total(event.cost for event in run.journal.steps.values()))
    assert lost > 0


def test_a_whole_journal_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    first = whole(Journal(path, sync=False))
    first.journal.close()
    again = whole(Journal(path, sync=False))
    assert (again.outcome, again.cast.names) == (first.outcome, [])
    assert len(again.journal.events) == len(first.journal.events)
    again.journal.close()


def test_a_pause_and_an_answer_leave_the_journal_of_a_run_that_was_answered_at_once() -> None:
    journal, names = Journal(), list[str]()
    task = Paper(rows={"a.completeness.page": ("fail", "p1 in round 3")})
    for answers in ({}, {"halt.1": "Spain"}, ANSWERS):
        cast = Company(plot(answered=False))
        cast.script.answers = dict(answers)
        run = play(journal=journal, task=task, cast=cast, budget=MUCH, artifact="bare")
        names += run.cast.names
        if answers != ANSWERS:
            assert run.end == ("paused", "halt")
    expected = whole()
    assert run.outcome == expected.outcome
    assert lines(run) == lines(expected)
    assert sorted(names) == sorted([*expected.cast.names, "0 user halt", "2 user halt"]), "only questions are put again"


def test_another_setting_is_not_taken_for_the_same_run() -> None:
    run = play(max_rounds=1)
    with pytest.raises(ReplayMismatch):
        play(journal=run.journal, max_rounds=1, max_operatives=2)
