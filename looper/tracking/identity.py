"""What two runs must share to be comparable, as their journals tell it: the gate, and who answered (SPEC 6.2)."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from looper.criteria import WEIGHTS
from looper.journal import Event

BY_CODE = "code"
"""Who wrote a run's checks where no role did."""
QUIET = ("call_started", "call_done")


def checks_of(criteria: Mapping[str, Any]) -> str:
    """Twelve hex digits that change with a rule, its severity, weight, phase or check, or with a threshold.

    Descriptions are words for people and do not count, unless a rule has nothing else: then they are what is checked.
    """
    rules = sorted(
        (
            rule["id"], rule.get("severity", "fail"), _weight(rule), rule.get("phase", "A"),
            rule.get("check") or "", "" if rule.get("check") else rule.get("description", ""),
        )
        for rule in criteria.get("rules") or []
    )  # fmt: skip
    phases = [(phase["name"], phase["threshold"]) for phase in criteria.get("phases") or []]
    text = json.dumps([rules, phases])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _weight(rule: Mapping[str, Any]) -> float:
    weight = rule.get("weight")
    return WEIGHTS[rule.get("severity", "fail")] if weight is None or weight < 0 else float(weight)


def on_all_rules(criteria: Mapping[str, Any], verdict: Mapping[str, Any]) -> float | None:
    """A verdict's score on the rules of the last phase, 0 to 1; None where the criteria do not tell.

    In an earlier phase the rules to come have no finding yet, and a rule without a finding has failed
    (`criteria.Criteria.evaluate`): two runs that ended in different phases stand on one footing then.
    """
    names = [phase["name"] for phase in criteria.get("phases") or []]
    if verdict.get("phase") not in names:
        return None
    if verdict["phase"] == names[-1]:
        return verdict.get("score")
    reached = names[: names.index(verdict["phase"]) + 1]
    counted = [rule for rule in criteria.get("rules") or [] if rule.get("severity", "fail") != "info"]
    whole = sum(_weight(rule) for rule in counted)
    failed = set(verdict.get("failed") or [])
    held = [rule for rule in counted if rule.get("phase", "A") in reached and rule["id"] not in failed]
    return sum(_weight(rule) for rule in held) / whole if whole else None


class Gate:
    """The gate of one run while its journal is read: its rules, its verdicts, who wrote its checks, who answered."""

    def __init__(self) -> None:
        self.criteria: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        """As the task began with them; roles and people may agree on others."""
        self.written_by: set[str] = set()
        self.fillers: dict[str, int] = {}
        self._verdicts: list[tuple[Any, bool, str, float | None]] = []

    def set(self, criteria: Any) -> None:
        """The rules as the run began with them, or as a person has confirmed them since."""
        self.criteria = criteria if isinstance(criteria, dict) else {}
        self.given = self.given or self.criteria

    def hear(self, event: Event) -> None:
        """Who did this step, if somebody did."""
        if not event.by or event.event in QUIET:
            return
        self.fillers[event.by] = self.fillers.get(event.by, 0) + 1
        if event.event == "checks_prepared":
            self.written_by.add(event.by)

    def judge(self, verdict: Mapping[str, Any]) -> float | None:
        """One more verdict; its score on all rules."""
        score = on_all_rules(self.criteria, verdict)
        self._verdicts.append((verdict.get("score"), bool(verdict.get("passed")), verdict.get("phase", ""), score))
        return score

    def final(self, outcome: Mapping[str, Any]) -> tuple[str, float | None]:
        """Phase of the verdict that the outcome's score belongs to, and that score on all rules.

        ("", None) if no verdict gave it. A later verdict wins, and one that agrees on `passed` before one that does
        not: a phase before the last is passed without the gate being met.
        """
        score, passed = outcome.get("score"), bool(outcome.get("passed"))
        fitting = [verdict for verdict in self._verdicts if score is not None and verdict[0] == score]
        agreed = [verdict for verdict in fitting if verdict[1] == passed]
        return (agreed or fitting)[-1][2:] if fitting else ("", None)

    def tags(self) -> dict[str, str]:
        """For a tracking server: `checks_given` as the task has them, `checks` as agreed, `checks_by`, `fillers`."""
        return {
            "checks_given": checks_of(self.given) if self.given else "none",
            "checks": checks_of(self.criteria) if self.criteria else "none",
            "checks_by": ", ".join(sorted(self.written_by - {"policy"})) or BY_CODE,
            "fillers": ", ".join(f"{name} {count}" for name, count in sorted(self.fillers.items())) or "none",
        }
