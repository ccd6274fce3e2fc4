"""Probes of the document task: a group of checks run by code, and a judge's verdict on one rule."""

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

from looper.checks.examine import examine
from looper.checks.kinds import Check, Judge
from looper.criteria import Finding
from looper.tasks.document.states import Artifact, Judgement
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.document.task import Document

READING, RUNNING = "reading", "running"
EXECUTES = ("pytest", "command", "script")
"""Kinds of checks that execute something; they are a group of their own, beside the others."""


def group(check: Check) -> str:
    return RUNNING if check.kind in EXECUTES else READING


class CheckGroup:
    """All checks of one group whose rules are active in the state's phase."""

    def __init__(self, task: "Document", name: str):
        self.task, self.name = task, name

    def applies(self, state: Artifact) -> bool:
        return any(self.checks(state).values())

    def checks(self, state: Artifact) -> dict[str, list[Check]]:
        known = self.task.checks_of(state)
        return {
            rule: [check for check in checks if check.kind != "judge" and group(check) == self.name]
            for rule, checks in known.items()
        }

    def test(self, state: Artifact) -> Signal:
        found = {
            rule: together([examine(check, state.text, self.task.bench) for check in checks])
            for rule, checks in self.checks(state).items()
            if checks
        }
        passed = sum(finding.passed for finding in found.values())
        return Signal(
            name=self.name, passed=passed == len(found), value=passed / max(1, len(found)),
            reason=f"{passed} of {len(found)} rules", data={r: f.model_dump(mode="json") for r, f in found.items()},
        )  # fmt: skip


class Judged:
    """A rule that only a reader can verify: the judge is asked, code reads the verdict (SAFETY P13)."""

    role: ClassVar[str] = "judge"
    step: ClassVar[str] = "judge"
    returns: ClassVar[type[Judgement]] = Judgement

    def __init__(self, task: "Document", rule: str):
        self.task, self.rule, self.name = task, rule, f"judge-{rule}"

    def question(self, state: Artifact) -> dict[str, Any] | None:
        check = self.check(state)
        if check is None:
            return None
        return {"rule": self.rule, "question": check.question, "artifact": state.text, "nonce": self.nonce(state)}

    def check(self, state: Artifact) -> Judge | None:
        """The judge's check of this rule, if it is active and has one."""
        found = [check for check in self.task.checks_of(state).get(self.rule, []) if isinstance(check, Judge)]
        return found[0] if found else None

    def nonce(self, state: Artifact) -> str:
        """The question's own code: no text can hold the hash of itself."""
        return hashlib.sha256(f"{self.rule}\0{state.text}".encode("utf-8", "replace")).hexdigest()[:16]

    def reading(self, state: Artifact, answer: Judgement | None) -> Signal:
        check = self.check(state)
        if answer is None or check is None:
            return Signal(name=self.name, passed=True, value=0.0, reason="not asked")
        if answer.nonce != self.nonce(state):
            finding = Finding(passed=False, note="the judge's reply belongs to another question: it is no verdict")
        else:
            enough = answer.score >= check.min_score
            finding = Finding(passed=enough, note="" if enough else f"judged {answer.score:g}: {answer.reason}")
        data = {self.rule: finding.model_dump(mode="json")}
        return Signal(name=self.name, passed=finding.passed, value=answer.score, reason=answer.reason, data=data)


def together(findings: list[Finding]) -> Finding:
    """One finding of a rule with several checks: all of them have to pass."""
    if len(findings) == 1:
        return findings[0]
    failed = [finding for finding in findings if not finding.passed]
    notes = " ".join(finding.note for finding in failed if finding.note)
    evidence = {str(place): finding.evidence for place, finding in enumerate(findings, 1)}
    return Finding(passed=not failed, note=notes, evidence=evidence)
