"""The trivial rival `once`: the first plan, looked at and handed over (SPEC 6.4)."""

from pathlib import Path
from typing import Any

import pytest
from search_runs import Played, Saying, budget, ladder, play

from looper.errors import Paused, PhaseError
from looper.loops.once import Once
from looper.tasks.dial import Dial
from looper.tasks.search.band import Band
from looper.testing import check_loop


@pytest.fixture
def once(tmp_path: Path) -> Any:
    def run(*keywords: str, **more: Any) -> Played:
        band = Band(collection=ladder(tmp_path), need="amber holly", low=10, high=30)
        return play(band, Once(), {"planner": Saying({"plan": [{"keywords": keywords}]})}, **more)

    return run


def test_a_plan_in_the_range_completes(once: Any) -> None:
    played = once("elder")
    assert (played.outcome.status, played.outcome.reason) == ("completed", "threshold_reached")
    assert played.task.parse(played.outcome.artifact).total == 24


def test_a_plan_outside_the_range_stops_by_name_and_is_handed_over(once: Any) -> None:
    played = once("birch")
    assert (played.outcome.status, played.outcome.reason, played.outcome.score) == ("stopped", "iteration_limit", 0.25)
    assert played.task.parse(played.outcome.artifact).total == 192


def test_it_takes_one_plan_and_nothing_else(once: Any) -> None:
    played = once("birch")
    assert [event.step for event in played.journal.events] == ["prepare", "plan", "observe", "gate"]
    assert played.units == {"inner": 0, "outer": 2.0}
    assert played.outcome.facts == {"planner_calls": 1, "inner_steps": 0, "log": []}


def test_without_units_for_the_plan_it_stops_by_name(once: Any) -> None:
    played = once("birch", budget=budget(outer=1.0))
    assert (played.outcome.status, played.outcome.reason) == ("stopped", "budget_exhausted")
    assert played.outcome.artifact is None


@pytest.mark.parametrize(
    ("error", "status"),
    [(PhaseError("No.", "auth_denied"), "failed"), (Paused("Later.", "rate_limited"), "paused")],
)
def test_however_it_ends_the_facts_of_the_comparison_are_there(
    once: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, status: str
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("looper.tasks.search.index.Embedded.search", refuse)
    played = once("birch")
    assert played.outcome.status == status
    assert {"planner_calls", "inner_steps", "log"} <= played.outcome.facts.keys()


def test_it_conforms() -> None:
    check_loop(Once(), Dial(low=4.0, high=5.0))
