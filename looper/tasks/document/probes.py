"""Probes of the document task: a group of checks run by code, and a judge's verdict on one rule."""

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

from looper.checks.examine import examine
from looper.checks.judge import verdict
from looper.checks.kinds import Check, Judge
from looper.criteria import Finding
from looper.tasks.document.states import Artifact, Judgement
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.document.task import Document

READING, RUNNING, JUDGE = "reading", "running", "judge-"
"""Names of the signals; a judge's has the rule behind it."""
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

    decides: ClassVar[bool] = True
    role: ClassVar[str] = "judge"
    step: ClassVar[str] = "judge"
    returns: ClassVar[type[Judgement]] = Judgement

    def __init__(self, task: "Document", rule: str):
        self.task, self.rule, self.name = task, rule, f"{JUDGE}{rule}"

    def question(self, state: Artifact) -> dict[str, Any] | None:
        """Nothing where the rule is not active, needs no judge, was judged in this very text, or there is none."""
        check = self.check(state)
        if check is None or self.rule in state.verdicts or not state.text.strip():
            return None
        return {"rule": self.rule, "question": check.question, "artifact": state.text, "nonce": self.nonce(state)}

    def check(self, state: Artifact) -> Judge | None:
        """All that is asked about this rule as one question, with the highest of the needed scores."""
        asked = [check for check in self.task.checks_of(state).get(self.rule, []) if isinstance(check, Judge)]
        if not asked:
            return None
        words = [f"{check.question} (Look at: {check.part}.)" if check.part else check.question for check in asked]
        enough = max(check.min_score for check in asked)
        return asked[0].model_copy(update={"question": " ".join(words), "min_score": enough})

    def nonce(self, state: Artifact) -> str:
        """The question's own code: no text can hold the hash of itself."""
        return hashlib.sha256(f"{self.rule}\0{state.text}".encode("utf-8", "replace")).hexdigest()[:16]

    def reading(self, state: Artifact, answer: Judgement) -> Signal:
        check = self.check(state)
        if check is None:
            raise LookupError(f"{self.rule}: nobody asked a judge")
        finding = verdict(check, answer.model_dump_json(), self.nonce(state))
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
