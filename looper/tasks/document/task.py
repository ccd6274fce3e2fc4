"""document: an artifact that must satisfy a criteria template (SPEC 7.3): API specification, code, docs, configuration.

State = the text, the phase of the gate, what the checks found; probes = groups of checks, judges; actions = passages
replaced; the inner policy chooses which failed rule the writer works on next; holdout = checks that nobody sees.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.checks.bench import Bench
from looper.checks.kinds import Check, Judge
from looper.criteria import Criteria, Evaluation, Finding, Rule
from looper.errors import ConfigError, PhaseError
from looper.tasks.contracts import Changes, Confirmation, Critique, Draft, Proposal
from looper.tasks.document.gate import Gate
from looper.tasks.document.library import place, source
from looper.tasks.document.playing import Playing
from looper.tasks.document.probes import JUDGE, READING, RUNNING, CheckGroup, Judged, together
from looper.tasks.document.revising import revised
from looper.tasks.document.rules import Template
from looper.tasks.document.sections import changed, unnamed
from looper.tasks.document.states import (
    Artifact,
    Brief,
    Decision,
    Handed,
    Judgement,
    NewPlan,
    Plan,
    Prepared,
    Revision,
    Worked,
    WorkOn,
)
from looper.tasks.document.working import NextRule
from looper.tasks.environment import FailureType
from looper.types import STRICT, Question, Signal

ANSWERS: dict[str, type[BaseModel]] = {
    "plan": Plan, "replan": NewPlan, "evaluate": Handed, "decide": Decision, "act": Revision, "write": Revision,
    "produce": Draft, "prepare_checks": Prepared, "critique": Critique, "judge": Judgement,
}  # fmt: skip
"""What each kind of question is answered with."""


def recorded(name: str | None) -> str | None:
    """The path of a recording that is given as @FILE. Raises ConfigError if there is none."""
    return str(place(name)) if name and name.startswith("@") else name


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Document:
    """Write an artifact that meets its rules."""

    name: str
    """Short name, for people and folders."""
    prompt: str
    """What is wanted, as a person would say it."""
    criteria_template: Template
    """Rules and thresholds."""
    bench: Bench
    """What checks are run with."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Material that the artifact is written from: name to text, or to @FILE (shipped: @NAME/FILE)."""
    rules: list[dict[str, Any]] = Field(default_factory=list)
    """Rows beside those of the template; one with the id of a template's row replaces it."""
    checks: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)
    """Typed checks by rule, made for this task; in place of the template's."""
    holdout_checks: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)
    """Typed checks by name that nobody sees before the end (SPEC 0.6)."""
    recording: Annotated[str | None, AfterValidator(recorded)] = None
    """A recording of this task's roles, @NAME/FILE or a path; labelled so wherever it is shown."""
    reference: str | None = None
    """An artifact that meets the rules: for simulated writers only, never in a prompt."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    roles: ClassVar[dict[str, str]] = {"judge": "decides rules that only a reader can verify", "writer": "edits"}

    @property
    def goal(self) -> str:
        return self.prompt.strip().split("\n")[0]

    @property
    def alias(self) -> str:
        return f"document-{self.name}"

    @property
    def prose(self) -> bool:
        """Whether the artifact is Markdown; a program or a configuration is not."""
        return self.criteria_template.name not in ("code", "config")

    @cached_property
    def gate(self) -> Gate:
        return Gate(self.criteria_template.extended(self.rules), self.checks, self.bench)

    @property
    def criteria(self) -> Criteria:
        return self.gate.criteria

    def adopt(self, proposal: Proposal | None, checks: Mapping[str, Sequence[Check]] | None = None) -> None:
        """Rules that were made for this task, and checks of them, where it has none; None: as configured."""
        self.gate.adopt(proposal, checks or {})

    def checks_by_rule(self) -> dict[str, list[Check]]:
        """The typed checks that rules have from the start, for who sorts evidence by its kind (SPEC 5.5)."""
        return self.gate.known

    @property
    def language(self) -> str:
        """What the artifact is written in, where rules of thumb exist for it: python, markdown, or nothing."""
        return {"code": "python", "docs": "markdown"}.get(self.criteria_template.name, "")

    def amend(self, word: Confirmation) -> None:
        """Thresholds and rules as the owner wants them. Raises ConfigError for what there is not."""
        self.gate.amend(word)

    def prepare(self) -> Brief:
        rows = [f"{r.id} ({r.severity}, phase {r.phase}): {r.description}" for r in self.criteria.rules]
        return Brief(
            goal=self.goal, prompt=self.prompt, rules="\n".join(rows), kind=self.criteria_template.name,
            sources={name: source(text) for name, text in self.sources.items()},
        )  # fmt: skip

    def answer(self, step: str) -> type[BaseModel]:
        return ANSWERS[step]

    # The environment

    def observe(self, plan: Plan | Draft | None) -> Artifact:
        """The artifact as it stands: the draft of a plan or of a producer, else empty; judged by all phases."""
        text = plan.text if isinstance(plan, Draft) else plan.draft if plan else ""
        return Artifact(text=text, phase=self.criteria.phases[-1].name, last=f"{len(text)} characters")

    def checks_of(self, state: Artifact) -> dict[str, list[Check]]:
        """The checks of every rule that is active in the state's phase."""
        return self.gate.checks(state)

    def probes(self) -> list[Any]:
        return [CheckGroup(self, READING), CheckGroup(self, RUNNING), *(Judged(self, r) for r in self.gate.judged())]

    def absorb(self, state: Artifact, signals: Sequence[Signal]) -> Artifact:
        """The state with the findings of its checks; a rule that two probes verify needs both."""
        found: dict[str, list[Finding]] = {}
        verdicts = dict(state.verdicts)
        for signal in signals:
            for rule, data in signal.data.items():
                told = Finding(passed=data["passed"], note=data["note"])
                if signal.name.startswith(JUDGE):
                    verdicts[rule] = told
                else:
                    found.setdefault(rule, []).append(told)
        for rule, checks in self.checks_of(state).items():
            if rule in verdicts and any(isinstance(check, Judge) for check in checks):
                found.setdefault(rule, []).append(verdicts[rule])
        findings = {rule: together(parts) for rule, parts in found.items()}
        return state.model_copy(update={"findings": findings, "verdicts": verdicts})

    def classify(self, state: Artifact, signals: Sequence[Signal]) -> FailureType:
        return FailureType.NO_DATA if not state.text.strip() else FailureType.UNKNOWN

    def policies(self) -> list[NextRule]:
        return [NextRule(task=self)]

    def quantity(self, action: Any) -> float:
        return 1.0

    def work(self, state: Artifact, action: WorkOn) -> dict[str, Any]:
        """What the writer is asked when the policy has chosen a rule."""
        rule = next(rule for rule in self.criteria.rules if rule.id == action.rule)
        return {"state": state, "rule": rule, "note": action.note, "refused": action.refused}

    def apply(self, state: Artifact, action: Revision) -> Artifact:
        """The artifact after a revision; one that does not apply to the letter changes nothing, and that is said."""
        text, problem = revised(state.text, action)
        last = problem or f"{', '.join(changed(state.text, text)[:5]) or 'nothing'} changed"
        return state.model_copy(update={"text": text, "findings": {}, "verdicts": {}, "last": last})

    def feedback(self, before: Artifact, after: Artifact) -> float:
        """Unknown before the checks have run: the sign of whether anything changed."""
        return 0.0 if before.text == after.text else 0.1

    def key(self, state: Artifact) -> str:
        return f"{state.phase}\0{state.text}"

    def evaluate(self, state: Artifact) -> Evaluation:
        """Raises PhaseError without rules: what nothing is asked of cannot pass."""
        if not self.criteria.rules:
            raise PhaseError(
                f"{self.name}: has no rules; choose a template with criteria@task.criteria_template=docs (api_spec, "
                "code, config), or loop=reflex, which asks for them.",
                "impossible",
            )
        return self.criteria.evaluate(state.findings, state.phase)

    def notes(self, state: Artifact) -> dict[str, str]:
        """What the checks said of the rules that failed."""
        return {rule: finding.note for rule, finding in state.findings.items() if not finding.passed}

    def conclude(self, state: Artifact, answer: Handed) -> Artifact:
        return state

    def describe(self, state: Artifact) -> str:
        return state.last

    def render(self, state: Artifact) -> str:
        return state.text

    def parse(self, text: str) -> Artifact:
        state = Artifact(text=text, phase=self.criteria.phases[-1].name, last="recalled")
        return self.absorb(state, [probe.test(state) for probe in self.probes() if isinstance(probe, CheckGroup)])

    def holdout(self, artifact: str) -> Evaluation | None:
        """The hidden checks' verdict on the final artifact (SPEC 0.6)."""
        return self.gate.hidden(self.holdout_checks, artifact) if self.holdout_checks else None

    # What document 003's phases need (looper.tasks.contracts.Written)

    def enter(self, state: Artifact, phase: str) -> Artifact:
        return state.model_copy(update={"phase": phase, "findings": {}})

    def unprepared(self, phase: str) -> list[Rule]:
        return self.gate.unprepared(phase)

    def vacuous(self, prepared: Prepared) -> list[str]:
        return self.gate.vacuous(prepared)

    def equip(self, state: Artifact, prepared: Prepared) -> Artifact:
        return self.gate.equipped(state, prepared)

    def changes(self, before: Artifact, after: Artifact, critique: Critique) -> Changes:
        names = changed(before.text, after.text)
        said = [f"{i.problem} {i.fix} {' '.join(i.sections)}" for i in critique.issues]
        return Changes(changed=names, unnamed=unnamed(names, said))

    # Fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        return {"decide": self._decide, "evaluate": lambda state, **_: Handed(text=state.last)}.get(step)

    def _decide(self, *, state: Artifact, signals: Any, memory: Worked, level: float, **_: Any) -> Decision:
        return Decision(action=NextRule(task=self).decide(state, signals, memory, level))

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """A writer of a given skill, played with parts of the reference. A simulation."""
        if self.reference is None:
            raise ConfigError(f"document {self.name}: has no reference that a simulated writer could play with.")
        return Playing(source(self.reference), self).answer(question, skill, dice)
