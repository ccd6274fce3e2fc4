"""A loop run to its outcome: what interrupts it becomes a status, and what it hands over is measured (SPEC 0.6)."""

from collections.abc import Callable
from typing import Any

from looper.criteria import Evaluation
from looper.errors import BudgetExceeded, Interruption, PhaseError
from looper.meter import recorded
from looper.run import Run
from looper.types import Loop, Outcome

CORRECT = 1.0 - 1e-9
"""Score of the hidden checks from which a state is right."""
MOST_STATES = 50
"""Evaluated states of one run at most that hidden checks are run on."""


def execute(loop: Loop, run: Run) -> Outcome:
    """Run a loop to its outcome, turn looper's own interruptions into statuses, and measure the holdout (SPEC 0.6)."""
    run.ledger.owe(recorded(run.stage.journal))
    try:
        run.stage.brief = dict(Run(run.stage, "start/").do("prepare", run.task.prepare))
        outcome = loop.run(run.task, run)
    except Interruption as end:
        outcome = run.outcome(*_ending(end, run), detail=str(end), **end.facts)
    return _delivered(run, _measured(run, outcome))


MEASURED = ("impossible", "rejected")
"""Reasons of a failed run whose artifact is as comparable as that of one that stopped."""


def _measured(run: Run, outcome: Outcome) -> Outcome:
    """With the holdout's verdict, or why there is none: how the run ended does not depend on it."""
    holdout = getattr(run.task, "holdout", None)
    over = outcome.status in ("completed", "stopped") or outcome.reason in MEASURED
    if not holdout or outcome.artifact is None or not over:
        return outcome
    run.stage.check = lambda: None
    end = Run(run.stage, "end/")
    try:
        verdict = end.do("holdout", holdout, outcome.artifact)
    except (PhaseError, BudgetExceeded) as error:
        return _with(outcome, holdout_error=str(error))
    if verdict is None:
        return outcome
    outcome = _with(outcome, holdout=verdict.model_dump(mode="json"))
    return _with(outcome, first_correct=_first_correct(end, outcome, holdout)) if run.stage.hidden_on_all else outcome


def _first_correct(end: Run, outcome: Outcome, holdout: Callable[[str], Evaluation | None]) -> dict[str, Any]:
    """The first evaluated state that the hidden checks call right, and what had been spent until then (SPEC 6.3).

    Nobody in the run has seen it: the run is over. A state that the checks break on is not right.
    """
    states = list(end.stage.looks.items())
    looked = 0
    for artifact, spent in states[:MOST_STATES]:
        score = outcome.facts["holdout"]["score"] if artifact == outcome.artifact else _score(end, artifact, holdout)
        if score is None:
            break
        looked += 1
        if score >= CORRECT:
            return {"state": looked, "states": len(states), "spent": {name: round(v, 9) for name, v in spent.items()}}
    return {"state": None, "states": len(states), "not_looked_at": len(states) - looked}


def _score(end: Run, artifact: str, holdout: Callable[[str], Evaluation | None]) -> float | None:
    """None if it cannot be paid."""
    try:
        verdict = end.do("holdout", holdout, artifact)
    except PhaseError:
        return 0.0
    except BudgetExceeded:
        return None
    return verdict.score if verdict else 0.0


def _delivered(run: Run, outcome: Outcome) -> Outcome:
    """A result that met the gate is put where the user wants it, where the task has such a place."""
    deliver = getattr(run.task, "deliver", None)
    if not deliver or outcome.status != "completed" or not outcome.passed:
        return outcome
    try:
        return _with(outcome, delivered=Run(run.stage, "end/").do("deliver", deliver, outcome.artifact))
    except (PhaseError, BudgetExceeded) as end:
        return _with(outcome, not_delivered=str(end))


def _with(outcome: Outcome, **facts: Any) -> Outcome:
    return outcome.model_copy(update={"facts": {**outcome.facts, **facts}})


def _ending(end: Interruption, run: Run) -> tuple[str, str]:
    """A budget that should be asked about pauses; everything else ends as it says."""
    if isinstance(end, BudgetExceeded) and run.ledger.budget.on_limit == "ask":
        return "paused", "confirm"
    return end.status, end.reason
