"""The setup of a run, confirmed or edited before anything is spent (document 003, Setup Confirmation; SPEC 2.9)."""

from looper.errors import PhaseError, StopRequested
from looper.run import Run
from looper.tasks.contracts import Confirmation, Proposal
from looper.tasks.environment import Task


def confirm(task: Task, run: Run, limit: int) -> int:
    """Ask whoever owns the task; the iteration limit that is agreed on. Rules and thresholds are edited in the task.

    Raises StopRequested if the answer is no, PhaseError for an edit that the task does not take.
    """
    amend = getattr(task, "amend", None)
    if amend is not None:
        amend(Confirmation(decision="yes"))  # as configured, whatever an earlier run of this process was told
    criteria = task.criteria
    word = run.ask(
        "owner", Confirmation, step="confirm", rules=[rule.model_dump() for rule in criteria.rules],
        thresholds={phase.name: phase.threshold for phase in criteria.phases}, max_iterations=limit,
    )  # fmt: skip
    if word.decision == "no":
        raise StopRequested("the setup was not confirmed.")
    if word.decision == "edit":
        limit = word.max_iterations or limit
        if word.thresholds or word.leave_out:
            _amend(task, run, word)
    note(task, run, limit)
    return limit


def propose(task: Task, run: Run) -> bool:
    """Ask for rules where the task has none, and let the task take them; whether there were none."""
    adopt = getattr(task, "adopt", None)
    if adopt is None:
        return False
    adopt(None)  # as configured, whatever an earlier run of this process was told
    if task.criteria.rules:
        return False
    adopt(run.ask("assessor", Proposal, step="criteria", **run.brief))
    run.stage.brief = dict(run.do("prepare", task.prepare))
    return True


def _amend(task: Task, run: Run, word: Confirmation) -> None:
    amend = getattr(task, "amend", None)
    if amend is None:
        raise PhaseError("the rules of this task cannot be edited; confirm them with yes, or stop.")
    amend(word)
    run.stage.brief = dict(run.do("prepare", task.prepare))  # from here on every role sees the rules as edited


def note(task: Task, run: Run, limit: int) -> None:
    """What was agreed on, for run.json."""
    phases = [{"name": phase.name, "threshold": phase.threshold} for phase in task.criteria.phases]
    rules = [rule.model_dump() for rule in task.criteria.rules]
    run.note("setup_confirmed", max_iterations=limit, criteria={"rules": rules, "phases": phases})
