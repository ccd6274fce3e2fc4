"""repair: a faulty program and its tests (SPEC 7.2).

State = the program and what its tests say; probes = share of tests that pass, distance of outputs, whether a plausible
patch has rivals yet; actions = typed edits of the syntax tree or a free rewrite; holdout = hidden tests.
"""

import difflib
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Sandbox
from looper.criteria import Criteria, Evaluation, Phase, Rule
from looper.errors import ConfigError, PhaseError, SandboxUnavailable
from looper.tasks.environment import FailureType, ProbePolicy
from looper.tasks.repair import choose
from looper.tasks.repair.edits import KINDS, apply_edit
from looper.tasks.repair.examine.examiner import Examiner
from looper.tasks.repair.inputs import calls, generated
from looper.tasks.repair.localise import suspicion
from looper.tasks.repair.probes import ChoiceProbe, DistanceProbe, TestsProbe
from looper.tasks.repair.problem import Cases, Command, Problem, Report, Script, Tests
from looper.tasks.repair.search import FIRST_SHARE, Climb, FixedOrder, Memory, Site, begin, digest, every, left, one_edit, pool
from looper.tasks.repair.states import (
    Batch,
    Choice,
    Decision,
    Move,
    Plan,
    Program,
    Replan,
    Rewrite,
    Variant,
    errors,
    judged,
)
from looper.types import STRICT, Question, Signal

FRONTIER = 8
"""Promising variants of one edit that are kept; half as many of two."""
FREE = "rewrite"
"""The kind of a change that is no typed edit; what it is part of is never trusted."""
TRACED = 4
"""Variants of one batch whose lines are traced."""


class Brief(BaseModel):
    """What every role may see of the task: program, visible tests and what they say of it. Never the hidden tests."""

    goal: str
    original: str
    numbered: str
    """The program with line numbers."""
    kinds: str
    """Kinds of edit that a plan can name."""
    tests: str
    results: str
    warning: str = ""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Repair:
    """Base of all repair tasks; the subclasses in `kinds.py` say where the program comes from."""

    sandbox: Sandbox
    """What contains the execution of candidates."""
    seed: Annotated[int, Field(ge=0)] = 0
    """0: the candidates in their own order; above: that order stirred a little, so that seeds show what is luck."""
    jobs: Annotated[int, Field(ge=0, le=64)] = 0
    """Candidates executed at a time; 0: one for each core."""
    seconds: Annotated[float, Field(gt=0, le=3600)] = 5.0
    """Wall clock for all tests of one candidate."""
    memory_mb: Annotated[int, Field(ge=64, le=16384)] = 512
    """Memory of one candidate."""
    step_limit: Annotated[int, Field(ge=0)] = 0
    """Loop iterations and calls per test; 0: twenty times what the faulty program takes."""
    alternatives: Annotated[int, Field(ge=0, le=2000)] = 64
    """Candidates tried after the first plausible patch, to have rivals to choose from; a quarter of first ones overfit."""
    python: str | None = None
    """Interpreter for the user's own test command; default: the one that runs looper."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    @cached_property
    def box(self) -> Sandbox:
        """The sandbox; a task whose answers lie on this machine hides them in it."""
        return self.sandbox

    def load(self) -> Problem:
        """The problem; raises ConfigError if it cannot be had."""
        raise NotImplementedError

    @cached_property
    def problem(self) -> Problem:
        return self.load()

    @property
    def goal(self) -> str:
        return self.problem.goal

    @property
    def alias(self) -> str:
        return f"repair-{self.problem.name}"

    @property
    def origin(self) -> str:
        return self.problem.origin

    @cached_property
    def examiner(self) -> Examiner:
        return self._examiner(self.problem, self.problem.tests)

    def _examiner(self, problem: Problem, tests: Tests) -> Examiner:
        return Examiner(
            problem, self.box, tests=tests, jobs=self.jobs, seconds=self.seconds, step_limit=self.step_limit,
            memory_mb=self.memory_mb, python=self.python,
        )  # fmt: skip

    def close(self) -> None:
        """End the workers."""
        if "examiner" in self.__dict__:
            self.examiner.close()

    # The problem as it is

    @cached_property
    def first(self) -> Report:
        """What the visible tests say of the faulty program, with the lines each of them ran."""
        self.box.require(untrusted=False)
        report = self.examiner.examine([self.problem.source], trace=True)[0]
        if not report.results:
            raise ConfigError(
                f"the tests of {self.problem.name} give no verdict at all: {report.error or 'no test was found'}. "
                "Check the test command and that it can run from the project's folder."
            )
        if report.share == 1:
            raise ConfigError(f"{self.problem.name}: all {len(report.results)} tests pass already; there is nothing to repair.")
        return report

    @property
    def criteria(self) -> Criteria:
        return gate([result.id for result in self.first.results])

    def prepare(self) -> Brief:
        results = [f"{r.id}: {'passed' if r.passed else r.error or 'wrong result'}" for r in self.first.results]
        reached = any(r.lines for r in self.first.results)
        warning = "" if self.first.passed else "no visible test passes, so suspicion cannot be told from innocence"
        if not reached and isinstance(self.problem.tests, Command) and not self.first.passed:
            warning = "the tests fail without running a line of the program that could be traced: check task.tests"
        return Brief(
            goal=self.goal, original=self.problem.source, numbered=numbered(self.problem.source),
            kinds="\n".join(f"{kind}: {text}" for kind, text in KINDS.items()), tests=shown(self.problem.tests), results="\n".join(results[:60]),
            warning=warning,
        )  # fmt: skip

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Plan, "replan": Replan, "evaluate": Choice, "decide": Decision, "act": Move}[step]

    # The environment

    def observe(self, plan: Plan | None) -> Program:
        source = self.problem.source
        plan = self._sensible(plan or Plan())
        report = self.first
        blamed = suspicion(source, report)
        for rank, line in enumerate(plan.lines):
            blamed[line] = max(blamed.get(line, 0.0), 1.0 - rank / (2 * len(plan.lines)))
        fields: dict[str, Any] = judged(source, report)
        return Program(**fields, suspicion=blamed, errors=errors(report)[:40], plan=plan, last="observed")

    def _sensible(self, plan: Plan) -> Plan:
        """A plan without lines and kinds that do not exist; they come from outside."""
        families = {kind.split(".")[0] for kind in KINDS}
        last = self.problem.source.count("\n") + 1
        lines = [line for line in dict.fromkeys(plan.lines) if 1 <= line <= last]
        kinds = [kind for kind in dict.fromkeys(plan.kinds) if kind in KINDS or kind in families]
        return plan.model_copy(update={"lines": lines, "kinds": kinds})

    def probes(self) -> list[Any]:
        return [TestsProbe(), DistanceProbe(), ChoiceProbe(self.alternatives)]

    def classify(self, state: Program, signals: Sequence[Signal]) -> FailureType:
        if not any(state.suspicion.values()):
            return FailureType.NO_DATA
        tried = state.cursors.get(digest(self.problem.source), 0)
        remaining = left(state, self.problem.source, self.seed)
        if state.plausible and remaining:
            return FailureType.UNKNOWN
        climbs = state.frontier and Climb(self.problem.source, self.seed).decide(state, signals, Memory(), 0.0)
        climbed = state.explored - tried
        if remaining and (tried < FIRST_SHARE or tried - FIRST_SHARE < climbed or not climbs):
            return FailureType.UNKNOWN
        return FailureType.TOO_NARROW if climbs else FailureType.INFEASIBLE

    def policies(self) -> list[ProbePolicy]:
        return [FixedOrder(self.problem.source, self.seed), Climb(self.problem.source, self.seed)]

    def quantity(self, action: Batch | Move) -> float:
        return float(len(action.edits) + len(action.rewrites)) if isinstance(action, Batch) else 1.0

    def apply(self, state: Program, action: Batch | Move) -> Program:
        if isinstance(action, Move):
            return self._moved(state, action)
        return Attempts(self, state, action).outcome()

    def _moved(self, state: Program, move: Move) -> Program:
        """The program as the move leaves it, better or worse; a passage that is not there is said, not guessed."""
        changed = replaced(state.source, move)
        if isinstance(changed, Refusal):
            return state.model_copy(update={"last": changed.why})
        typed = self.typed(changed)
        report = self.examine([(changed, typed)])[0]
        fields = judged(changed, report)
        last = f"passes {report.passed} of {len(report.results)}" + (f": {report.error}" if report.error else "")
        variant = Variant(source=changed, share=report.share, distance=report.distance, path=[str(move)],
                          kinds=[] if typed else [FREE])  # fmt: skip
        plausible = [*state.plausible, variant] if report.results and report.share == 1 else state.plausible
        return state.model_copy(update={**fields, "explored": state.explored + 1, "last": last, "plausible": plausible})

    def typed(self, changed: str) -> bool:
        """Whether a program is, to the letter, the original or an edit that looper itself would make of it.

        An edit of a program that a model wrote is as little to be trusted as that program.
        """
        return changed == self.problem.source or changed in one_edit(self.problem.source)

    def trusts(self, state: Program, base: str) -> bool:
        """Whether nothing but typed edits led from the original to this program."""
        return base == self.problem.source or any(v.source == base and FREE not in v.kinds for v in state.frontier)

    def examine(self, programs: Sequence[tuple[str, bool]], trace: bool = False) -> list[Report]:
        """Reports on (source, typed) pairs: typed edits side by side in the workers, anything else in a box of its own."""
        trusted = iter(self.examiner.examine([source for source, typed in programs if typed], trace=trace))
        if not all(typed for _, typed in programs):
            self.box.require(untrusted=True)
        return [next(trusted) if typed else self.examiner.examine_untrusted(source) for source, typed in programs]

    def feedback(self, before: Program, after: Program) -> float:
        gain = (after.share - before.share) + 0.5 * (before.distance - after.distance)
        return max(-1.0, min(1.0, gain))

    def key(self, state: Program) -> str:
        return f"{digest(state.source)}/{state.explored}/{digest(repr(sorted(state.cursors.items())))}"

    def evaluate(self, state: Program) -> Evaluation:
        return self.criteria.evaluate({rule(test): passed for test, passed in state.results.items()})

    def conclude(self, state: Program, answer: Choice) -> Program:
        if not state.plausible:
            return state
        chosen = state.plausible[min(answer.candidate, len(state.plausible) - 1)]
        return state.model_copy(update={"source": chosen.source, "results": {r.id: True for r in self.first.results}})

    def describe(self, state: Program) -> str:
        return state.last

    def render(self, state: Program) -> str:
        return state.source

    def parse(self, text: str) -> Program:
        report = self.examine([(text, text == self.problem.source)])[0]
        fields: dict[str, Any] = judged(text, report)
        return Program(**fields, last="recalled")

    def holdout(self, artifact: str) -> Evaluation | None:
        """The hidden tests' verdict on the final program (SPEC 0.6); None where there are none."""
        if self.problem.hidden is None:
            return None
        report = self._hidden(artifact, self.problem.hidden)
        found = {rule(r.id): r.passed for r in report.results}
        return gate([r.id for r in report.results] or ["no verdict"]).evaluate(found)

    def _hidden(self, artifact: str, tests: Tests) -> Report:
        """Boxed where that is possible; else only what is no more to be feared than the user's own program."""
        with self._examiner(self.problem, tests) as examiner:
            try:
                return examiner.examine_untrusted(artifact)
            except SandboxUnavailable as error:
                if self.typed(artifact):
                    return examiner.examine([artifact])[0]
                raise PhaseError(f"the hidden tests were not run: {error}") from error

    def files(self, artifact: str) -> Mapping[str, str]:
        """The result as a unified diff, and the whole program."""
        name = f"{self.problem.module.rpartition('.')[2]}.py"
        path = self.problem.tests.program if isinstance(self.problem.tests, Command) else name
        lines = difflib.unified_diff(
            self.problem.source.splitlines(keepends=True), artifact.splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
        return {"patch.diff": "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                                      for line in lines), "program.py": artifact}  # fmt: skip

    # Deterministic fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        own: dict[str, Callable[..., Any]] = {
            "plan": lambda **_: Plan(reason="every line that a failing test ran, by spectrum-based suspicion"),
            "replan": self._replan,
            "evaluate": self._choose,
            "decide": self._decide,
            "act": self._act,
        }
        return own.get(step)

    def _replan(self, *, state: Program, **_: Any) -> Replan:
        """Without the limits of the plan, if it had any; else on from where the fixed order stands, if it has more."""
        if state.plan.lines or state.plan.kinds:
            return Replan(plan=Plan(reason="the planned lines and kinds did not hold the fault: everything"))
        if not left(state, self.problem.source, self.seed):
            return Replan(plan=None)
        stands = begin(state, self.problem.source)
        return Replan(plan=Plan(skip=stands, reason=f"on from candidate {stands + 1} of the fixed order"))

    def _decide(
        self, *, policy: str, state: Program, signals: list[Signal], memory: Any, level: float, **_: Any
    ) -> Decision:
        chosen = next(p for p in self.policies() if p.name == policy)
        action: Any = chosen.decide(state, signals, memory, level)
        return Decision(action=action)

    def _act(self, *, history: list[dict[str, Any]], **_: Any) -> Move:
        """The one-edit candidates of the faulty program one after the other, in a fixed order that uses no signals."""
        number = history[-1].get("step", 0) if history else 0
        edits = pool(Site(source=self.problem.source, seed=self.seed))
        if number >= len(edits):
            return Move(done=True, why="all one-edit candidates were tried")
        return Move(
            find="", replace=apply_edit(self.problem.source, edits[number]), why=edits[number].summary
        )

    def _choose(self, *, state: Program, **_: Any) -> Choice:
        if not state.plausible:
            return Choice(text=f"no patch passes all visible tests; the best passes {state.share:.0%}")
        weighed = choose.weigh(self.problem.source, state.plausible, self._values(state.plausible))
        best = weighed[0]
        rivals = f"chosen among {len(weighed)} plausible patches" if len(weighed) > 1 else "the only plausible patch found"
        return Choice(candidate=best.index, text=f"{'; '.join(state.plausible[best.index].path)} ({rivals})")

    def _values(self, plausible: Sequence[Variant]) -> list[list[Any]]:
        """Outputs of the faulty program and of the patches on generated inputs; empty where calls are not data."""
        function = self.function
        inputs = generated(self.problem.tests, function) if function and len(plausible) > 1 else []
        if not inputs:
            return []
        typed = not any(FREE in variant.kinds for variant in plausible)
        sources = [self.problem.source, *(variant.source for variant in plausible)]
        return self.examiner.values(sources, inputs, function, trusted=typed)

    @property
    def function(self) -> str:
        """Name of the function that the tests call with plain values, else empty."""
        tests = self.problem.tests
        if isinstance(tests, Cases):
            return tests.function
        return tests.entry or "" if isinstance(tests, Script) and calls(tests, tests.entry or "") else ""

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """With probability `skill` what the policy says; else an edit, or a plan, at random. A simulation."""
        fn = self.policy(question.step)
        if dice.random() <= skill or question.step not in ("act", "plan"):
            return fn(**question.context) if fn else self.answer(question.step)()
        edits = pool(Site(source=self.problem.source, seed=self.seed))
        if question.step == "plan":
            return Plan(lines=sorted({dice.choice(edits).line for _ in range(3)}), reason="at random")
        edit = dice.choice(edits)
        return Move(replace=apply_edit(self.problem.source, edit), why=f"at random: {edit.summary}")


def numbered(source: str) -> str:
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))


def rule(test: str) -> str:
    return f"a.correctness.{test}"


def gate(tests: Sequence[str]) -> Criteria:
    """Every visible test must pass; the score is the share that does."""
    rules = [Rule(id=rule(test), description=f"{test} passes", check="run the test") for test in tests]
    return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)])


def shown(tests: Tests, limit: int = 12_000) -> str:
    """The visible tests as text for prompts."""
    if isinstance(tests, Cases):
        text = "\n".join(f"{tests.function}({', '.join(map(repr, c.args))}) should return {c.expected!r}" for c in tests.cases)
    else:
        text = tests.text if isinstance(tests, Script) else tests.command
    return text if len(text) <= limit else text[:limit] + "\n... (cut)"


class Refusal(BaseModel):
    """Why a rewrite could not be made."""

    why: str


def replaced(source: str, change: Rewrite) -> "str | Refusal":
    """The source with one passage replaced; an empty `find` stands for the whole program."""
    if not change.find:
        return change.replace if change.replace.strip() else Refusal(why="not done: the new program is empty")
    count = source.count(change.find)
    if count != 1:
        return Refusal(why=f"not done: the passage to find occurs {count} times in the program, not once")
    return source.replace(change.find, change.replace)


class Attempts:
    """One batch of candidates, examined side by side, and the state that it leads to."""

    def __init__(self, task: Repair, state: Program, batch: Batch):
        self.task, self.state, self.batch = task, state, batch
        typed = batch.edits and task.trusts(state, batch.base)
        known = {(e.start, e.end, e.text) for e in every(batch.base)} if typed else set()
        made = [(apply_edit(batch.base, e), (e.start, e.end, e.text) in known, e.summary, e.prior, e.kind) for e in batch.edits]
        free = [(replaced(batch.base, r), False, str(r), 1.0, FREE) for r in batch.rewrites]
        self.made = [(s, t, w, p, k) for s, t, w, p, k in [*made, *free] if isinstance(s, str)]
        self.refused = [s.why for s, *_ in free if isinstance(s, Refusal)]

    def outcome(self) -> Program:
        reports = self.task.examine([(source, typed) for source, typed, *_ in self.made])
        parent = next((v for v in self.state.frontier if v.source == self.batch.base), None)
        path, kinds, prior = (parent.path, parent.kinds, parent.prior) if parent else ([], [], 1.0)
        variants = [
            Variant(source=source, share=report.share, distance=report.distance, path=[*path, words],
                    kinds=[*kinds, kind], prior=prior * weight)
            for (source, _, words, weight, kind), report in zip(self.made, reports, strict=True)
        ]  # fmt: skip
        passing = [v for v, report in zip(variants, reports, strict=True) if report.results and report.share == 1]
        return self.state.model_copy(update=self._changes(variants, reports, passing))

    def _changes(self, variants: list[Variant], reports: list[Report], passing: list[Variant]) -> dict[str, Any]:
        state, size = self.state, len(self.made)
        cursor = digest(self.batch.base)
        first = variants.index(passing[0]) if passing else size
        changes: dict[str, Any] = {
            "explored": state.explored + size,
            "cursors": {**state.cursors, cursor: state.cursors.get(cursor, 0) + max(size, len(self.batch.edits))},
            "plausible": [*state.plausible, *passing],
            "since": state.since + (size if state.plausible else size - first),
            "frontier": self._frontier(variants),
        }
        best = max(range(size), key=lambda i: (variants[i].share, -variants[i].distance), default=None)
        if best is not None and not state.plausible and self._nearer(variants[best], state.share, state.distance):
            changes |= judged(variants[best].source, reports[best])
        near = f"nearest passes {variants[best].share:.0%}" if best is not None else "none could be made"
        words = [f"{self.batch.why or 'batch'}: {size} tried, {len(passing)} pass all tests, {near}", *self.refused[:5]]
        return {**changes, "last": "; ".join(words)}

    def _frontier(self, variants: list[Variant]) -> list[Variant]:
        """Variants that came nearer than the original did, with their own suspicion; the best are kept."""
        start = self.task.first
        nearer = [v for v in variants if v.share < 1 and self._nearer(v, start.share, start.distance)]
        nearer.sort(key=lambda v: (-v.share, v.distance))
        known = {v.source for v in self.state.frontier}
        fresh = [v for v in nearer if v.source not in known][:TRACED]
        reports = self.task.examine([(v.source, self._trusted(v)) for v in fresh], trace=True)
        traced = [v.model_copy(update={"suspicion": suspicion(v.source, r), "errors": errors(r)[:40]}) for v, r in zip(fresh, reports, strict=True)]
        kept = sorted([*self.state.frontier, *traced], key=lambda v: (-v.share, v.distance))
        shallow = [v for v in kept if len(v.path) == 1][:FRONTIER]
        return [*shallow, *[v for v in kept if len(v.path) == 2][: FRONTIER // 2]]

    def _trusted(self, variant: Variant) -> bool:
        return any(source == variant.source and typed for source, typed, *_ in self.made)

    @staticmethod
    def _nearer(variant: Variant, share: float, distance: float) -> bool:
        return (variant.share, -variant.distance) > (share, -distance + 1e-9)
