"""What MLflow is told about one run: a function of its journal and of its folder, without MLflow itself (SPEC 6.1)."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.journal import Event, load_payload
from looper.tracking.identity import Gate
from looper.tracking.steps import Step, moment, step_of
from looper.types import TERMINAL

ACCOUNTS: tuple[str, ...] = ("inner", "outer", "tokens", "usd", "calls")
STATES = ("pending", "in_progress", "completed", "failed", "blocked")
"""Of the workflow's tasks (document 001)."""
FORKED = {"from": "parent", "at": "at"}
INHERITED = {
    "inner": "inner_units", "outer": "outer_units", "tokens": "tokens", "usd": "usd", "calls": "model_calls",
    "seconds": "seconds",
}  # fmt: skip
"""Metrics of what a fork has not paid itself, by account: names of a run's own with `inherited_` before them."""
ROUND = ("accepted", "deliverables", "open_importance", "flags")
"""What a round of a cabal came to (SPEC 4.3-4.8)."""
MLFLOW_STATUS = {
    "running": "RUNNING", "paused": "SCHEDULED", "completed": "FINISHED", "stopped": "FINISHED", "failed": "FAILED",
    "aborted": "KILLED", "interrupted": "KILLED",
}  # fmt: skip
"""MLflow's status by ours; the tag `status` has ours."""


@dataclass(frozen=True)
class Point:
    """A metric's value at a step."""

    name: str
    value: float
    at: int
    """Milliseconds since 1970."""
    step: int
    seq: int
    """The journal line after which it was known."""


class Spending:
    """What a run has spent; the cost of a finished step holds that of its calls (as in run.json)."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = dict.fromkeys(ACCOUNTS, 0.0)
        self.pending: dict[str, dict[str, float]] = {}
        self.segments = [0.0]

    def add(self, event: Event) -> None:
        if event.event in ("run_started", "resumed"):
            self.segments.append(0.0)
        self.segments[-1] = max(self.segments[-1], event.elapsed)
        if event.event == "call_done":
            _sum(self.pending.setdefault(event.key, {}), event.cost)
        elif event.key and event.event != "call_started":
            self.pending.pop(event.key, None)
            _sum(self.spent, event.cost)

    def totals(self) -> dict[str, float]:
        totals = dict(self.spent)
        for cost in self.pending.values():
            _sum(totals, cost)
        return {**totals, "seconds": sum(self.segments)}


def _sum(account: dict[str, float], cost: Mapping[str, float]) -> None:
    for name, amount in cost.items():
        account[name] = account.get(name, 0.0) + amount


@dataclass
class Record:
    """One run as far as its journal was read."""

    folder: Path
    spans: int = 300
    """Steps that the trace shows at most: the first and the last half; 0 where nobody wants the steps."""
    tags: dict[str, str] = field(default_factory=dict)
    status: str = "running"
    seq: int = 0
    started: int = 0
    """Milliseconds since 1970; 0 before the first event."""
    ended: int | None = None
    points: list[Point] = field(default_factory=list)
    """Not yet logged."""
    skipped: int = 0
    """Steps that the trace does not show."""
    evaluated: list[dict[str, float]] = field(default_factory=list)
    """For every verdict its step, `score`, `gate`, `score_on_all_rules` and what was spent up to it."""

    def __post_init__(self) -> None:
        self._spending = Spending()
        self._gate = Gate()
        self._iteration = self._verified = 0
        self._now: dict[str, float] = {}
        self._at = 0
        self._tries: dict[str, int] = {}
        self._first: list[Step] = []
        self._last: deque[Step] = deque(maxlen=self.spans - self.spans // 2)

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    @property
    def steps(self) -> list[Step]:
        return [*self._first, *self._last]

    def take(self, event: Event) -> None:
        """Read one more event."""
        self.started = self.started or moment(event)
        self.seq = event.seq  # before the flush: what is told now is new to whoever has looked up to the line before
        if event.iteration and event.iteration != self._iteration:
            self._flush()
            self._iteration = event.iteration
        self._at = moment(event)
        self._spending.add(event)
        self._gate.hear(event)
        told = {
            "evaluation_done": self._judge, "setup_confirmed": self._agree, "iteration_advanced": self._try,
            "tasks_updated": self._tree, "completeness": self._interview, "outer_verified": self._verify,
        }.get(event.event)  # fmt: skip
        if event.event in ("run_started", "resumed"):
            self._begin(event)
        elif told is not None:
            told(load_payload(self.folder, event))
        elif event.event in TERMINAL | {"paused"} and not event.key:
            self._end(event)
        if event.key and event.event not in ("call_started", "call_done") and event.step != "affords":
            self._now.update(self._spending.totals())
            if self.spans:
                self._show(event)

    def _begin(self, event: Event) -> None:
        self.status, self.ended = "running", None
        self.tags.update(status="running", reason="")
        if event.event == "run_started":
            setup = load_payload(self.folder, event)
            named = {"task": "task_alias", "design": "design", "outer": "outer", "sandbox": "sandbox", "seed": "seed"}
            named |= {"origin": "origin", "model": "model", "config_hash": "config_hash"}
            self.tags.update({tag: _word(setup.get(name)) for tag, name in named.items()})
            self.tags["run_id"] = event.run_id
            self.tags |= {name: str(setup[name]) for name in ("ablate",) if name in setup}
            self._fork(setup.get("forked") or {})
            self.tags |= {f"version.{name}": _word(made) for name, made in (setup.get("versions") or {}).items()}
            self._gate.set(setup.get("criteria"))
            self.tags.update(self._gate.tags())

    def _fork(self, forked: Mapping[str, Any]) -> None:
        """Where a fork comes from, and what it shares with its parent, which a sum over runs must count once."""
        self.tags |= {f"forked_{name}": str(forked[key]) for name, key in FORKED.items() if key in forked}
        shared = forked.get("inherited") or {}
        self._log({f"inherited_{name}": shared.get(account, 0.0) for account, name in INHERITED.items() if forked}, 0)

    def _judge(self, verdict: Any) -> None:
        if isinstance(verdict, dict):
            known = {"score": verdict.get("score"), "gate": verdict.get("passed")}
            known |= {"blockers": len(verdict.get("blockers") or []), "score_on_all_rules": self._gate.judge(verdict)}
            self._now.update(_numbers(known))
            self.evaluated.append({"step": self._iteration, **_numbers(known), **self._spending.totals()})

    def _agree(self, agreed: Any) -> None:
        self._gate.set(agreed.get("criteria"))
        self.tags.update(self._gate.tags())

    def _interview(self, found: Any) -> None:
        """How complete the ideal state is, by the round of the interview (SPEC 5.3)."""
        self._log({"completeness": found["score"]}, found["round"])

    def _verify(self, found: Any) -> None:
        """What a verification of an outer loop came to, by its number (SPEC 5.5)."""
        self._verified += "relaxed" not in found
        known = {f"verification.{layer}": value for layer, value in found["layers"].items()}
        self._log(_numbers({"verification": found["score"], "gaps": len(found["gaps"]), **known}), self._verified)

    def _try(self, entry: Any) -> None:
        """What a round came to, or a coder's change: the task's score, by the number of its try (issue 5, View)."""
        if not isinstance(entry, dict):
            return
        if "presentation" in entry:
            self._now.update(_numbers({name: entry.get(name) for name in ROUND}))
        if "attempt" not in entry:
            return
        task = entry["task"]
        self._tries[task] = self._tries.get(task, 0) + 1
        known = {
            f"task.{task}.score": entry["score"] * 100, f"task.{task}.attempt": entry["attempt"],
            f"task.{task}.violations": len(entry["violations"]), f"task.{task}.regressions": len(entry["regressions"]),
        }  # fmt: skip
        self._log(known, self._tries[task])

    def _tree(self, told: Any) -> None:
        """How many tasks are in which state, and how often the one at hand was attempted."""
        states = [task["state"] for task in told["tasks"]]
        self._now.update({f"tasks.{state}": float(states.count(state)) for state in STATES})
        for task in told["tasks"]:
            if task["id"] == told["task"]:
                known = {"attempts": task["attempts"], "completed": task["state"] == "completed"}
                self._log({f"task.{task['id']}.{name}": float(value) for name, value in known.items()})

    def _end(self, event: Event) -> None:
        outcome = load_payload(self.folder, event)
        facts = outcome.get("facts") or {}
        spent = self._spending.totals()
        self._flush()
        self.status, self.ended = event.event, moment(event)
        phase, on_all = self._gate.final(outcome)
        self.tags.update(status=event.event, reason=_word(outcome.get("reason")), phase=phase, **self._gate.tags())
        if cap := facts.get("sweep_budget"):
            self.tags["capped"] = f"sweep_budget.{cap['account']}={cap['cap']:g}"
        holdout = facts.get("holdout") or {}
        known = {
            "gate_score": outcome.get("score"), "gate_passed": outcome.get("passed"),
            "gate_score_on_all_rules": on_all,
            "holdout_score": holdout.get("score"), "holdout_passed": holdout.get("passed"),
            "inner_units": spent["inner"], "outer_units": spent["outer"],
            "tokens": spent["tokens"], "usd": spent["usd"],
            "model_calls": spent["calls"], "planner_calls": facts.get("planner_calls"),
            "inner_steps": facts.get("inner_steps"), "attempts": facts.get("attempts"), "pivots": facts.get("pivots"),
            "seconds": spent["seconds"], "iterations": self._iteration,
            "loop_backs": (facts.get("outer") or {}).get("loops"),
            **first_correct(facts.get("first_correct")),
        }  # fmt: skip
        self._log(_numbers(known))

    def _flush(self) -> None:
        self._log(self._now)
        self._now = {}

    def _log(self, values: Mapping[str, float], step: int | None = None) -> None:
        at = self._iteration if step is None else step
        new = [Point(name, round(value, 9), self._at, at, self.seq) for name, value in values.items()]
        self.points.extend(point for point in new if math.isfinite(point.value))

    def _show(self, event: Event) -> None:
        step = step_of(event)
        if len(self._first) < self.spans // 2:
            self._first.append(step)
            return
        self.skipped += len(self._last) == self._last.maxlen
        self._last.append(step)


def first_correct(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Whether an evaluated state was right by the hidden checks, and what was spent until the first (SPEC 6.3)."""
    if not found or found.get("not_looked_at"):
        return {}
    ever, spent = found["state"] is not None, found.get("spent") or {}
    accounts = {account: name for account, name in INHERITED.items() if account != "seconds" and ever}
    units = {f"first_correct_{name}": spent.get(account, 0.0) for account, name in accounts.items()}
    return {"evaluated_states": found["states"], "ever_correct": float(ever), **units}


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
