"""The inner designs under the outer loop: ends, gaps in their prompts, budgets, and what later runs learn (issue 7)."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from outer_players import CONF, FREE, PROMPTS, Store, outer
from search_runs import Remembering, ladder
from test_document import ROWS, WORDS, document
from test_matrix import shipped_budget

from looper.agents.cast import Seats
from looper.agents.prompt import Templates
from looper.budget import Budget, Ledger
from looper.checks.sandbox import Sandbox
from looper.episodes import STORE, Episodes
from looper.errors import BudgetExceeded
from looper.execution import execute
from looper.journal import Journal
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.loops.cabal import Cabal
from looper.loops.gather_verify import STEPS, policies
from looper.loops.gather_verify.answers import Assessment
from looper.loops.gather_verify.verification import digest
from looper.loops.once import Once
from looper.loops.reflex import Reflex
from looper.loops.workflow import Workflow
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.tasks.repair.kinds import Shipped
from looper.tasks.search.band import Band
from looper.types import Outcome, Question, Reply


def words(name: str) -> dict[str, Any]:
    return yaml.safe_load((CONF / f"loop/_prompts_{name}.yaml").read_text())


DESIGNS: dict[str, Callable[[], Any]] = {
    "adaptive": lambda: Adaptive(max_steps=6), "baseline": lambda: Baseline(max_steps=4), "once": Once,
    "reflex": lambda: Reflex(max_iterations=3, confirmation=False),
    "workflow": lambda: Workflow(max_fix_cycles=1, max_pivots=1, max_verifications=2, prompts=words("workflow")),
    "cabal": lambda: Cabal(max_rounds=3, prompts=words("cabal")),
}  # fmt: skip
REASONS = {
    "completed": {"verified"},
    "stopped": {"stagnation", "round_limit", "budget_exhausted", "iteration_limit", "no_new_plan", "accepted"},
    "failed": {"rejected", "impossible"},
}
NEED = "amber birch cedar daisy"
LIMITED = ("adaptive", "reflex", "workflow", "cabal", "baseline", "once")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    library = ladder(tmp_path_factory.mktemp("outer"))
    index = Remembering(source=library.source, cache=library.cache)
    found = {
        "document": document(*ROWS, WORDS), "dial": Dial(),
        "repair": Shipped(name="ships_bells", sandbox=Sandbox(), jobs=1, alternatives=8),
        "search": Band(collection=index, need=NEED, low=20, high=30),
    }  # fmt: skip
    yield found
    for task in found.values():
        getattr(task, "close", lambda: None)()


class Watching(Ledger):
    """A ledger that looks at every promise whether spent + reserved is above a cap."""

    def reserve(self, name: str, worst: Any) -> Any:
        hold = super().reserve(name, worst)
        for account, cap in self.caps.items():
            assert self.spent.get(account, 0.0) + self.promised.get(account, 0.0) <= cap + 1e-9, (name, account)
        return hold


def run(
    design: str, task: Any, model: str = "simulated", budget: Budget | None = None, cast: Any = None, **more: Any
) -> tuple[Outcome, Journal, Ledger]:
    settings = {"escalation": "stop", **more.pop("settings", {})}
    loop = outer(DESIGNS[design](), **settings)
    filled = {"name": model, **({"skill": 0.8} if model == "simulated" else {})}
    cast = (cast or Seats)(filled, getattr(loop, "seats", {}), confirmed=True, design=loop)
    journal, ledger = Journal(), Watching(budget or shipped_budget("outer_loop"))
    stage = Stage(task, cast, journal, ledger, seed=3, events=loop.events, **more)
    return execute(loop, Run(stage)), journal, ledger


def told(journal: Journal) -> dict[str, Any]:
    return [journal.payload(event) for event in journal.events if event.event == "outer_updated"][-1]


def check(outcome: Outcome, journal: Journal) -> None:
    """A named end, and an artifact with the score of its own verification."""
    assert outcome.reason in REASONS.get(outcome.status, ()), outcome
    verdicts = told(journal)["verdicts"]
    assert (outcome.artifact is None) == (not verdicts)
    if verdicts:
        own = [one for one in verdicts if one["artifact"] == digest(str(outcome.artifact))]
        assert outcome.score in {one["gate"] for one in own}
        assert (outcome.status == "completed") == (own[-1]["outcome"] == "VERIFIED")


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_runs_on_a_document_with_simulated_roles(design: str, tasks: dict[str, Any]) -> None:
    outcome, journal, _ = run(design, tasks["document"])
    check(outcome, journal)
    assert outcome.artifact is not None


@pytest.mark.parametrize("family", ["dial", "repair", "search"])
@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_runs_with_policies_alone(design: str, family: str, tasks: dict[str, Any]) -> None:
    outcome, journal, ledger = run(design, tasks[family], "offline")
    check(outcome, journal)
    assert outcome.artifact is not None
    assert {event.by for event in journal.events if event.by} <= {"policy"}
    assert told(journal)["interviewed"]["complete"]["score"] >= 0.95
    assert ledger.overall().get("usd", 0.0) == 0.0


def test_repair_and_search_are_verified_with_policies_alone(tasks: dict[str, Any]) -> None:
    for family in ("repair", "search"):
        outcome, journal, _ = run("adaptive", tasks[family], "offline")
        assert (outcome.status, outcome.reason) == ("completed", "verified"), family
        assert told(journal)["verdicts"][-1]["layers"]["semantic"] is None, "nobody has read it"


# Gaps arrive in every prompt of the next round


class Spy(Seats):
    """Keeps each question's prompt as a model would read it; the reader finds every first result wanting."""

    seen: list[tuple[str, str, str]]

    def agent(self, role: str, step: str, task: Any) -> Any:
        agent, seats = super().agent(role, step, task), self
        if "seen" not in vars(self):
            self.seen = []

        class Listening:
            kind = getattr(agent, "kind", "model")

            def answer(self, question: Question) -> Reply:
                if step == "assess":
                    return Reply(value=wanting(question), by="simulated")
                templates = Templates(prompts=seats._words(role, task)["prompts"])
                text = "\n".join(message["content"] for message in templates.messages(question))
                seats.seen.append((question.key, step, text))
                return agent.answer(question)

        return Listening()


CANARY = "the second paragraph sounds like a canary"


def wanting(question: Question) -> Assessment:
    rows = question.context["criteria"]
    verdict = [{"id": row["id"], "verdict": "met", "reason": "read"} for row in rows]
    verdict[0] |= {"verdict": "not_met", "reason": CANARY}
    return Assessment.model_validate({"verdicts": verdict})


ROLES = {
    "reflex": {"plan", "produce"}, "workflow": {"tasks", "produce", "write", "code", "act"}, "cabal": {"bootstrap"},
    "adaptive": {"plan"}, "baseline": {"act"}, "once": {"plan"},
}  # fmt: skip


@pytest.mark.parametrize("design", LIMITED)
def test_the_gaps_are_in_the_prompts_of_the_next_round(design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spies = list[Spy]()

    def cast(*args: Any, **more: Any) -> Spy:
        spies.append(Spy(*args, **more))
        return spies[-1]

    judged = [{"id": "tone", "description": "the tone is kind", "verify": {"judge": "is the tone kind?"}}]
    given = policies.BY_STEP["ideal"]

    def ideal(**context: Any) -> Any:
        found = given(**context)
        return type(found).model_validate({**found.model_dump(), "criteria": judged})

    monkeypatch.setitem(policies.BY_STEP, "ideal", ideal)
    settings = {"thresholds": {"verified": 0.9, "gaps": 0.0}, "max_loops": 1}
    if design == "baseline":  # its gate must not be met, or it has nothing to do
        monkeypatch.setitem(DESIGNS, design, lambda: Baseline(max_steps=2))
    outcome, journal, _ = run(design, document(*ROWS), budget=FREE, cast=cast, settings=settings)
    first = told(journal)["verdicts"][0]
    assert first["outcome"] == "GAPS_IDENTIFIED", outcome.facts["detail"]
    again = {step: text for key, step, text in spies[0].seen if key.startswith("inner.2/")}
    assert ROLES[design] & again.keys()
    for step, text in again.items():
        assert CANARY in text, (design, step)
        assert "sent back" in text or "gaps" in text, (design, step)
    before = [text for key, _, text in spies[0].seen if key.startswith("inner.1/")]
    assert not any(CANARY in text for text in before)


def test_no_step_of_the_outer_loop_has_the_name_of_one_of_an_inner_design() -> None:
    """Or the prompt and the policy of one would answer the other."""
    own = {step for role, steps in STEPS.items() for step in steps} - {"confirm"}
    for name, make in DESIGNS.items():
        inner = {step for steps in getattr(make(), "steps", {}).values() for step in steps}
        assert not own & inner, name
        assert not (PROMPTS.keys() - {"+*"}) & inner, name
    for file in (CONF / "task").glob("**/_base.yaml"):
        prompts = yaml.safe_load(file.read_text()).get("prompts") or {}
        assert not own & prompts.keys(), file


# Budgets


@pytest.mark.parametrize("design", DESIGNS)
def test_what_verifies_is_kept_from_the_start(design: str, tasks: dict[str, Any]) -> None:
    """However little there is: what an inner loop has evaluated and hands over is verified."""
    cases = [("document", "simulated", "outer", (8.0, 14.0, 20.0)), ("dial", "offline", "inner", (0.6, 0.9, 1.3))]
    for family, model, account, caps in cases:
        for cap in caps:
            outcome, journal, ledger = run(
                design, tasks[family], model, budget=shipped_budget("outer_loop", **{account: cap})
            )
            check(outcome, journal)
            assert ledger.overall().get(account, 0.0) <= cap + 1e-9
            looked = [event for event in journal.events if event.event == "evaluation_done"]
            verified = [event for event in journal.events if event.event == "outer_verified"]
            assert bool(looked) == bool(verified), (family, cap, outcome.facts["detail"])


def test_a_budget_that_could_not_pay_a_verification_is_refused_at_once(tasks: dict[str, Any]) -> None:
    outcome, journal, _ = run("reflex", tasks["document"], budget=shipped_budget("outer_loop", outer=0.5))
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    assert not [event for event in journal.events if event.step in ("research", "produce")]


def test_where_limits_are_asked_about_the_run_pauses(tasks: dict[str, Any]) -> None:
    budget = shipped_budget("outer_loop", outer=9.0, on_limit="ask")
    outcome, _, _ = run("reflex", tasks["document"], budget=budget)
    assert (outcome.status, outcome.reason) == ("paused", "confirm")


def test_what_an_inner_loop_has_kept_for_its_close_is_free_for_the_next_one(tasks: dict[str, Any]) -> None:
    class Keeping(Reflex):
        name = "keeping"

        def run(self, task: Any, run: Run) -> Outcome:
            run.ledger.keep("its own close", {"outer": 3.0})
            return super().run(task, run)

    loop = outer(Keeping(confirmation=False, max_iterations=1), escalation="stop", max_loops=2)
    cast = Seats({"name": "simulated", "skill": 0.8}, {}, confirmed=True, design=loop)
    ledger = Ledger(Budget(inner=None, outer=4.0))
    outcome = execute(loop, Run(Stage(tasks["document"], cast, Journal(), ledger, events=loop.events)))
    assert "its own close" not in ledger.kept
    assert outcome.reason != "budget_exhausted"


# LEARN


def test_the_episode_of_a_simulation_is_labelled(tmp_path: Path, tasks: dict[str, Any]) -> None:
    store = Episodes(tmp_path / STORE)
    outcome, _, ledger = run("reflex", tasks["document"], episodes=store)
    (episode,) = store.all()
    assert (episode.status, episode.reason) == (outcome.status, outcome.reason)
    assert "simulated" in episode.filled_by
    assert episode.design == "reflex"
    assert episode.outer == "gather_verify"
    assert episode.cost["outer"] == pytest.approx(ledger.overall()["outer"])
    assert store.similar("write a letter")[0].lesson.startswith("[simulation]")


def test_a_later_run_is_shown_what_an_earlier_one_came_to(tmp_path: Path) -> None:
    store = Episodes(tmp_path / STORE)
    first, journal, _ = run("reflex", document(*ROWS), episodes=store)
    assert told(journal)["gathered"]["episodes"] == []
    store.append(store.all()[0].model_copy(update={"run": "an-earlier-one"}))
    _, later, _ = run("reflex", document(*ROWS), episodes=store)
    assert [one["run"] for one in told(later)["gathered"]["episodes"]] == ["an-earlier-one", "in-memory"]
    _, without, _ = run("reflex", document(*ROWS), episodes=store, settings={"recall": 0})
    assert told(without)["gathered"]["episodes"] == []
    assert first.reason


def test_the_same_run_is_in_the_store_once() -> None:
    store = Store()
    for _ in range(2):
        run("once", document(*ROWS), episodes=store)
    assert list(store.kept) == ["in-memory"]
    assert "holdout" not in json.dumps(store.kept["in-memory"].model_dump())


def test_names_of_parametrised_tests_make_criteria_that_differ() -> None:
    rows = [{"id": f"t/test_a.py::test_it[{sign}]", "severity": "must", "description": "it passes"} for sign in "+-*"]
    rows += [{"id": "x" * 100 + end, "severity": "must", "description": "it passes"} for end in "ab"]
    found = policies.ideal(objective="make the tests pass", rules=rows, threshold=1.0)
    assert len({one.id for one in found.criteria}) == 5
    assert [one.verify.rule for one in found.criteria] == [row["id"] for row in rows]


def test_an_inner_design_that_cannot_be_paid_ends_by_that_name() -> None:
    class Raising(Once):
        def run(self, task: Any, run: Run) -> Outcome:
            raise BudgetExceeded("the plan costs too much")

    loop = outer(Raising(), escalation="stop")
    cast = Seats({"name": "simulated"}, {}, confirmed=True, design=loop)
    outcome = execute(loop, Run(Stage(document(*ROWS), cast, Journal(), Ledger(FREE), events=loop.events)))
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    assert "the plan costs too much" in outcome.facts["detail"]
