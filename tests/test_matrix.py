"""Every design on every family of tasks ends by name, simulated and offline (SPEC 0.7, 7)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from project_runs import project
from search_runs import Remembering, ladder
from test_document import ROWS, WORDS, Desk, document

from looper.agents.cast import Seats
from looper.budget import Budget, Ledger
from looper.build import instantiate
from looper.checks.sandbox import Sandbox
from looper.execution import execute
from looper.journal import Journal
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.loops.best_of import BestOf
from looper.loops.cabal import Cabal
from looper.loops.cascade import Cascade
from looper.loops.once import Once
from looper.loops.random_walk import RandomWalk
from looper.loops.reflex import Reflex
from looper.loops.retry import Retry
from looper.loops.workflow import Workflow
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.tasks.repair.kinds import Shipped
from looper.tasks.search.band import Band
from looper.tasks.search.needs import Need
from looper.tasks.search.relevance import Relevance
from looper.types import Outcome

CONF = Path(__file__).parents[1] / "conf"
DESIGNS: dict[str, Callable[[], Any]] = {
    "adaptive": lambda: Adaptive(max_steps=6), "baseline": lambda: Baseline(max_steps=4), "once": Once,
    "random_walk": lambda: RandomWalk(max_steps=4), "reflex": lambda: Reflex(max_iterations=3),
    "workflow": lambda: Workflow(max_fix_cycles=1, max_pivots=1, max_verifications=2),
    "cabal": lambda: Cabal(max_rounds=3), "retry": lambda: Retry(max_tries=4), "best_of": BestOf, "cascade": Cascade,
}  # fmt: skip
FAMILIES = ("dial", "repair", "search/band", "search/relevance", "document", "project")
NEED = "amber birch cedar daisy"
REASONS = {
    "completed": {"threshold_reached", "no_major_issues", "stable", "verified", "all_accepted"},
    "stopped": {"iteration_limit", "stagnation", "budget_exhausted", "time_limit", "no_new_plan", "round_limit"},
    "failed": {"phase_error", "impossible", "rejected"},
}
"""SPEC 0.2, as far as nobody interferes."""


def shipped_budget(name: str, **caps: Any) -> Budget:
    """A budget as it ships."""
    data = yaml.safe_load((CONF / "budget/default.yaml").read_text())
    data |= {k: v for k, v in yaml.safe_load((CONF / f"budget/{name}.yaml").read_text()).items() if k != "defaults"}
    return instantiate({**data, **caps}, "budget")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("matrix")
    library = ladder(folder)
    index = Remembering(source=library.source, cache=library.cache)
    found = {
        "dial": Dial(), "repair": Shipped(name="ships_bells", sandbox=Sandbox(), jobs=1, alternatives=8),
        "search/band": Band(collection=index, need=NEED, low=20, high=30),
        "search/relevance": Relevance(collection=index, need=NEED, labels=2, confirmed=2),
        "document": document(*ROWS, WORDS), "project": project(folder / "shop"),
    }  # fmt: skip
    relevant = frozenset(f"d{number:03}" for number in range(30))
    vars(found["search/relevance"])["known"] = Need(id="own", need=NEED, relevant=relevant)
    yield found
    for task in found.values():
        getattr(task, "close", lambda: None)()


def run(
    task: Any, loop: Any, model: str, budget: Budget | None = None, *, seed: int = 3, **seats: Any
) -> tuple[Outcome, Journal]:
    journal = Journal()
    roles = {**getattr(loop, "seats", {}), **seats}
    cast = Seats({"name": model}, roles, confirmed=True, design=loop)
    money = budget or shipped_budget(
        {"reflex": "iterations", "workflow": "tasks", "cabal": "rounds"}.get(loop.name, "default")
    )
    stage = Stage(task, cast, journal, Ledger(money), seed=seed, events=loop.events)
    return execute(loop, Run(stage)), journal


def named(outcome: Outcome) -> bool:
    return outcome.reason in REASONS.get(outcome.status, ())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_runs_on_every_task_with_simulated_roles(design: str, family: str, tasks: dict[str, Any]) -> None:
    outcome, journal = run(tasks[family], DESIGNS[design](), "simulated")
    assert named(outcome), outcome
    gave_up = design == "workflow" and outcome.reason in ("impossible", "rejected")  # its dice may say so
    assert outcome.status != "failed" or gave_up, outcome.facts.get("detail")
    assert outcome.artifact is not None, "something was evaluated, and the best of it is handed over"
    assert [event for event in journal.events if event.event == "evaluation_done"]


OFFLINE = [(design, family) for design in DESIGNS for family in ("dial", "repair", "search/band")]
"""Tasks whose policies fill every role."""


@pytest.mark.parametrize(("design", "family"), OFFLINE)
def test_designs_run_offline_where_the_roles_have_policies(design: str, family: str, tasks: dict[str, Any]) -> None:
    outcome, _ = run(tasks[family], DESIGNS[design](), "offline")
    assert named(outcome), outcome
    gave_up = design == "workflow" and outcome.reason == "impossible"  # one fix and one pivot are not enough for a dial
    assert outcome.status != "failed" or gave_up, outcome.facts.get("detail")
    assert outcome.artifact is not None
    if design in ("adaptive", "reflex") and family != "repair":
        assert outcome.score is not None


def test_the_iterations_of_reflex_afford_what_the_design_allows(tasks: dict[str, Any]) -> None:
    """Four iterations of a document that never gets there, every role a model's price: the limit ends it."""
    task, desk = tasks["document"], Desk({"produce": {"text": "no"}, "act": lambda q: q.returns(text=q.key)})
    loop, journal = Reflex(confirmation=False, blocked=9), Journal()
    ledger = Ledger(shipped_budget("iterations"))
    outcome = execute(loop, Run(Stage(task, desk, journal, ledger, events=loop.events)))
    assert outcome.reason == "iteration_limit"
    assert ledger.spent["outer"] <= 40


@pytest.mark.parametrize(("budget", "written"), [("default", 0), ("iterations", 3)])
def test_what_adaptive_affords_on_a_document(budget: str, written: int, tasks: dict[str, Any]) -> None:
    """With document 004's six units the plan's draft is judged and handed over; writing needs budget=iterations."""
    reply = {
        "plan": {"steps": ["s"], "draft": "# Terms\n\nA term is a word."},
        "evaluate": {},
        "replan": {"plan": None},
    }
    desk = Desk({**reply, "write": lambda q: q.returns(text=q.key)})
    loop, journal = Adaptive(), Journal()
    stage = Stage(tasks["document"], desk, journal, Ledger(shipped_budget(budget)), events=loop.events)
    outcome = execute(loop, Run(stage))
    assert named(outcome)
    assert outcome.status == "stopped"
    assert desk.count("write") >= written
    assert (desk.count("write") == 0) == (written == 0)
    assert outcome.artifact is not None, "the draft was evaluated"
