"""VERIFY: evidence for each criterion, from checks that ran, from a reader, from the user (SPEC 5.5)."""

import json
import operator
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from looper.checks.bench import Bench
from looper.checks.examine import examine
from looper.checks.kinds import CHECK, Check, Config, Markdown, Pattern, Python, Secrets, Sections
from looper.criteria import Evaluation, Finding, Rule
from looper.loops.gather_verify.aimed import Aimed
from looper.loops.gather_verify.answers import Assessment, Criterion, IdealState, Judged, Metric
from looper.loops.gather_verify.completeness import parse_target
from looper.loops.gather_verify.layers import Evidence
from looper.loops.gather_verify.rules import NAMES
from looper.types import Signal

OBJECTIVE = ("compiles", "functions", "syntax", "required", "valid")
"""Facets of reading checks that say whether something works, not how it looks."""


SIGNS = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def layer_of(check: Check) -> str:
    """Patterns, sections, style and complexity are heuristics; what parses, validates or runs is objective."""
    if isinstance(check, Sections | Pattern | Secrets | Markdown):
        return "heuristic"
    if isinstance(check, Python | Config):
        return "objective" if set(check.facets) & set(OBJECTIVE) else "heuristic"
    return "semantic" if check.kind == "judge" else "objective"


HEURISTICS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "": [("no-secret", "there is no secret in it", {"kind": "secrets"})],
    "python": [
        ("simple", "no function is too complex", {"kind": "python", "facets": ["complexity"], "max_complexity": 15}),
        ("safe", "nothing in it is known to be unsafe", {"kind": "python", "facets": ["security"]}),
    ],
    "markdown": [
        ("whole", "its headings and code blocks are whole", {"kind": "markdown", "facets": ["headings", "fences"]}),
    ],
}  # fmt: skip
"""Rules of thumb by language of the artifact, each of severity should: id, what it says, its check."""


class Examined:
    """Everything that code finds out about one artifact. Each method is one journalled step."""

    def __init__(self, task: Aimed, ideal: IdealState, bench: Bench, text: str):
        self.task, self.ideal, self.bench, self.text = task, ideal, bench, text
        self.artifact = digest(text)

    def gate(self, evaluation: Evaluation, signals: Sequence[Signal]) -> list[Evidence]:
        """A line for each active rule of the gate: what its probes saw."""
        at = now()
        return [self._of_rule(rule, evaluation, signals, at) for rule in self.task.criteria.active(evaluation.phase)]

    def _of_rule(self, rule: Rule, evaluation: Evaluation, signals: Sequence[Signal], at: str) -> Evidence:
        added = next((one for one in self.task.added if one.rule.id == rule.id), None)
        finding = self.task.found(added, self.text) if added else _told(rule.id, signals)
        seen = finding.evidence if finding else {}
        output = json.dumps([signal.model_dump(mode="json") for signal in signals], sort_keys=True)
        return Evidence(
            criterion=rule.id, severity=NAMES[rule.severity], layer=self._layer(rule, added.check if added else None),
            met=rule.id not in evaluation.failed, check=rule.check or rule.description or rule.id,
            ran=str(seen.get("ran") or f"the gate of the task, with {', '.join(s.name for s in signals)}"),
            exit_code=seen.get("exit_code"), output_sha256=str(seen.get("output_sha256") or digest(output)),
            artifact_sha256=self.artifact, at=at, seconds=float(seen.get("seconds") or 0.0),
            note=finding.note if finding else "", anti=self._anti(rule.id),
            ran_by="judge" if self._layer(rule, added.check if added else None) == "semantic" else "code",
        )  # fmt: skip

    def _layer(self, rule: Rule, check: Check | None) -> Any:
        if check is not None:
            return layer_of(check)
        told = getattr(self.task.given, "checks_by_rule", None)
        layers = {layer_of(one) for one in (told().get(rule.id, []) if told else [])}
        return next((layer for layer in ("objective", "semantic", "heuristic") if layer in layers), "objective")

    def _anti(self, rule: str) -> bool:
        return any(self.task.aim.rule_of(one) == rule for one in self.ideal.anti_criteria)

    def thumb(self, language: str) -> list[Evidence]:
        """Rules of thumb for the artifact's language, and the metrics that code measures."""
        rows = HEURISTICS[""] + (HEURISTICS.get(language, []) if language else []) if self.text.strip() else []
        found = [(f"thumb.{name}", said, CHECK.validate_python(check)) for name, said, check in rows]
        return [self._examined(name, said, check) for name, said, check in found]

    def _examined(self, name: str, said: str, check: Check) -> Evidence:
        finding = examine(check, self.text, self.bench)
        seen = finding.evidence
        return Evidence(
            criterion=name, severity="should", layer="heuristic", met=finding.passed, check=said,
            ran=str(seen["ran"]), exit_code=seen["exit_code"], output_sha256=str(seen["output_sha256"]),
            artifact_sha256=self.artifact, at=now(), seconds=float(seen["seconds"]), note=finding.note, ran_by="code",
        )  # fmt: skip

    def metrics(self, evaluation: Evaluation) -> list[Evidence]:
        """A line for each metric whose value code can read off the result; size is a rule of thumb (SPEC 5.5)."""
        values = {
            "score": evaluation.score,
            "words": float(len(self.text.split())),
            "lines": float(self.text.count("\n") + 1),
            "characters": float(len(self.text)),
        }
        return [self._measured(one, values[one.measure]) for one in self.ideal.metrics if one.measure]

    def _measured(self, metric: Metric, value: float) -> Evidence:
        said = f"{metric.name or metric.measure} {metric.target} {metric.unit}".strip()
        return Evidence(
            criterion=f"metric.{metric.name or metric.measure}", severity="should",
            layer="objective" if metric.measure == "score" else "heuristic",
            met=reaches(value, metric.target), check=said, ran=f"{metric.measure} of the result: {value:g}",
            exit_code=None, output_sha256=digest(f"{value!r}"), artifact_sha256=self.artifact, at=now(), seconds=0.0,
            note=f"{value:g}, wanted {metric.target} {metric.unit}".strip(), ran_by="code",
        )  # fmt: skip


def _told(rule: str, signals: Sequence[Signal]) -> Finding | None:
    """The finding on a rule that a probe brought with it."""
    for signal in signals:
        data = signal.data.get(rule)
        if isinstance(data, Mapping) and "passed" in data:
            return Finding.model_validate(data)
    return None


def reaches(value: float, target: str) -> bool | None:
    """Whether a value meets a target such as `>= 0.9`; None for a target without a comparison and a number."""
    found = parse_target(target)
    return None if found is None else bool(SIGNS[found[0]](value, found[1]))


def assessed(said: Assessment, asked: Sequence[Mapping[str, Any]], text: str, by: str) -> list[Evidence]:
    """The semantic layer: a reader's verdict on each criterion that was asked about; a false quote is no verdict."""
    verdicts = {one.id: one for one in said.verdicts}
    return [_judged(row, verdicts.get(str(row["id"])), text, by) for row in asked]


def _judged(row: Mapping[str, Any], said: Judged | None, text: str, by: str) -> Evidence:
    known = {"met": True, "not_met": False}
    met, note = (known.get(said.verdict), said.reason) if said else (None, "the reader did not say")
    if said and said.quote and " ".join(said.quote.split()) not in " ".join(text.split()):
        met, note = None, f"what was quoted is not in the artifact; said was: {said.reason}"[:500]
    return Evidence(
        criterion=row["id"], severity=row["severity"], layer="semantic", met=met, check=row["question"],
        ran=f"read by {by}", exit_code=None, output_sha256=digest(said.model_dump_json() if said else ""),
        artifact_sha256=digest(text), at=now(), seconds=0.0, note=note, anti=bool(row["anti"]), ran_by="judge",
    )  # fmt: skip


def confirmed(criterion: Criterion, name: str, met: bool, text: str) -> Evidence:
    """The user's word on a critical criterion, under the name that the gate and the judge have for it.

    A must whatever the criterion is: nothing that they refuse to confirm is verified.
    """
    return Evidence(
        criterion=name, severity="must", layer="person", met=met,
        check=criterion.verify.person or criterion.description, ran="asked the user", exit_code=None,
        output_sha256=digest(str(met)), artifact_sha256=digest(text), at=now(), seconds=0.0,
        note="" if met else "the user does not confirm it", ran_by="person",
    )  # fmt: skip


def to_judge(ideal: IdealState, task: Aimed) -> list[dict[str, Any]]:
    """What a reader is asked: every criterion and anti-criterion, under the id of its rule where the gate has one.

    Not what only the user can tell, and not what the user has left out of the rules.
    """
    rules = {rule.id: rule for rule in task.criteria.rules}
    found = []
    for one in ideal.criteria:
        if one.verify.person or task.aim.rule_of(one) in task.aim.left_out:
            continue
        rule = rules.get(task.aim.rule_of(one) or "")
        severity = NAMES[rule.severity] if rule else one.severity
        question = one.verify.judge or one.description or one.id
        found.append({"id": rule.id if rule else one.id, "severity": severity, "question": question, "anti": False})
    for anti in (each for each in ideal.anti_criteria if task.aim.rule_of(each) not in task.aim.left_out):
        more = f" ({anti.detect.judge})" if anti.detect.judge else ""
        question = f"it is free of this: {anti.description}{more}"
        name = task.aim.rule_of(anti) or anti.id
        found.append({"id": name, "severity": "must", "question": question, "anti": True})
    return found
