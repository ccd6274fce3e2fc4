"""What the workflow needs of a project besides what every design gets (looper.loops.workflow.ground)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from looper.criteria import Finding
from looper.tasks.project import gate
from looper.tasks.project.states import Tree

if TYPE_CHECKING:
    from looper.tasks.project.task import Project

TESTER_FOLDER = "tests_by_looper"
"""Where the tester's own tests lie; the coder may not touch it."""


class Workshop:
    """Tests by name, the coder's desk, the tester's folder, commits."""

    coding: ClassVar[str] = "code"

    def __init__(self, task: "Project"):
        self.task = task

    def results(self, state: Tree) -> dict[str, Finding]:
        return self.task.results(state)

    def groups(self, state: Tree) -> list[dict[str, Any]]:
        """Failing tests by file."""
        return gate.grouped(self.task.results(state))

    def desk(self, state: Tree, words: str, checks: Sequence[str]) -> dict[str, Any]:
        """What a coder is shown: the map, files that matter, what fails."""
        return self.task.shown.coder(state, self.task.results(state), words, checks)

    def evidence(self, state: Tree) -> dict[str, Any]:
        return self.task.shown.evidence(state)

    def extended(self, state: Tree, tests: dict[str, str]) -> Tree:
        """The state with the tester's own tests in their folder; they are run from now on."""
        own = {f"{TESTER_FOLDER}/{name}": text for name, text in tests.items()}
        return state.model_copy(update={"changed": {**state.changed, **own}, "report": None})

    def fresh(self, state: Tree) -> Tree:
        return state.model_copy(update={"report": None, "again": True})

    def back(self, start: Tree, state: Tree) -> Tree:
        """The files as they were; what the coder was shown he has seen."""
        return start.model_copy(update={"shown": state.shown})

    def commit(self, state: Tree, message: str, parent: str) -> str:
        home = self.task.home
        return home.repository.commit(state.changed, message, parent or home.base)

    def at(self, commit: str) -> None:
        """The work tree stands at this commit, whatever a kill left of it."""
        repository = self.task.home.repository
        if repository.head() != commit or repository.differs(commit):
            repository.place(commit)
