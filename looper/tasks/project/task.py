"""project: a package with tests of its own, changed until they pass (document 001, SPEC 3.7-3.9).

State = the files that differ from the project as it was given, and what the tests say of them; probe = the whole suite,
run by code in the sandbox; actions = edits, applied to the letter or refused; holdout = hidden tests.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Sandbox
from looper.checks.suite.reports import SuiteReport
from looper.checks.suite.run import Suite, run_suite
from looper.criteria import Criteria, Evaluation, Finding
from looper.errors import ConfigError
from looper.journal import write_whole
from looper.tasks.environment import FailureType
from looper.tasks.project import gate
from looper.tasks.project.desk.desk import Desk
from looper.tasks.project.editing import patch
from looper.tasks.project.editing.changing import changed_by
from looper.tasks.project.editing.edits import EditLimits
from looper.tasks.project.guard.watch import Watch, protected, violations
from looper.tasks.project.library import place, text_of
from looper.tasks.project.playing import played
from looper.tasks.project.probes import SuiteProbe
from looper.tasks.project.reading.source import Limits, Source
from looper.tasks.project.runnable import unrunnable
from looper.tasks.project.states import (
    Brief,
    Decision,
    Edits,
    Handed,
    NewPlan,
    Plan,
    Tree,
    Worked,
    WorkOn,
)
from looper.tasks.project.working import NextTests
from looper.tasks.project.workshop import TESTER_FOLDER, Workshop
from looper.tasks.project.workspace.commits import inside
from looper.tasks.project.workspace.given import Copy
from looper.tasks.project.workspace.home import Home
from looper.tasks.project.workspace.in_place import hand_over
from looper.types import STRICT, Question, Signal

ANSWERS: dict[str, type[BaseModel]] = {
    "plan": Plan, "replan": NewPlan, "evaluate": Handed, "decide": Decision, "act": Edits, "code": Edits,
    "write": Edits,
}  # fmt: skip
FIRST = ".given.tests.json"
"""In the run's folder: what the tests said of the project as it was given."""
MOST_NAMES = 200
"""Names of checks that the planner is shown."""


def found(name: str | None) -> str | None:
    """The path behind @NAME/FILE. Raises ConfigError if there is none."""
    return str(place(name)) if name and name.startswith("@") else name


def worded(prompt: str) -> str:
    """A text, or what is in the file that it names with @."""
    return text_of(prompt) if prompt.startswith("@") else prompt


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Project:
    """Change a project until its tests pass, without touching the tests."""

    name: str
    """Short name, for people and folders."""
    prompt: Annotated[str, AfterValidator(worded)]
    """What is wanted, as a person would say it; @NAME/FILE or @PATH: what is in that file."""
    workspace: str
    """Folder of the project (shipped: @NAME/workspace). It is copied; nothing is written into it unless `in_place`."""
    sandbox: Sandbox
    """What contains the tests."""
    tests: dict[str, str] = Field(default_factory=dict)
    """Tests that come with the task, laid over the project: path to file (shipped: @NAME/FILE). Everybody sees them."""
    holdout_tests: dict[str, str] = Field(default_factory=dict)
    """The same, but nobody sees them before the end (SPEC 0.6)."""
    suite: Suite = Suite()
    """How the tests are run."""
    ignored: list[str] = Field(default_factory=list)
    """Tests, files or folders of tests that do not count, such as those that fail for another reason."""
    only: list[str] = Field(default_factory=list)
    """Where files may be changed, as globs; empty: anywhere but the tests."""
    checkout: Copy = "copy"
    """`copy`: a repository of the run's own. `worktree`: a branch and a worktree of the user's repository."""
    in_place: bool = False
    """Whether a result that met the gate is written into the user's own folder too, under every design."""
    prompt_tokens: Annotated[int, Field(ge=1000, le=1_000_000)] = 24_000
    """Tokens of a prompt that files, map and change may take."""
    limits: Limits = Limits()
    """How large the project may be."""
    edits: EditLimits = EditLimits()
    """How much may be changed."""
    recording: Annotated[str | None, AfterValidator(found)] = None
    """A recording of this task's roles, @NAME/FILE or a path; labelled so wherever it is shown."""
    reference: str | None = None
    """A patch that reaches the goal: for simulated coders only, never in a prompt."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    roles: ClassVar[dict[str, str]] = {"writer": "edits, where a policy decides what for"}

    @property
    def goal(self) -> str:
        return self.prompt.strip().split("\n")[0]

    @property
    def alias(self) -> str:
        return f"project-{self.name}"

    @property
    def origin(self) -> str:
        return "shipped project (written for looper)" if self.workspace.startswith("@") else ""

    # The project as it was given

    @cached_property
    def home(self) -> Home:
        tests = {inside(path): text_of(name) for path, name in self.tests.items()}
        return Home(place(self.workspace), self.limits, self.checkout, tests)

    def open(self, folder: Path) -> None:
        """The run's folder, where project and workspace are kept."""
        self.home.open(folder)

    def close(self) -> None:
        if "home" in self.__dict__:
            self.home.close()

    @property
    def source(self) -> Source:
        return self.home.source

    @cached_property
    def protected(self) -> tuple[str, ...]:
        """Patterns of the files of the tests, as they were found when they ran."""
        ran = [*(test.id for test in self.first.tests), *(broken.file for broken in self.first.broken)]
        return protected(self.suite.command, self.suite.paths, ran)

    @cached_property
    def watch(self) -> Watch:
        return Watch(protected=self.protected, only=tuple(self.only), tester_folder=TESTER_FOLDER)

    @cached_property
    def given(self) -> dict[str, Finding]:
        """Every test as the project was given."""
        return gate.results_of(self.first, self.ignored)

    @cached_property
    def criteria(self) -> Criteria:
        return gate.criteria_for(self.given)

    def ready(self) -> None:
        """Raises ConfigError if the tests give no verdict, or the reference is no patch of this project."""
        self.prepare()
        if self.reference is not None:
            patch.parse(self.source, text_of(self.reference))

    def prepare(self) -> Brief:
        """Raises ConfigError if the tests give no verdict that a coder could work on."""
        _ = self.home.base
        first = self.first
        if wrong := unrunnable(first, self.source.texts, self.suite.python_path):
            raise ConfigError(f"{self.name}: {wrong}")
        results = self.results(Tree(report=first))
        rows = [f"{rule.id}: {rule.description}" for rule in self.criteria.rules]
        names = list(dict.fromkeys([*(name.partition("::")[0] for name in results), *results]))
        failing = {name: one.note for name, one in results.items() if not one.passed}
        return Brief(
            goal=self.goal, prompt=self.prompt, repository=self.shown.map({}), known_checks=names[:MOST_NAMES],
            fails_as_given=self.shown.failing(failing), rules="\n".join(rows),
        )  # fmt: skip

    @cached_property
    def first(self) -> SuiteReport:
        """What the tests say of the project as it was given: asked once for a run, however often it is resumed."""
        file = self.home.given.parent / FIRST
        if not file.exists():
            write_whole(file, self.run({}).model_dump_json().encode())
        return SuiteReport.model_validate_json(file.read_bytes())

    def run(self, changed: Mapping[str, str | None]) -> SuiteReport:
        """The whole suite on the project with these changes, in the sandbox."""
        suite = replace(self.suite, also=[*self.suite.also, TESTER_FOLDER])
        return run_suite(suite, self.sandbox, self.home.given, changed)

    @cached_property
    def shown(self) -> Desk:
        return Desk(self.source, self.prompt_tokens)

    def answer(self, step: str) -> type[BaseModel]:
        return ANSWERS[step]

    # The environment

    def observe(self, plan: Any) -> Tree:
        return Tree()

    def probes(self) -> list[SuiteProbe]:
        return [SuiteProbe(self)]

    def absorb(self, state: Tree, signals: Sequence[Signal]) -> Tree:
        """The state with the report of its tests, and what whoever changes it next is shown."""
        reports = [signal.data["report"] for signal in signals if "report" in signal.data]
        if reports:
            state = state.model_copy(update={"report": SuiteReport.model_validate(reports[-1]), "again": False})
        shown = self.shown.coder(state, self.results(state), self.prompt, [])
        return state.model_copy(update={"desk": shown})

    def classify(self, state: Tree, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN if self.results(state) else FailureType.NO_DATA

    def policies(self) -> list[NextTests]:
        return [NextTests(self)]

    def quantity(self, action: Any) -> float:
        return 1.0

    def work(self, state: Tree, action: WorkOn) -> dict[str, Any]:
        """What the writer is asked when the policy has chosen tests to work on."""
        words = " ".join([self.prompt, action.note])
        return {"state": state, "tests": action.tests, "note": action.note, "refused": action.refused,
                **self.shown.coder(state, self.results(state), words, action.tests)}  # fmt: skip

    def apply(self, state: Tree, action: Edits) -> Tree:
        """The workspace after an answer; what does not apply to the letter, or may not be, changes nothing."""
        return changed_by(state, action, self.source, self.edits, self.watch)

    def feedback(self, before: Tree, after: Tree) -> float:
        """Unknown before the tests have run: the sign of whether anything changed."""
        return 0.0 if before.changed == after.changed else 0.1

    def key(self, state: Tree) -> str:
        return repr((sorted(state.changed.items()), state.shown))

    def evaluate(self, state: Tree) -> Evaluation:
        return gate.evaluated(self.criteria, self.results(state), self.tampered(state))

    def tampered(self, state: Tree) -> list[str]:
        """Why the tests of this state prove nothing, whoever changed it: a gate that no design can get around."""
        scope = (*self.only, f"{TESTER_FOLDER}/**") if self.only else ()  # the tester's own tests are nobody's fault
        watch = Watch(protected=self.protected, only=scope)
        found = violations(self.source, {}, state.changed, Edits(done=True), watch)
        return [f"{one.name}: {one.text}" for one in found if one.foul or one.name == "outside_scope"]

    def notes(self, state: Tree) -> dict[str, str]:
        """What the tests said of the rules that failed."""
        failed = self.evaluate(state).failed
        found = gate.by_rule(self.criteria, self.results(state))
        told = {rule: gate.together(some).note for rule, some in found.items() if rule in failed}
        return told | ({gate.INTACT: "; ".join(self.tampered(state))} if gate.INTACT in failed else {})

    def conclude(self, state: Tree, answer: Handed) -> Tree:
        return state

    def describe(self, state: Tree) -> str:
        return state.last

    def render(self, state: Tree) -> str:
        """The change as a patch that `git apply` takes on the project as it was given."""
        return patch.render(self.source, state.changed)

    def parse(self, text: str) -> Tree:
        changed = patch.parse(self.source, text)
        return Tree(changed=changed, report=self.run(changed), last="recalled")

    def holdout(self, artifact: str) -> Evaluation | None:
        """The hidden tests' verdict on the final patch (SPEC 0.6); None where there are none."""
        if not self.holdout_tests:
            return None
        hidden = {path: text_of(name) for path, name in self.holdout_tests.items()}
        changed = patch.parse(self.source, artifact)
        plain = replace(self.suite, coverage=[], paths=[])
        report = run_suite(plain, self.sandbox, self.home.given, {**changed, **hidden}, gate.files_of_tests(hidden))
        return gate.hidden_verdict(report, hidden, self.tampered(Tree(changed=changed)))

    @property
    def deliver(self) -> Callable[[str], str] | None:
        """With `in_place`: puts a result into the user's own folder, if nobody changed that meanwhile."""
        return self._delivered if self.in_place else None

    def _delivered(self, artifact: str) -> str:
        hand_over(self.source.folder, self.source, patch.parse(self.source, artifact))
        return str(self.source.folder)

    def files(self, artifact: str) -> dict[str, str]:
        """The patch; the workspace's branch ends at what it describes."""
        changed = patch.parse(self.source, artifact)
        head = self.home.repository.head()
        if self.home.repository.differs(tip := self.home.repository.commit(changed, "the result", head)):
            self.home.repository.place(tip)
        return {"patch.diff": artifact}

    def results(self, state: Tree) -> dict[str, Finding]:
        """Every test by its id with what it said, and whether the suite ran to its end."""
        return gate.results_of(state.report, self.ignored, self.given)

    @property
    def workshop(self) -> Workshop:
        """What the workflow needs besides."""
        return Workshop(self)

    # Fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        own: dict[str, Callable[..., Any]] = {
            "plan": lambda **_: Plan(steps=["work on the failing tests, file by file"]),
            "replan": lambda **_: NewPlan(plan=None),
            "evaluate": lambda state, **_: Handed(text=state.last),
            "decide": self._decide,
        }
        return own.get(step)

    def _decide(self, *, state: Tree, signals: Any, memory: Worked, level: float, **_: Any) -> Decision:
        return Decision(action=NextTests(self).decide(state, signals, memory, level))

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """A coder of a given skill, played with the reference. A simulation."""
        fn = self.policy(question.step)
        if fn is not None:
            return fn(**question.context)
        if self.reference is None:
            raise ConfigError(f"project {self.name}: has no reference that a simulated coder could play with.")
        reference = patch.parse(self.source, text_of(self.reference))
        return played(reference, question.context["state"], skill, dice)
