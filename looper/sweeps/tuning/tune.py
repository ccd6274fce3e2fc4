"""What `looper tune` searches, and what a trial is worth: settings, and the value of a trial from its cells' rows."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from looper.build import explain
from looper.console.blocks import amount
from looper.errors import ConfigError
from looper.folder import Folder
from looper.sweeps.rows import ELSEWHERE
from looper.types import STRICT, TERMINAL

Cost = Literal["inner", "outer", "usd", "tokens", "calls", "seconds"]
Choice = bool | int | float | str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Range:
    """Numbers from `low` to `high`; whole ones if both are."""

    low: int | float
    """Least value."""
    high: int | float
    """Greatest value, above `low`."""
    log: bool = False
    """Whether to search by ratio; `low` must be above 0, and there is no `step`."""
    step: int | float | None = None
    """Distance of two values; None: any number, or every whole one."""

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low < self.high:
            raise ValueError("low must be below high")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("with log, low must be above 0 and there is no step")
        if self.step is not None and self.step <= 0:
            raise ValueError("step must be above 0")
        return self


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Choices:
    """One of some values."""

    choices: Annotated[list[Choice], Field(min_length=2)]
    """At least two."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Objective:
    """What is to be great: the mean score of a trial's cells, less what they cost; or both, if they are not weighed."""

    score: Literal["gate", "holdout"] = "gate"
    """Whose score; a cell that fails has 0. What is searched by the holdout has none any more: see `use_holdout`."""
    cost: Cost | None = None
    """Account whose mean per cell counts against a trial; None: cost does not matter."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Score that a unit of cost is worth, above 0; None with a cost: two objectives, and a front, no winner."""

    @model_validator(mode="after")
    def _weighed(self) -> "Objective":
        if self.weight is not None and self.cost is None:
            raise ValueError("a weight needs a cost")
        return self

    @property
    def directions(self) -> list[str]:
        return ["maximize", "minimize"] if self.cost and self.weight is None else ["maximize"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Tune:
    """A search: each trial runs all cells of the sweep (its tasks and seeds) with values from `space`."""

    space: Annotated[dict[str, Range | Choices], Field(min_length=1)]
    """Settings and their values, e.g. `{budget.inner: {low: 2, high: 20, log: true}}`."""
    objective: Objective = Field(default_factory=Objective)
    trials: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Trials in all, those of earlier commands included."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the sampler's dice."""
    use_holdout: bool = False
    """Must be said where the objective is the holdout: the winner's holdout score is no honest estimate then."""

    @model_validator(mode="after")
    def _honest(self) -> "Tune":
        if self.objective.score == "holdout" and not self.use_holdout:
            raise ValueError(
                "objective.score=holdout would use up the holdout, by which designs are compared; say so with "
                "tune.use_holdout=true, and compare on other tasks"
            )
        return self


def tune_of(settings: Any) -> Tune:
    """From the key `tune` of the configuration. Raises ConfigError."""
    if not isinstance(settings, Mapping):
        raise ConfigError("tune: nothing is declared to be searched; take +experiment=tune_adaptive as an example.")
    try:
        return TypeAdapter(Tune).validate_python(dict(settings))
    except ValidationError as error:
        raise ConfigError(explain(error, "tune", Tune)) from error


class Unfinished(Exception):
    """A trial whose cells have not all come to an end; the same command goes on with it."""


def value(tune: Tune, rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """The objectives of a trial from the rows of its cells.

    Raises Unfinished, and ConfigError if a cell could not run or has no such score.
    """
    for row in rows:
        refused = bool(row.get("capped"))
        if refused or row["status"] not in (*TERMINAL, "not run") or row.get("note") == ELSEWHERE:
            raise Unfinished
        if row["status"] == "not run":
            raise ConfigError(str(row["reason"]))
    goal = tune.objective
    score = statistics.fmean(_score(row, "holdout" if goal.score == "holdout" else "score") for row in rows)
    if goal.cost is None:
        return [score]
    cost = statistics.fmean(_cost(row, goal.cost) for row in rows)
    return [score, cost] if goal.weight is None else [score - goal.weight * cost]


def _score(row: Mapping[str, Any], name: str) -> float:
    """The row's score, 0 if it failed without one."""
    found = row.get(name)
    if isinstance(found, int | float):
        return float(found)
    if row["status"] in ("failed", "aborted") or name == "score":
        return 0.0
    raise ConfigError(f"tune.objective.score={name}: the task has none.")


def _cost(row: Mapping[str, Any], account: str) -> float:
    if account == "seconds":
        return float(row.get("seconds") or 0.0)
    spent = Folder(Path(row["folder"])).saved().get("spent") or {}
    return float(spent.get(account, 0.0))


def as_overrides(params: Mapping[str, Any]) -> list[str]:
    """These values as a command line takes them."""
    return [f"{key}={_text(value)}" for key, value in params.items()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def told(values: Sequence[float]) -> str:
    return ", ".join(amount(value) for value in values)
