"""The trivial rivals retry, best_of and cascade: independent draws, the gate decides, the same accounts (SPEC 6.4)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, completion
from test_document import ROWS, WORDS, document
from test_matrix import shipped_budget

from looper.agents.cast import Seats
from looper.agents.policy import Policy
from looper.agents.prompt import Templates
from looper.budget import Ledger
from looper.errors import Paused
from looper.execution import execute
from looper.journal import Event, Journal
from looper.loops.best_of import BestOf
from looper.loops.cascade import Cascade
from looper.loops.retry import Retry
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.testing import check_loop
from looper.types import Outcome, Question, Reply

WRONG, NEAR, RIGHT = {"position": 1.0}, {"position": 17.0}, {"position": 18.0}
"""Of the dial's plans only the last one reads in the band."""
PRICE = {"input": 1.0, "output": 2.0}


@dataclass
class Drawer:
    """Answers questions one by one, the last answer again; keeps them. Not a policy."""

    answers: Sequence[Any]
    asked: list[Question] = field(default_factory=list)
    kind: str = "simulated"
    by_key: Mapping[str, Any] = field(default_factory=dict)

    def agent(self, role: str, step: str, task: Any) -> Any:
        return self if task.policy(step) is None or step in ("plan", "produce") else Policy()

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        told = self.by_key.get(question.key)
        told = self.answers[min(len(self.asked), len(self.answers)) - 1] if told is None else told
        if isinstance(told, Exception):
            raise told
        return Reply(value=question.returns.model_validate(told))


def play(loop: Any, cast: Any, task: Any = None, journal: Journal | None = None, **caps: Any) -> Outcome:
    """A run in memory, by default without a cap."""
    ledger = Ledger(shipped_budget("default", **({"inner": None, "outer": None} | caps)))
    stage = Stage(task or Dial(), cast, journal if journal is not None else Journal(), ledger, events=loop.events)
    return execute(loop, Run(stage))


def end(outcome: Outcome) -> tuple[str, str]:
    return outcome.status, outcome.reason


def position(outcome: Outcome) -> float:
    return float(outcome.artifact)


# Retry


def test_a_retry_asks_until_the_gate_passes_and_not_once_more() -> None:
    drawer = Drawer([WRONG, NEAR, RIGHT, WRONG])
    outcome = play(Retry(), drawer)
    assert end(outcome) == ("completed", "threshold_reached")
    assert (position(outcome), len(drawer.asked)) == (18.0, 3)
    assert [entry["score"] for entry in outcome.facts["log"]] == [0.0, 0.0, 1.0]
    assert (outcome.facts["draws"], outcome.facts["planner_calls"], outcome.facts["inner_steps"]) == (3, 3, 0)


def test_the_questions_of_a_retry_differ_by_their_keys_alone() -> None:
    """No feedback: not a word of what was wrong, not even that there was a draw before."""
    drawer = Drawer(["hello, bye", "# Terms\n\nhello a term is a word, bye"])
    drawer.answers = [{"text": text} for text in drawer.answers]
    task = document(*ROWS)
    play(Retry(), drawer, task)
    first, second = drawer.asked
    assert first.key != second.key
    assert first.model_copy(update={"key": second.key}) == second
    asked = [Templates(prompts=task.prompts).messages(one.model_copy(update={"key": "k"})) for one in drawer.asked]
    assert asked[0] == asked[1]
    assert (first.role, first.step) == ("producer", "produce")


def test_a_retry_ends_by_name_when_its_tries_or_its_units_are_used_up() -> None:
    assert end(play(Retry(max_tries=3), Drawer([WRONG]))) == ("stopped", "iteration_limit")
    drawer = Drawer([NEAR, WRONG])
    outcome = play(Retry(), drawer, outer=6.0)
    assert end(outcome) == ("stopped", "budget_exhausted")
    assert (len(drawer.asked), outcome.facts["log"][-1]["outer_left"]) == (3, 0.0)
    assert position(outcome) == 17.0, "of equals the first is the best"


def test_without_units_for_a_single_draw_the_end_says_what_is_short() -> None:
    for loop in (Retry(), BestOf(), Cascade()):
        outcome = play(loop, Drawer([RIGHT]), outer=1.0)
        assert end(outcome) == ("stopped", "budget_exhausted")
        assert "budget.outer=" in outcome.facts["detail"]
        assert outcome.artifact is None
        assert outcome.facts["draws"] == 0


@pytest.mark.parametrize("loop", [Retry(), BestOf(n=5), Cascade(cheap_tries=3)])
def test_a_policy_is_drawn_once_for_its_next_draw_would_be_the_same(loop: Any) -> None:
    outcome = play(loop, Seats({"name": "offline"}, design=loop))
    assert end(outcome) == ("stopped", "stagnation")
    assert outcome.facts["draws"] == 1
    assert position(outcome) == 0.0


@pytest.mark.parametrize("loop", [Retry(max_tries=4), BestOf(n=3), Cascade(cheap_tries=2, dear_tries=2)])
def test_the_rivals_conform(loop: Any) -> None:
    """Ends by name, replays, survives a kill anywhere, keeps to its budget."""
    check_loop(loop, Dial(low=-1.0, high=1.0))
    check_loop(loop, Dial())


@pytest.mark.parametrize("loop", [Retry(max_tries=4), BestOf(n=3), Cascade(cheap_tries=2, dear_tries=2)])
def test_a_kill_between_any_two_steps_repeats_no_draw(loop: Any, tmp_path: Path) -> None:
    whole = Journal(tmp_path / "whole.jsonl", sync=False)
    wanted = play(loop, Drawer([WRONG, NEAR, WRONG]), journal=whole)
    assert end(wanted)[0] == "stopped"
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    for kept in range(len(lines) + 1):
        path = tmp_path / f"{kept}.jsonl"
        path.write_bytes(b"".join(lines[:kept]))
        journal = Journal(path, sync=False)
        done = [event for event in journal.events if event.step == "plan"]
        drawer = Drawer([WRONG], by_key={e.key: whole.payload(e) for e in whole.events if e.step == "plan"})
        assert play(loop, drawer, journal=journal) == wanted
        assert len(drawer.asked) + len(done) == wanted.facts["draws"]


def test_a_draw_that_was_paid_for_is_judged_though_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    drawer = Drawer([RIGHT])
    spent = [0.0]
    monkeypatch.setattr(Ledger, "seconds_left", lambda self: 10.0 - spent[0])
    answered = drawer.answer

    def slowly(question: Question) -> Reply:
        spent[0] = 11.0
        return answered(question)

    monkeypatch.setattr(drawer, "answer", slowly)
    outcome = play(Retry(), drawer, seconds=10.0)
    assert end(outcome) == ("completed", "threshold_reached")
    spent[0] = 0.0
    drawer.answers = [WRONG]
    assert end(play(Retry(), drawer, seconds=10.0)) == ("stopped", "time_limit")


def test_a_person_in_the_seat_pauses_the_run(tmp_path: Path) -> None:
    loop = Retry()
    outcome = play(loop, Seats({"name": "human"}, design=loop))
    assert outcome.status == "paused"
    journal = Journal(tmp_path / "run.jsonl", sync=False)
    assert play(loop, Drawer([WRONG, Paused("Later.", "rate_limited")]), journal=journal).status == "paused"
    drawer = Drawer([RIGHT])
    assert end(play(loop, drawer, journal=journal)) == ("completed", "threshold_reached")
    assert [question.key for question in drawer.asked] == ["iteration.2/plan.1"]


def test_a_run_of_a_rival_is_a_recording_of_it(tmp_path: Path) -> None:
    for loop in (Retry(), BestOf(), Cascade(cheap_tries=3)):
        folder = tmp_path / loop.name
        folder.mkdir()
        journal = Journal(folder / "history.jsonl", sync=False)
        first = play(loop, Drawer([WRONG, NEAR, RIGHT]), journal=journal)
        journal.close()
        again = play(loop, Seats({"name": "recording", "path": str(folder)}, design=loop))
        assert again == first


# Best of N


def test_the_best_of_n_is_handed_over_and_all_are_drawn() -> None:
    drawer = Drawer([], by_key={f"parallel.1/draw-{n}/plan.1": plan for n, plan in enumerate((WRONG, RIGHT, NEAR), 1)})
    outcome = play(BestOf(), drawer)
    assert end(outcome) == ("completed", "threshold_reached")
    assert (position(outcome), len(drawer.asked)) == (18.0, 3)


def test_of_equally_good_draws_the_first_is_handed_over() -> None:
    keys = {f"parallel.1/draw-{n}/plan.1": {"position": 17.0 + n / 2} for n in range(1, 6)}
    outcome = play(BestOf(n=5), Drawer([], by_key=keys))
    assert position(outcome) == 18.0, "the second one passes too"
    outcome = play(BestOf(n=3), Drawer([], by_key={key: {"position": float(n)} for n, key in enumerate(keys)}))
    assert end(outcome) == ("stopped", "iteration_limit")
    assert position(outcome) == 0.0


def test_n_shrinks_to_what_the_units_pay_and_says_so() -> None:
    drawer = Drawer([WRONG])
    outcome = play(BestOf(n=5), drawer, outer=7.0)
    assert end(outcome) == ("stopped", "budget_exhausted")
    assert (len(drawer.asked), outcome.facts["draws"]) == (3, 3)
    assert sorted(q.key for q in drawer.asked) == [f"parallel.1/draw-{n}/plan.1" for n in (1, 2, 3)]


def test_whoever_judges_a_draw_is_paid_from_the_start() -> None:
    """A draw that nobody could afford to judge is not made (SPEC 0.5)."""
    for loop, draws in ((BestOf(), 2), (Retry(), 2), (Cascade(dear_tries=3), 2)):
        drawer = Drawer([], by_key={})
        drawer.answers = [{"text": "hello"}]
        judged = {"judge": lambda q: q.returns(nonce=q.context["nonce"], score=0.0, reason="no")}
        outcome = play(loop, Judging(drawer, judged), document(*ROWS, WORDS), outer=6.0)
        assert end(outcome) == ("stopped", "budget_exhausted"), loop
        assert outcome.facts["draws"] == draws
        assert outcome.artifact is not None


@dataclass
class Judging:
    """A drawer beside judges."""

    drawer: Drawer
    others: Mapping[str, Callable[[Question], Any]]

    def agent(self, role: str, step: str, task: Any) -> Any:
        return Called(self.others[step]) if step in self.others else self.drawer.agent(role, step, task)


@dataclass
class Called:
    answers: Callable[[Question], Any]
    kind: str = "simulated"

    def answer(self, question: Question) -> Reply:
        return Reply(value=self.answers(question))


# Cascade


def test_the_dear_one_is_asked_only_after_the_cheap_one_failed() -> None:
    drawer = Drawer([RIGHT])
    assert end(play(Cascade(), drawer)) == ("completed", "threshold_reached")
    assert [question.role for question in drawer.asked] == ["cheap"]
    drawer = Drawer([WRONG, WRONG, NEAR, RIGHT])
    outcome = play(Cascade(cheap_tries=3, dear_tries=2), drawer)
    assert [question.role for question in drawer.asked] == ["cheap", "cheap", "cheap", "dear"]
    assert [entry["action"] for entry in outcome.facts["log"]] == ["draw by cheap"] * 3 + ["draw by dear"]
    assert end(play(Cascade(), Drawer([WRONG]))) == ("stopped", "iteration_limit")


def test_a_policy_in_one_stage_alone_is_drawn_once_there() -> None:
    drawer, loop = Drawer([WRONG]), Cascade(cheap_tries=4, dear_tries=2)

    class Mixed:
        def agent(self, role: str, step: str, task: Any) -> Any:
            return Policy() if role == "cheap" else drawer

    outcome = play(loop, Mixed())
    assert end(outcome) == ("stopped", "iteration_limit")
    assert [entry["action"] for entry in outcome.facts["log"]] == ["draw by cheap", "draw by dear", "draw by dear"]


# Models: who is called at what temperature


@pytest.fixture
def served() -> Any:
    """Runs a design with models on loopback; what they were asked, and how it ended."""

    def run(loop: Any, plans: Sequence[Any], roles: Mapping[str, Any] | None = None, **caps: Any) -> Any:
        told = iter([json.dumps(plan) for plan in plans])
        events: list[Event] = []
        with ModelServer(lambda handler: handler.send(completion(next(told)))) as server:
            own = {"name": "openai/one", "base_url": server.url, "price": PRICE, "max_tokens": 100, "schema": "prompt"}
            journal = Journal()
            outcome = play(loop, Seats(own, roles or {}, design=loop), journal=journal, **caps)
            events += journal.events
        return outcome, server.requests, events

    return run


def test_warming_raises_the_temperature_with_every_try(served: Any) -> None:
    outcome, requests, _ = served(Retry(warming=[0, 0.1, 0.2]), [WRONG] * 4 + [RIGHT])
    assert end(outcome) == ("completed", "threshold_reached")
    assert [request["temperature"] for request in requests] == [0, 0.1, 0.2, 0.2, 0.2]
    assert [entry["temperature"] for entry in outcome.facts["log"]] == [0, 0.1, 0.2, 0.2, 0.2]


def test_without_warming_the_configured_temperature_holds(served: Any) -> None:
    outcome, requests, _ = served(Retry(), [WRONG, RIGHT])
    assert [request["temperature"] for request in requests] == [0.2, 0.2]
    assert "temperature" not in outcome.facts["log"][0]


def test_each_stage_of_a_cascade_has_its_own_model(served: Any) -> None:
    roles = {"dear": {"model": "openai/two", "price": {"input": 10.0, "output": 20.0}}}
    outcome, requests, events = served(Cascade(), [WRONG, RIGHT], roles)
    assert end(outcome) == ("completed", "threshold_reached")
    assert [request["model"] for request in requests] == ["one", "two"]
    cheap, dear = (event.calls[0].usd for event in events if event.event == "plan_created")
    assert dear == pytest.approx(10 * cheap)


def test_draws_that_cannot_be_reserved_side_by_side_are_made_one_by_one(served: Any) -> None:
    """Five worst cases at a time are beyond the cap; each alone is not, until the money is gone."""
    outcome, requests, events = served(BestOf(n=5), [WRONG] * 5, usd=0.0045)
    assert end(outcome) == ("stopped", "iteration_limit"), outcome
    assert (len(requests), outcome.facts["draws"]) == (5, 5)
    worst = next(event.payload["worst"]["usd"] for event in events if event.event == "call_started")
    assert 5 * worst > 0.0045 > worst
    outcome, requests, _ = served(BestOf(n=5), [WRONG] * 5, usd=worst * 1.05)
    assert end(outcome) == ("stopped", "budget_exhausted")
    assert 1 <= len(requests) < 5
    assert outcome.artifact is not None
