"""The setup that is to be confirmed, as a person sees it."""

from collections.abc import Mapping
from typing import Any

from looper.tasks.contracts import Confirmation
from looper.types import Question


def setup(question: Question, word: Confirmation) -> list[str]:
    """The rules by phase with severity, weight and threshold, and the iteration limit, as lines for a person."""
    rules = question.context["rules"]
    width = max((len(rule["id"]) for rule in rules), default=0)
    lines: list[str] = []
    for phase, value in question.context["thresholds"].items():
        threshold = _changed(value, word.thresholds.get(phase))
        lines.append(f"Phase {phase}: threshold {threshold}, and no rule of severity fail may fail")
        lines += [_row(rule, width, word) for rule in rules if rule["phase"] == phase] + [""]
    return [*lines, f"Iterations at most: {_changed(question.context['max_iterations'], word.max_iterations)}"]


def _row(rule: Mapping[str, Any], width: int, word: Confirmation) -> str:
    what = " ".join(str(rule["description"] or rule["check"]).split())
    out = "LEFT OUT  " if rule["id"] in word.leave_out else ""
    return f"  {rule['id']:{width}}  {rule['severity']:4}  weight {rule['weight']:g}  {out}{what}".rstrip()


def _changed(before: float, after: float | None) -> str:
    return f"{before:g}" if after is None else f"{after:g} (was {before:g})"


def thresholds_now(question: Question, word: Confirmation) -> str:
    now = {**question.context["thresholds"], **word.thresholds}
    return " ".join(f"{phase}={value:g}" for phase, value in now.items())


def limit_now(question: Question, word: Confirmation) -> int:
    return word.max_iterations or question.context["max_iterations"]
