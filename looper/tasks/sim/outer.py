"""Who plays an outer loop's interviewer and verifier: the planted truth with its errors. A simulation.

An interview finds out the hidden twin of a rule with probability `discover`; the verifier then looks for it.
"""

import random
from typing import TYPE_CHECKING, Any

from looper.tasks.sim.playing import hidden_twin
from looper.tasks.sim.truth import meets, meets_hidden

if TYPE_CHECKING:
    from looper.tasks.sim.task import Sim

SEVERITY = {"fail": "must", "warn": "should", "info": "nice"}


def ideal(task: "Sim", skill: float, dice: random.Random) -> dict[str, Any]:
    """The ideal state: every rule of the gate, and what was found out of the hidden ones."""
    rules = task.criteria.rules
    found = [rule for rule in rules if dice.random() < skill * task.truth.discover]
    criteria = [
        {"id": rule.id, "description": f"{rule.description} is met", "severity": SEVERITY[rule.severity],
         "verify": {"rule": rule.id}}
        for rule in rules
    ] + [
        {"id": hidden_twin(rule.id), "description": f"what the gate does not say of {rule.description}",
         "severity": SEVERITY[rule.severity], "verify": {"judge": f"is the hidden side of {rule.id} met?"}}
        for rule in found
    ]  # fmt: skip
    return {
        "objective": task.goal, "criteria": criteria,
        "anti_criteria": [
            {"id": "nothing-handed-over", "description": "the result is empty",
             "detect": {"check": {"kind": "pattern", "pattern": r"\S", "min": 1}}},
            {"id": "a-secret-in-it", "description": "the result holds a secret",
             "detect": {"check": {"kind": "secrets"}}},
        ],
        "metrics": [
            {"name": "gate score", "target": f">= {task.criteria.phases[-1].threshold:g}",
             "unit": "share of the weight", "measure": "score"},
        ],
        "exits": ["every criterion is verified", "the budget or the rounds are used up"],
    }  # fmt: skip


def assess(task: "Sim", rows: Any, artifact: str, skill: float, dice: random.Random) -> dict[str, Any]:
    """A verdict on each criterion: the truth, but for the planted errors of a judge."""
    parts = task.parse(artifact).parts
    truth = {rule: meets(task.instance, rule, parts.get(rule)) for rule in task.odds}
    truth |= {hidden_twin(rule): meets_hidden(task.instance, rule, parts.get(rule), task.truth) for rule in task.odds}
    verdicts = []
    for row in rows:
        met = truth.get(row["id"], True)
        error = task.truth.false_reject if met else task.truth.false_accept
        right = row["id"] not in truth or dice.random() < skill * (1 - error)
        said = "met" if met == right else "not_met"
        verdicts.append({"id": row["id"], "verdict": said, "reason": "judged by dice (simulated)"})
    return {"verdicts": verdicts}
