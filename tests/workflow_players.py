"""A small workspace in memory whose tests are functions of its texts, its roles played by a script, and runs of it."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import yaml
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from looper.agents.human import Human
from looper.agents.prompt import Templates
from looper.budget import Budget, Ledger
from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.execution import execute
from looper.journal import Journal
from looper.loops.workflow import Workflow, policies
from looper.loops.workflow.answers import Diagnosis, Planned, Review, TaskPlan, Tested
from looper.run import Run
from looper.stage import Stage
from looper.tasks.environment import FailureType
from looper.types import Call, Outcome, Question, Reply, Signal, Usage

CONF = Path(__file__).parents[1] / "conf"
TESTS = {"t/a.py::ok": ("a.py", "ok"), "t/b.py::ok": ("b.py", "ok"), "t/c.py::ok": ("c.py", "ok")}
"""By name of the test: the file that it reads and the word that must be in it."""
FREE = Budget(inner=None, outer=None)


class Violation(BaseModel):
    """Something wrong with an answer."""

    name: str
    text: str
    foul: bool = False


class Desktop(BaseModel):
    """A state: texts that differ from those given, the tester's own tests, and what became of the last answer."""

    changed: dict[str, str] = {}
    own: dict[str, str] = {}
    shown: list[str] = []
    became: str = "changed"
    last: str = "as given"
    violations: list[Violation] = []


class Write(BaseModel):
    """A coder's answer: texts by path, or one of the other things that it can say.

    A text `CHEAT` is a foul; `nofit` stands for an edit that does not apply.
    """

    texts: dict[str, str] = {}
    look_at: list[str] = []
    needs_clarification: str = ""
    files: list[str] = []
    claims_pass: bool | None = None
    why: str = ""
    done: bool = False

    def __str__(self) -> str:
        return self.why or self.needs_clarification or f"writes {', '.join(self.texts)}"


class Goal(BaseModel):
    """What every role may see."""

    goal: str
    prompt: str


@dataclass
class Shelf:
    """Files that must hold certain words; it has everything that a workspace offers to the workflow.

    A text with `BROKEN` fails all tests of its file at once, under the name of the file of tests; `SKIP name` lets the
    test of that name vanish from the results.
    """

    given: dict[str, str] = field(default_factory=lambda: {"a.py": "", "b.py": "", "c.py": ""})
    tests: dict[str, tuple[str, str]] = field(default_factory=lambda: dict(TESTS))
    gate: list[str] | None = None
    """Tests that the gate wants; None: all."""
    silent: bool = False
    """Whether no test gives a result."""
    goal: str = "Put the words where they belong."
    commits: list[tuple[str, str, str, dict[str, str]]] = field(default_factory=list)
    """Id, message, parent and texts of every commit that was made."""
    stood: list[str] = field(default_factory=list)
    """Commits that the workspace was put at, in order."""
    coding: ClassVar[str] = "code"

    @property
    def criteria(self) -> Criteria:
        names = list(self.tests) if self.gate is None else self.gate
        return Criteria(rules=[Rule(id=name) for name in names], phases=[Phase(name="A", threshold=1.0)])

    def prepare(self) -> Goal:
        return Goal(goal=self.goal, prompt="Write the words.")

    def answer(self, step: str) -> type[BaseModel]:
        return {"code": Write}[step]

    def observe(self, plan: Any) -> Desktop:
        return Desktop()

    def probes(self) -> list[Any]:
        return []

    def classify(self, state: Any, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN

    def policies(self) -> list[Any]:
        return []

    def apply(self, state: Desktop, action: Write) -> Desktop:
        if action.look_at:
            shown = [*state.shown, *action.look_at]
            return state.model_copy(update={"became": "asked", "last": "shows files", "violations": [], "shown": shown})
        if action.needs_clarification:
            return state.model_copy(update={"became": "clarify", "violations": []})
        found = self._found(state, action)
        if any(one.foul for one in found) or "nofit" in action.texts.values():
            last = f"refused: {'; '.join(one.text for one in found) or 'the passage was not found'}"
            return state.model_copy(update={"became": "refused", "last": last, "violations": found})
        changed = {**state.changed, **action.texts}
        became = "nothing" if changed == state.changed else "changed"
        update = {"changed": changed, "became": became, "last": "written", "violations": found}
        return state.model_copy(update=update)

    def _found(self, state: Desktop, action: Write) -> list[Violation]:
        there = {**self.given, **state.changed, **action.texts}
        gone = [path for path in action.files if path not in there]
        found = [Violation(name="claimed_file_missing", text=path) for path in gone]
        cheats = [path for path, text in action.texts.items() if text == "CHEAT"]
        return found + [Violation(name="tests_changed", text=f"{path} cheats", foul=True) for path in cheats]

    def quantity(self, action: Any) -> float:
        return 1.0

    def feedback(self, before: Any, after: Any) -> float:
        return 0.0

    def key(self, state: Desktop) -> str:
        return repr(sorted(state.changed.items()))

    def evaluate(self, state: Desktop) -> Evaluation:
        passed = {name: self._passes(state, path, word) for name, (path, word) in self.tests.items()}
        return self.criteria.evaluate({name: Finding(passed=one) for name, one in passed.items()})

    def _passes(self, state: Desktop, path: str, word: str) -> bool:
        text = {**self.given, **state.changed}.get(path, "")
        return word in text and "BROKEN" not in text

    def notes(self, state: Desktop) -> dict[str, str]:
        return {name: f"no {self.tests[name][1]}" for name in self.evaluate(state).failed}

    def conclude(self, state: Desktop, answer: Any) -> Desktop:
        return state

    def describe(self, state: Desktop) -> str:
        return state.last

    def render(self, state: Desktop) -> str:
        return repr(sorted(state.changed.items()))

    def parse(self, text: str) -> Desktop:
        return Desktop(changed=dict(ast.literal_eval(text)))

    def policy(self, step: str) -> Callable[..., Any] | None:
        return None

    # What the workflow takes besides (looper.loops.workflow.ground)

    @property
    def workshop(self) -> "Shelf":
        """The task is its own workshop."""
        return self

    def results(self, state: Desktop) -> dict[str, Finding]:
        texts = {**self.given, **state.changed}
        found: dict[str, Finding] = {}
        for name, (path, word) in self.tests.items():
            if "BROKEN" in texts.get(path, ""):
                found[name.partition("::")[0]] = Finding(passed=False, note=f"{path} is broken")
            elif not any(f"SKIP {name}" in text for text in texts.values()):
                passed = word in texts.get(path, "")
                found[name] = Finding(passed=passed, note="" if passed else f"no {word} in {path}")
        for name, text in state.own.items():
            path, _, word = text.partition(": ")
            passed = word in texts.get(path, "")
            found[f"own/{name}::{word}"] = Finding(passed=passed, note="" if passed else f"no {word} in {path}")
        return {} if self.silent else found

    def groups(self, state: Desktop) -> list[dict[str, Any]]:
        groups: dict[str, list[str]] = {}
        for name, finding in self.results(state).items():
            if not finding.passed:
                groups.setdefault(name.partition("::")[0], []).append(name)
        return [{"name": file, "checks": names, "note": f"{file} fails"} for file, names in groups.items()]

    def desk(self, state: Desktop, words: str, checks: Sequence[str]) -> dict[str, Any]:
        failing = {name: one.note for name, one in self.results(state).items() if not one.passed}
        first = {name: note for name, note in failing.items() if name in checks} or failing
        files = {path: f"the text of {path}" for path in state.shown}
        return {
            "files": files, "failing": first, "map": "a.py b.py c.py", "output": "", "words": words,
            "wanted": list(checks),
        }  # fmt: skip

    def evidence(self, state: Desktop) -> dict[str, Any]:
        return {"diff": f"the change {sorted(state.changed.items())}"}

    def extended(self, state: Desktop, tests: dict[str, str]) -> Desktop:
        return state.model_copy(update={"own": {**state.own, **tests}})

    def back(self, start: Desktop, state: Desktop) -> Desktop:
        return start.model_copy(update={"shown": state.shown})

    def commit(self, state: Desktop, message: str, parent: str) -> str:
        made = sha256(repr((parent, message, sorted(state.changed.items()))).encode()).hexdigest()[:8]
        self.commits.append((made, message, parent, dict(state.changed)))
        return made

    def at(self, commit: str) -> None:
        self.stood.append(commit)

    @property
    def messages(self) -> list[str]:
        return [message for _, message, _, _ in self.commits]


# What the roles say


def todo(key: str, *checks: str, after: Sequence[str] = (), **more: Any) -> Planned:
    """A task of a plan."""
    fields = {"title": f"do {key}", "criteria": [f"{key} is done"], **more}
    return Planned(key=key, checks=list(checks), after=list(after), **fields)


def plan(*tasks: Planned, approach: str = "") -> TaskPlan:
    return TaskPlan(tasks=list(tasks), approach=approach)


A, B, C = todo("a", "t/a.py::ok"), todo("b", "t/b.py::ok"), todo("c", "t/c.py::ok")
ABC = plan(A, B, C)


def says(verdict: Any, reason: str = "because", **more: Any) -> Diagnosis:
    return Diagnosis(verdict=verdict, reason=reason, **more)


def writes(path: str, text: str = "ok", **more: Any) -> Write:
    return Write(texts={path: text}, **more)


GOOD = {key: [writes(f"{key}.py")] for key in "abc"}
"""What the coder answers to the tasks of `ABC`."""


@dataclass
class Script:
    """What each role says; a function of the question alone, so that a resumed run hears the same.

    Lists are taken by the number of the question, the last one again. Where nothing is written, the tester is
    honest, and for the others the design's own policy speaks; the coder has none.
    """

    plans: list[TaskPlan] = field(default_factory=lambda: [ABC])
    code: dict[str, list[Any]] = field(default_factory=lambda: dict(GOOD))
    """By key of the task: an answer for each change; a list of answers for one that was sent back."""
    reviews: list[Review] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    said: dict[str, BaseModel] = field(default_factory=dict)
    """Answers by step key, before all others."""
    by: dict[str, Callable[[dict[str, Any]], BaseModel | None]] = field(default_factory=dict)
    """By step: an answer that follows from what was asked; None leaves it to the lists and policies."""
    answers: dict[str, str] = field(default_factory=dict)
    """A person's answers by step key."""

    def value(self, question: Question) -> BaseModel:
        context, step, number = question.context, question.step, int(question.key.rpartition(".")[2]) - 1
        if told := self.said.get(question.key):
            return told
        if step in self.by and (word := self.by[step](context)):
            return word
        if step == "code":
            return self._code(context, number)
        if step == "test":
            return honest(context)
        lists: dict[str, list[Any]] = {"tasks": self.plans, "review_plan": self.reviews, "diagnose": self.diagnoses}
        if lists.get(step):
            return _taken(lists[step], number)
        return policies.BY_STEP[step](**context)

    def _code(self, context: Mapping[str, Any], number: int) -> BaseModel:
        done = sum(len(one["cycles"]) or 1 for one in context["attempts"]) + len(context["cycles"])
        answer = _taken(self.code[context["planned"].key], done)
        return _taken(answer, number) if isinstance(answer, list) else answer


def _taken(several: Sequence[Any], number: int) -> Any:
    return several[min(number, len(several) - 1)]


def honest(context: Mapping[str, Any]) -> Tested:
    """A tester who says of the task what its checks say, and counts right."""
    problems = [f"{name}: {said}" for name, said in context["checks"].items() if said != "passed"]
    problems += [f"{name} passed before" for name in context["regressions"]]
    passed, total = context["passed"], context["total"]
    status = "failed" if problems else "passed"
    return Tested(status=status, passed=passed, failed=total - passed, problems=problems[:8])


@dataclass
class Heard:
    """A question as it was when it was asked."""

    key: str
    role: str
    step: str
    context: dict[str, Any]
    prompt: str


@dataclass
class Troupe:
    """A cast that plays a script; people answer by key or are waited for. Keeps all questions, rendered."""

    script: Script
    asked: list[Heard] = field(default_factory=list)
    kind: str = "simulated"
    metered: bool = False
    render: bool = False
    """Whether to keep the prompt that a model would read."""
    templates: Templates = field(default_factory=lambda: TEMPLATES)

    def agent(self, role: str, step: str, task: Any) -> Any:
        return self

    def worst_case(self, messages: Any) -> Usage:
        return Usage(tokens=10)

    def answer(self, question: Question) -> Reply:
        if self.metered:
            with question.attempt("answer", Usage(tokens=10)) as paid:
                paid.settle(Call(tokens_out=10))
        messages = self.templates.messages(question) if self.render else []
        prompt = "\n".join(message["content"] for message in messages)
        heard = Heard(question.key, question.role, question.step, to_jsonable_python(question.context), prompt)
        self.asked.append(heard)
        if question.role == "user":
            return Human(self.script.answers, templates=self.templates).answer(question)
        return Reply(value=self.script.value(question), by="simulated")

    def heard(self, step: str) -> list[dict[str, Any]]:
        """Contexts of the questions of a step, in order."""
        return [one.context for one in self.asked if one.step == step]

    def prompts(self, step: str) -> list[str]:
        """The same, as a model would read them."""
        return [one.prompt for one in self.asked if one.step == step]

    def coder(self, key: str) -> list[dict[str, Any]]:
        """What the coder was asked about a task."""
        return [context for context in self.heard("code") if context["planned"]["key"] == key]


def shipped() -> Templates:
    """The prompts that ship with the design, and with projects for their coder."""
    own = yaml.safe_load((CONF / "loop/_prompts_workflow.yaml").read_text())
    project = yaml.safe_load((CONF / "task/project/_base.yaml").read_text())["prompts"]
    return Templates(prompts={**own, "code": project["code"]})


TEMPLATES = shipped()


@dataclass
class Played:
    """A run that was played in memory."""

    outcome: Outcome
    journal: Journal
    troupe: Troupe
    task: Any
    ledger: Ledger

    def notes(self, name: str) -> list[Any]:
        """Payloads of the events of a name."""
        return [event.payload for event in self.journal.events if event.event == name]

    @property
    def end(self) -> tuple[str, str]:
        return self.outcome.status, self.outcome.reason

    @property
    def states(self) -> dict[str, str]:
        """State of each task at the end."""
        return {row["id"]: row["state"] for row in self.outcome.facts["tasks"]}

    @property
    def steps(self) -> list[str]:
        return [one.step for one in self.troupe.asked]

    @property
    def rulings(self) -> list[tuple[str, str]]:
        """What was said and what was done, of each diagnosis on record."""
        return [(one["said"], one["verdict"]) for one in self.notes("diagnosed")]

    def iterations(self, task: str) -> list[Any]:
        return [entry for entry in self.notes("iteration_advanced") if entry["task"] == task]


def play(
    script: Script | None = None,
    task: Any = None,
    journal: Journal | None = None,
    *,
    budget: Budget = FREE,
    metered: bool = False,
    render: bool = False,
    check: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Played:
    """A run in memory, or the rest of one whose journal is given."""
    loop, journal, task = Workflow(**settings), journal or Journal(), task or Shelf()
    troupe, ledger = Troupe(script or Script(), metered=metered, render=render), Ledger(budget)
    stage = Stage(task, troupe, journal, ledger, events=loop.events, check=check)
    return Played(execute(loop, Run(stage)), journal, troupe, task, ledger)
