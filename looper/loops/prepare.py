"""PREPARE: rules in words become checks, and those that say nothing are sent back once (SPEC 2.6)."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from looper.criteria import Rule
from looper.run import Run
from looper.tasks.contracts import Written
from looper.tasks.environment import Task

TRIES = 2
"""Preparations of a phase at most: the first, and one more for what says nothing."""


def prepare(task: Task, written: Written, turn: Run, phase: str) -> Any:
    """Checks for the rules of a phase that have none, None if all have some. What stays without goes to a judge."""
    rules = list(written.unprepared(phase))
    if not rules:
        turn.note("checks_prepared", phase=phase, checks=[], given=[rule.id for rule in task.criteria.active(phase)])
        return None
    prepared: Any = None
    useless, missing = list[str](), list[str]()
    for _attempt in range(TRIES):
        context = turn.brief | {"rules": rules, "refused": prepared, "vacuous": useless, "missing": missing}
        prepared = turn.ask("preparer", task.answer("prepare_checks"), step="prepare_checks", **context)
        useless, missing = turn.do("vacuous", written.vacuous, prepared), unmentioned(rules, prepared)
        if not useless and not missing:
            return prepared
    judged = [rule.id for rule in rules if rule.id in {*useless, *missing}]
    dropped = [name for name in useless if name not in judged]
    turn.note("checks_replaced", phase=phase, rules=judged, by="judge", dropped=dropped)
    return prepared


def unmentioned(rules: Sequence[Rule], prepared: BaseModel) -> list[str]:
    """Ids of rules that an answer does not name anywhere, and so has no check for."""
    said = set(_texts(prepared.model_dump(mode="json")))
    return [rule.id for rule in rules if rule.id not in said]


def _texts(data: Any) -> Iterator[str]:
    """All keys and texts in plain data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)
