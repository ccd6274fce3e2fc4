"""What the task says of the products: its criteria apply to the joined document (SPEC 4; issue 6, item 6)."""

from typing import Any

from pydantic import BaseModel

from looper.criteria import Evaluation
from looper.loops.cabal.board.acceptance import deliverable
from looper.loops.cabal.board.joined import accepted, bare, joined
from looper.loops.cabal.board.table import Board
from looper.loops.look import look
from looper.run import Run
from looper.tasks.contracts import Draft
from looper.tasks.environment import Task


class Judged(BaseModel, arbitrary_types_allowed=True):
    """A document and the gate's verdict on it."""

    artifact: str
    verdict: Evaluation
    failures: list[str]
    """Failed rules with what the checks said."""


class Truth:
    """The gate of a task that is written, put to what the team has made."""

    def __init__(self, task: Task, form: str):
        prose = getattr(task, "prose", True)
        self.task, self.form = task, ("joined" if prose else "bare") if form == "auto" else form

    def document(self, board: Board) -> str:
        return joined(board) if self.form == "joined" else bare(board)

    def of_accepted(self, run: Run, board: Board) -> Judged | None:
        """The verdict on the accepted products, None as long as there are none."""
        return self.judged(run, board) if accepted(board) else None

    def of_draft(self, run: Run, board: Board) -> Judged | None:
        """The same as if everything written so far were accepted: what code can tell the watchdog."""
        ready = [one for one in board.products if deliverable(board, one) and board.number(one.id)]
        ids = {one.id for one in ready}
        drafts = [one.model_copy(update={"status": "accepted"}) if one.id in ids else one for one in board.products]
        return self.judged(run, board.model_copy(update={"products": tuple(drafts)})) if ready else None

    def judged(self, run: Run, board: Board) -> Judged:
        state: Any = run.do("observe", self.task.observe, Draft(text=self.document(board)))
        state, _ = look(self.task, run, state)
        verdict = run.do("gate", self.task.evaluate, state)
        told: Any = getattr(self.task, "notes", None)
        notes = dict(told(state)) if told else {}
        failures = [f"{rule}: {notes.get(rule) or 'not met'}" for rule in verdict.failed]
        return Judged(artifact=self.task.render(state), verdict=verdict, failures=failures)
