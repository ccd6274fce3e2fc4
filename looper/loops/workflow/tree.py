"""The tasks of a run as a tree: states, dependencies, attempts (document 001, State Transitions; SPEC 3.5)."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from looper.errors import PhaseError
from looper.loops.workflow.answers import Planned

State = Literal["pending", "in_progress", "completed", "failed", "blocked"]
Level = Literal["none", "remind", "correct", "refocus", "critical", "abort"]
MOVES: dict[str, tuple[str, ...]] = {
    "pending": ("in_progress", "completed", "blocked"),
    "in_progress": ("completed", "failed"),
    "failed": ("pending", "blocked", "completed"),
    "blocked": ("completed",),
    "completed": (),
}
"""From state to state; a blocked task is completed by its subtasks."""


class Cycle(BaseModel):
    """One change by the coder and what became of it."""

    number: int
    """0 is the implementation, from 1 on fixes."""
    approach: str
    files: list[str] = []
    score: int
    failed: dict[str, str] = {}
    """Failed checks with what they said."""
    regressions: list[str] = []
    violations: list[dict[str, Any]] = []
    problems: list[str] = []
    """What the tester said."""
    level: Level = "none"


class Attempt(BaseModel):
    """One execution of a task: implementation and fix cycles."""

    number: int
    cycles: list[Cycle] = []
    ended: Literal["approved", "rejected", "fixes_used", "blocked", "needs_clarification", "gave_up"]
    reason: str = ""


class Ruling(BaseModel):
    """What was decided about a failed task."""

    verdict: str
    """What is done."""
    said: str
    """The supervisor's own verdict."""
    clamps: list[str] = []
    """Why the two differ."""
    reason: str = ""
    advice: str = ""


class Node(BaseModel):
    """A task."""

    id: str
    """`2`, of its subtasks `2.1`; numbers go on after a pivot."""
    planned: Planned
    state: State = "pending"
    parent: str = ""
    after: list[str] = []
    """Ids of the tasks that come before it."""
    depth: int = 0
    """How often this branch was subdivided."""
    attempts: list[Attempt] = []
    rulings: list[Ruling] = []
    answers: list[dict[str, str]] = []
    """Questions to a person and their answers."""
    commit: str = ""
    note: str = ""

    @property
    def title(self) -> str:
        return self.planned.title

    def summary(self) -> dict[str, Any]:
        """What run.json and prompts show of it."""
        last = self.attempts[-1] if self.attempts else None
        score = last.cycles[-1].score if last and last.cycles else None
        ruling = self.rulings[-1] if self.rulings else None
        return {
            "id": self.id, "title": self.title, "state": self.state, "parent": self.parent,
            "attempts": len(self.attempts), "fixes": max(0, len(last.cycles) - 1) if last else 0, "score": score,
            "diagnosis": ruling.verdict if ruling else "", "reason": ruling.reason if ruling else "",
            "commit": self.commit, "note": self.note,
        }  # fmt: skip


class Tasks:
    """All tasks of a run, in the order in which they were planned."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def add(self, planned: Sequence[Planned], parent: Node | None = None) -> list[Node]:
        """New tasks below a parent or at the top. Their dependencies are keys of the same plan."""
        siblings = [node for node in self.nodes.values() if node.parent == (parent.id if parent else "")]
        above = f"{parent.id}." if parent else ""
        ids = {task.key: f"{above}{len(siblings) + number}" for number, task in enumerate(planned, 1)}
        made = [
            Node(
                id=ids[task.key], planned=task, parent=parent.id if parent else "",
                after=[ids[key] for key in task.after], depth=parent.depth + 1 if parent else 0,
                answers=list(parent.answers) if parent else [],
            )
            for task in planned
        ]  # fmt: skip
        self.nodes.update({node.id: node for node in made})
        return made

    def move(self, node: Node, state: State) -> None:
        """Raises PhaseError for a transition that document 001 does not have."""
        if state not in MOVES[node.state]:
            raise PhaseError(f"task {node.id}: {node.state} does not become {state}.")
        node.state = state
        if state == "completed":
            self._complete(node.parent)

    def _complete(self, parent: str) -> None:
        """A parent completes when its subtasks do (SPEC 3.5)."""
        if parent and all(node.state == "completed" for node in self.children(parent)):
            self.move(self.nodes[parent], "completed")

    def children(self, parent: str) -> list[Node]:
        return [node for node in self.nodes.values() if node.parent == parent]

    def ready(self) -> Node | None:
        """The next pending task whose predecessors are completed; subtasks before later tasks."""
        pending = [node for node in self.nodes.values() if node.state == "pending"]
        able = [node for node in pending if self._free(node)]
        return min(able, key=lambda node: place(node.id), default=None)

    def _free(self, node: Node) -> bool:
        """Whether what comes before it, and before the tasks it is a part of, is completed."""
        done = all(self.nodes[one].state == "completed" for one in node.after)
        return done and (not node.parent or self._free(self.nodes[node.parent]))

    def open(self) -> list[Node]:
        """Tasks that are neither completed nor replaced by others."""
        return [node for node in self.nodes.values() if node.state in ("pending", "in_progress", "failed")]

    def drop(self, why: str) -> None:
        """A pivot: everything that is not completed is replaced by a fresh plan."""
        for node in self.open():
            if node.state == "in_progress":
                self.move(node, "failed")
            self.move(node, "blocked")
            node.note = why

    def counts(self) -> dict[str, int]:
        states = [node.state for node in self.nodes.values()]
        return {state: states.count(state) for state in MOVES}

    def summary(self) -> list[dict[str, Any]]:
        return [node.summary() for node in sorted(self.nodes.values(), key=lambda node: place(node.id))]


def place(number: str) -> tuple[int, ...]:
    """Sorts `2.10` behind `2.9`."""
    return tuple(int(part) for part in number.split("."))


def cycle_in(planned: Iterable[Planned]) -> list[str]:
    """Keys of tasks that wait for each other; empty if there are none."""
    waits = {task.key: set(task.after) for task in planned}
    while free := [key for key, after in waits.items() if not after & waits.keys()]:
        for key in free:
            del waits[key]
    return sorted(waits)
