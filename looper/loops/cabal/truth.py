"""What the task says of the products: its criteria apply to the joined document (SPEC 4; issue 6, item 6)."""

from typing import Any

from pydantic import BaseModel

from looper.criteria import Evaluation
from looper.loops.cabal.board import Board
from looper.loops.cabal.joined import accepted, bare, joined
from looper.loops.look import look
from looper.run import Run
from looper.tasks.contracts import Draft, Written
from looper.tasks.environment import Task


class Judged(BaseModel, arbitrary_types_allowed=True):
    """The document so far and the gate's verdict on it."""

    artifact: str
    verdict: Evaluation


class Truth:
    """The gate of a task that is written, put to what the team has accepted."""

    def __init__(self, task: Task, form: str):
        self.task, self.form = task, form
        self.failures: list[str] = []
        """Rules that fail in the document so far, with what the checks said, for the chair."""
        self._last = ""

    def document(self, board: Board) -> str:
        return joined(board) if self.form == "joined" else bare(board)

    def judged(self, run: Run, board: Board) -> Judged | None:
        """The verdict on the accepted products; None as long as there are none, or nothing changed since the last."""
        if not accepted(board):
            return None
        text = self.document(board)
        state: Any = run.do("observe", self.task.observe, Draft(text=text))
        state, _ = look(self.task, run, state)
        verdict = run.do("gate", self.task.evaluate, state)
        told: Any = getattr(self.task, "notes", None)
        notes = dict(told(state)) if told else {}
        self.failures = [f"{rule}: {notes.get(rule, 'not met')}" for rule in verdict.failed]
        return Judged(artifact=self.task.render(state), verdict=verdict)

    def evidence(self, board: Board) -> list[str]:
        """What code knows before the watchdog looks: the rules that the accepted document does not meet."""
        return list(self.failures)


def written(task: Task) -> bool:
    """Whether the task's artifact is a text that roles write."""
    return isinstance(task, Written)
