"""What is said of a run while it goes on: a line per step that is worth one, a block per iteration (document 003)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.console.board import Rounds
from looper.console.outer import Phases
from looper.console.screen import brief
from looper.console.tree import event_words
from looper.journal import Event, load_payload
from looper.types import TERMINAL, Usage

ARTIFACTS = ("artifact_created", "refinement_done")
ENDINGS = TERMINAL | {"paused"}
SLOW = 2.0
"""Seconds from which a step is worth a line whatever it is."""
SILENT = (
    "affords", "run_started", "resumed", "call_started", "board_updated",
    "outer_updated", "outer_verified", "completeness",
    "recalls", "assessed_by", "questions_put", "shortfall", "another_round",
)  # fmt: skip
LABELS = {"recording": "a recording", "simulated": "a simulation"}
"""What must not be taken for the real thing."""


def amount(value: float) -> str:
    """A number for people: at most four digits after the point."""
    return f"{round(value, 4):g}"


def score(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else "none"


def filler(by: str) -> str:
    """Who answered, a recording and a simulation labelled as such."""
    return f"{by} ({LABELS[by]})" if by in LABELS else by


def alias_of(task: Any) -> str:
    """The name of a task for people."""
    return getattr(task, "alias", None) or type(task).__name__.lower()


def step_line(event: Event) -> str | None:
    """One line on an event, or None if it is not worth one."""
    if event.event in SILENT or event.step in SILENT or event.event in ENDINGS:
        return None
    told = _words(event)
    if told is None:
        return None
    where = f"[{event.iteration}] " if event.iteration else ""
    return f"{where}{brief(told, 160)}"


def _words(event: Event) -> str | None:
    data = event.payload if isinstance(event.payload, dict) else {}
    if event.event == "call_done":
        return f"{event.step}: call {data.get('attempt', '?')} ended {event.calls[0].ended if event.calls else '?'}"
    if event.event in ("phase_error", "budget_refused"):
        return f"{event.step}: {data.get('message', event.event)}"
    if event.event == "iteration_advanced":
        return _advance(data)
    if told := event_words(event.event, data):
        return told
    if event.calls or event.by == "human":
        return f"{event.step}: {_bill(event)}"
    if event.event == "step_done":
        return f"{event.step}: {event.seconds:.1f} s" if event.seconds >= SLOW else None
    if event.event == "plan_created":
        return f"plan created{_gist(steps_of(event.payload))}"
    return f"{event.event.replace('_', ' ')}{_gist(event.payload)}" if event.event != "evaluation_done" else None


def _advance(data: Mapping[str, Any]) -> str:
    parts = [f"step {data['step']}"] if "step" in data else ["advanced"]
    if "attempt" in data:
        what = f"fix {data['step']}" if data["step"] else "change"
        parts = [f"task {data['task']}, attempt {data['attempt']}, {what}"]
    parts += [f"score {score(data['score'])}"] if "score" in data else []
    parts += [f"feedback {data['feedback']:+.2f}"] if isinstance(data.get("feedback"), float) else []
    parts += [f"{name} {amount(data[f'{name}_left'])} left" for name in ("inner", "outer") if data.get(f"{name}_left")]
    said = [str(data[key]) for key in ("policy", "action", "result") if data.get(key)]
    parts += [f"regressions {names_of(data['regressions'])}"] if data.get("regressions") else []
    action = ": ".join(said[1:] if said[1:] and said[1].startswith(f"{said[0]}:") else said)
    return ", ".join([*parts, action] if action else parts)


def _bill(event: Event) -> str:
    usage = Usage.of(event.calls)
    parts = [f"answered by {filler(event.by)}"]
    parts += [f"{usage.calls} call{'s' * (usage.calls != 1)}, {usage.tokens} tokens"] if usage.calls else []
    parts += [f"${usage.usd:.4f}"] if usage.usd else []
    return ", ".join([*parts, f"{event.seconds:.1f} s"])


def _gist(payload: Any) -> str:
    return f": {brief(payload, 120)}" if payload not in (None, {}, "") else ""


def cell(value: Any, widest: int = 60) -> str:
    """A value in a table, harmless and on one line."""
    if value is None:
        return "-"
    return amount(value) if isinstance(value, int | float) else brief(value, widest)


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells in columns as wide as their widest cell, the last one as it comes."""
    widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads) - 1)]
    return [
        "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in [heads, *rows]
    ]


@dataclass
class Block:
    """The compact summary of one iteration, gathered from its events and said once it is over."""

    folder: Path
    max_iterations: int | None = None
    plan: str = ""
    artifact: str | None = None
    changed: list[str] = field(default_factory=list)
    """What the latest change of the artifact was, a line each; of an artifact that is still to be evaluated."""
    shown: list[str] = field(default_factory=list)
    """Hash and changes of the artifact that was evaluated."""
    regressions: list[str] = field(default_factory=list)
    critique: list[str] = field(default_factory=list)
    verdict: dict[str, Any] | None = None
    iteration: int = 0

    def __post_init__(self) -> None:
        self.rounds, self.phases = Rounds(self.folder, self.max_iterations), Phases(self.folder)

    def take(self, event: Event) -> list[str]:
        """Lines that are due: the block of an iteration that is over, the artifact at a change of phase."""
        if (told := self.rounds.take(event)) is not None:
            return told
        if (told := self.phases.take(event)) is not None:
            return [*self.flush(), *told]
        due: list[str] = []
        if event.event == "evaluation_done":
            due = self._verdict(event)
        elif event.event == "plan_created":
            self.plan = brief(steps_of(load_payload(self.folder, event)))
        elif event.event in ARTIFACTS:
            self._artifact(event, load_payload(self.folder, event))
        elif event.event == "critique_done":
            self.critique = fixes(load_payload(self.folder, event))
        elif event.event == "phase_switched":
            due = [*self.flush(), *self._whole()]
        elif event.event == "setup_confirmed":
            self.max_iterations = load_payload(self.folder, event)["max_iterations"]
        elif event.event == "iteration_advanced" or event.event in ENDINGS:
            self._regressed(event)
            due = self.flush()
        return due

    def _regressed(self, event: Event) -> None:
        data = event.payload if event.event == "iteration_advanced" else None
        self.regressions = data.get("regressions") or [] if isinstance(data, dict) else []

    def flush(self) -> list[str]:
        """The block of the iteration so far, once."""
        verdict, self.verdict = self.verdict, None
        if verdict is None:
            return []
        within = self.max_iterations and self.iteration <= self.max_iterations  # a replan begins to count anew
        known = f"/{self.max_iterations}" if within else ""
        head = (
            f"── Iteration {self.iteration}{known} | Phase {brief(verdict.get('phase') or '-', 20)} | "
            f"Score: {score(verdict.get('score'))} | {'PASS' if verdict.get('passed') else 'FAIL'} ──"
        )
        lines = [head, *self._details(verdict)] if self.artifact is not None else [head]
        self.critique, self.regressions = [], []
        return lines

    def _verdict(self, event: Event) -> list[str]:
        verdict = load_payload(self.folder, event)
        if not isinstance(verdict, dict):
            return []
        new = self.verdict and (event.iteration, verdict.get("phase")) != (self.iteration, self.verdict.get("phase"))
        due = self.flush() if new else []
        self.iteration, self.verdict = event.iteration, verdict
        digest = hashlib.sha256((self.artifact or "").encode("utf-8", "replace")).hexdigest()[:8]
        self.shown, self.changed = [f"Hash: {digest}", *(self.changed or ["Changed: nothing"])], []
        return due

    def _artifact(self, event: Event, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("text"), str):
            self.artifact = data["text"]
            if event.event == "artifact_created":
                self.changed = ["Changed: initial generation"]
            elif "changed" in data:
                self.changed = [f"Changed: {names_of(data['changed'], 'nothing')}"]
                if data.get("unnamed"):
                    self.changed.append(f"Changed without being named by the critique: {names_of(data['unnamed'])}")
            else:
                self.changed = ["Changed: not said"]

    def _details(self, verdict: Mapping[str, Any]) -> list[str]:
        """Document 003's lines, for designs that work on an artifact."""
        lines = [f"Plan: {self.plan or 'none'}", *self.shown]
        warnings = verdict.get("warnings") or []
        failed = [rule for rule in verdict.get("failed") or [] if rule not in warnings]
        lines += [f"Failed: {names_of(failed)}", f"Warnings: {names_of(verdict.get('warnings'))}"]
        lines += [f"Regressions: {names_of(self.regressions)}"] if self.regressions else []
        lines += [f"Artifact: {self.folder / 'artifact.md'}"]
        return lines if verdict.get("passed") else lines + self.critique

    def _whole(self) -> list[str]:
        """The artifact that has passed a phase, in full, once at the transition (document 003)."""
        return ["", self.artifact, ""] if self.artifact is not None else []


def steps_of(plan: Any) -> Any:
    """The steps of a plan on one line, without a draft that it may bring; another plan as it is."""
    if isinstance(plan, dict) and isinstance(plan.get("tasks"), list):
        return "; ".join(str(task.get("title", task)) for task in plan["tasks"])
    steps = plan.get("steps") if isinstance(plan, dict) else None
    return "; ".join(str(step) for step in steps) if isinstance(steps, list) else plan


def names_of(ids: Any, none: str = "none") -> str:
    return brief(", ".join(str(name) for name in ids), 200) if isinstance(ids, Sequence) and ids else none


def fixes(critique: Any) -> list[str]:
    """Rule and fix of each issue, a line each."""
    issues = critique.get("issues") if isinstance(critique, dict) else critique
    found = [issue for issue in issues if isinstance(issue, dict)] if isinstance(issues, list) else []
    lines = []
    for issue in found:
        rule = next((issue[key] for key in ("rule", "rule_id", "id") if issue.get(key)), "?")
        fix = next((issue[key] for key in ("fix", "fix_instruction", "instruction", "issue") if issue.get(key)), "")
        lines.append(f"  {brief(rule, 60)}: {brief(fix, 120)}")
    return lines
