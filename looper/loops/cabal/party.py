"""A team on a task whose states are searched, not written: each operative works on a part of the space.

A product is a part; its versions are the states that its operative came to, as text; the watchdog has the checks.
"""

import re
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from looper.criteria import Evaluation
from looper.loops.cabal.board.operations import FeedbackAnswer, NewVersion
from looper.loops.cabal.board.table import Board
from looper.loops.cabal.board.writing import to_address
from looper.loops.look import look
from looper.run import Run
from looper.tasks.environment import Task


@dataclass
class Place:
    """Where an operative stands."""

    state: Any
    signals: list[Any] = field(default_factory=list)
    verdict: Evaluation | None = None
    history: list[dict[str, Any]] = field(default_factory=list)


class Party:
    """States by product."""

    def __init__(self, task: Task, changes: int):
        self.task, self.changes = task, changes
        self.own = getattr(task, "workshop", None)
        self.step: str = getattr(self.own, "coding", "act")
        self.places: dict[str, Place] = {}
        self.lock = threading.Lock()
        """Members think side by side; what they make the task do comes one after the other: it is work of the same
        processor, and Python 3.11's parser is not safe when threads parse at once."""

    def begin(self, run: Run, board: Board, product: str) -> Place:
        """The place of a product: where its part of the space begins, if the task has parts (`workshop.plan`)."""
        if product not in self.places:
            parts = [one.id for one in board.products if one.id != board.log]
            plan = getattr(self.own, "plan", None)
            part = plan(parts.index(product), len(parts)) if plan else None
            self.places[product] = Place(run.do("observe", self.task.observe, part))
        return self.places[product]

    def work(self, run: Run, board: Board, who: str, product: str) -> NewVersion:
        """Some changes by one operative, each tested by code; the version that tells where it stands now."""
        with self.lock:
            place = self.begin(run, board, product)
        said = "nothing is left to try"
        for _change in range(self.changes):
            with self.lock:
                self.look(run, place)
            if place.verdict and place.verdict.passed:
                break
            with self.lock if self.by_policy(run) else nullcontext():
                action: Any = run.ask(
                    "operative", self.task.answer(self.step), step=self.step,
                    **{**run.brief, "state": place.state, "signals": place.signals, "history": list(place.history)},
                )  # fmt: skip
            if getattr(action, "done", False):
                break
            with self.lock:
                place.state = run.do("apply", self.task.apply, place.state, action, quantity=self.task.quantity(action))
            said = self.task.describe(place.state)
            entry = {"step": len(place.history) + 1, "action": str(action)[:300], "result": said[:300]}
            place.history.append({**entry, "score": place.verdict.score if place.verdict else 0.0, "feedback": 0.0})
        with self.lock:
            self.look(run, place)
        answers = [
            FeedbackAnswer(collab=one.id, outcome="addressed", reason="what the checks say now is in the inspection")
            for one in to_address(board, product)
        ]
        summary = " ".join(said.split())[:400] or "looked"
        return NewVersion(product=product, content=self.text(place), summary=summary, answers=answers)

    def by_policy(self, run: Run) -> bool:
        """Whether the answer is worked out here, not waited for."""
        return getattr(run.stage.cast.agent("operative", self.step, self.task), "kind", "model") == "policy"

    def look(self, run: Run, place: Place) -> None:
        place.state, place.signals = look(self.task, run, place.state)
        place.verdict = run.do("gate", self.task.evaluate, place.state)

    def text(self, place: Place) -> str:
        """What is on the board: the changes tried so far, and the state as it would be handed over."""
        tried = [f"{entry['step']}. {entry['action']}: {entry['result']}" for entry in place.history[-12:]]
        text = self.task.render(place.state) or "(empty)"
        fence = "`" * max(3, 1 + max((len(found) for found in re.findall(r"`+", text)), default=0))
        return "\n".join([*tried, "", fence, text.rstrip("\n"), fence])

    def verdicts(self) -> dict[str, Evaluation]:
        return {product: place.verdict for product, place in self.places.items() if place.verdict}
