"""What a sweep would cost and could find, before anything is spent (issue 8, item 1).

Worst cases follow from caps and prices. Expectations come from earlier runs of the same task, design and model, else
from simulating what is a simulation, else, where the task says how long its questions are, from a run in which every
answer is right; else they are unknown: no number is made up.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from looper.lab.data.frame import digest
from looper.lab.planning.bounds import AMOUNTS, Amount, bounds, metered
from looper.lab.planning.estimate import SOURCE, estimated
from looper.parts import Parts
from looper.redact import redact_data
from looper.tasks.sim.task import Sim
from looper.tracking.files import LONGEST_PARAMETER, flat

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("task", "loop", "outer", "model", "agents", "budget")
"""Settings that say what a run is and what it may spend."""
TRIALS = 60
"""Simulated runs behind an expectation, about; their standard error is an eighth of the spread of a run."""
UNKNOWN = Amount(None, None, None, None)


@dataclass(frozen=True)
class Past:
    """What one run came to."""

    score: float
    calls: float
    tokens: float
    usd: float
    seconds: float


@dataclass(frozen=True)
class Cell:
    """One run that is planned."""

    parts: Parts

    @cached_property
    def settings(self) -> dict[str, str]:
        """What makes the run what it is, flat, without its seed."""
        known = {str(key): value for key, value in self.parts.config.items()}
        return essential({key: value for key, value in flat(redact_data(known), "") if key})

    @cached_property
    def task(self) -> str:
        """Hash of the task's settings: those of another one are another task."""
        return digest({key: value for key, value in self.settings.items() if key.startswith("task.")})


@dataclass
class Arm:
    """The cells of one design, with what else was swept."""

    label: str
    cells: list[Cell] = field(default_factory=list)
    history: dict[str, list[Past]] = field(default_factory=dict)
    """By task: runs that an expectation is taken from."""
    source: str = "unknown: no earlier runs of this task, design and model"

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(cell.task for cell in self.cells))


@dataclass(frozen=True)
class Forecast:
    """A line of the plan."""

    label: str
    cells: int
    worst: Amount
    expected: Amount
    detectable: float | None
    """Difference of the score from the first arm that would be found four times out of five; None: not known."""
    source: str
    notes: tuple[str, ...] = ()
    rank: Literal["first", "other", "total"] = "other"

    def told(self) -> dict[str, Any]:
        """As plain data; what is not finite is not known."""
        finite = self.detectable is not None and math.isfinite(self.detectable)
        return asdict(self) | {"detectable": self.detectable if finite else None}


def essential(settings: Mapping[str, str]) -> dict[str, str]:
    """Of flat settings those of the parts, as `looper.lab.data` has them: cut to what MLflow takes, without seeds."""
    kept = {key: value for key, value in settings.items() if key.split(".")[0] in PARTS and not key.endswith(".seed")}
    return {key: value[:LONGEST_PARAMETER] for key, value in kept.items()}


def forecast(arms: Sequence[Arm], runs: "pd.DataFrame | None" = None) -> list[Forecast]:
    """A line for each arm, with the difference from the first one that could be found, Holm over the others.

    `runs`: earlier runs, as `looper.lab.data.runs_of` gives them. Raises ConfigError if nobody can fill a role.
    """
    for arm in arms:
        remember(arm, runs)
    alpha = 0.05 / max(1, len(arms) - 1)
    first = _line(arms[0], None, "first")
    return [first, *(_line(arm, found(arms[0], arm, alpha), "other") for arm in arms[1:])]


def _line(arm: Arm, difference: float | None, rank: Literal["first", "other"]) -> Forecast:
    worst, likely = [bounds(cell.parts) for cell in arm.cells], expected(arm)
    notes = dict.fromkeys(note for _, told in worst for note in told)
    return Forecast(
        arm.label, len(arm.cells), Amount.summed(amount for amount, _ in worst), likely, difference, arm.source,
        tuple(notes), rank,
    )  # fmt: skip


def overall(lines: Sequence[Forecast]) -> Forecast:
    """All arms together."""
    return Forecast(
        "total", sum(line.cells for line in lines), Amount.summed(line.worst for line in lines),
        Amount.summed(line.expected for line in lines), None, "", rank="total",
    )  # fmt: skip


# The expectation


def remember(arm: Arm, runs: "pd.DataFrame | None") -> None:
    """Give an arm the runs that its expectation comes from: earlier ones, else simulated ones."""
    records = runs.to_dict("records") if runs is not None else []
    for same, words in ((True, "earlier runs"), (False, "earlier runs with other settings of design, model or budget")):
        arm.history = _earlier(arm, records, same)
        if count := sum(map(len, arm.history.values())):
            missing = len(arm.tasks) - len(arm.history)
            arm.source = f"{count} {words}" + (f", none of {missing} of {len(arm.tasks)} tasks" if missing else "")
            return
    if simulated(arm):
        arm.history = _simulated(arm)
        arm.source = f"{sum(map(len, arm.history.values()))} runs simulated with these parameters"


def _earlier(arm: Arm, runs: Sequence[Mapping[Any, Any]], same: bool) -> dict[str, list[Past]]:
    """By task: runs of the arm's design and model, `same`: with all its settings but the seed."""
    cells = {cell.task: cell.settings for cell in arm.cells}
    loop = arm.cells[0].parts.loop
    outer = getattr(loop, "own", "none")
    design = (loop.name if outer == "none" else loop.inner.name, outer)
    found: dict[str, list[Past]] = {}
    for run in runs:
        whole = run["finished"] and not run["trouble"] and not run["capped"]
        mine = cells.get(run["task_hash"]) if whole else None
        if not mine or (run["design"], run["outer_loop"], run["model"]) != (*design, mine.get("model.name", "offline")):
            continue
        if not same or essential(run["settings"]) == mine:
            found.setdefault(run["task_hash"], []).append(_past(run))
    return found


def _past(run: Mapping[Any, Any]) -> Past:
    """A run without a score has earned none (intention to treat); an account that it does not tell was not used."""
    values = {name: float(run[name]) for name in ("score", *AMOUNTS)}
    return Past(**{name: 0.0 if math.isnan(value) else value for name, value in values.items()})


def simulated(arm: Arm) -> bool:
    """Whether every run of the arm would be a simulation through and through."""
    configs = [cell.parts.config for cell in arm.cells if isinstance(cell.parts.task, Sim)]
    names = {str((config.get("model") or {}).get("name")) for config in configs}
    seats = {seat.get("model") for config in configs for seat in (config.get("agents") or {}).values()}
    return len(configs) == len(arm.cells) and names == {"simulated"} and seats <= {None, "simulated", "policy"}


def _simulated(arm: Arm) -> dict[str, list[Past]]:
    from looper.lab.simulation.simulate import simulate

    cells = {cell.task: cell.parts for cell in arm.cells}
    seeds = range(1_000_000, 1_000_000 + max(2, math.ceil(TRIALS / len(cells))))  # not those that will be run
    found: dict[str, list[Past]] = {}
    for task, parts in cells.items():
        frame = simulate(
            parts.config["task"], parts.loop, parts.budget, seeds, [parts.task.instance],
            model=parts.config["model"], agents=parts.config.get("agents"),
        )  # fmt: skip
        found[task] = [_past(run) for run in frame.to_dict("records")]
    return found


def expected(arm: Arm) -> Amount:
    """The sum over the arm's cells of the means of what is known of each task, of all tasks for one without runs."""
    every = [past for runs in arm.history.values() for past in runs]
    if not every:
        if not any(metered(cell.parts) for cell in arm.cells):  # who makes no calls pays for none
            return Amount(seconds=None)
        guesses = [estimated(cell.parts) or UNKNOWN for cell in arm.cells]
        if UNKNOWN not in guesses:
            arm.source = SOURCE
        return Amount.summed(guesses)
    runs = [arm.history.get(cell.task, every) for cell in arm.cells]
    return Amount(**{name: math.fsum(_mean(known, name) for known in runs) for name in AMOUNTS})


def _mean(runs: Sequence[Past], name: str) -> float:
    return statistics.fmean(getattr(run, name) for run in runs)


# What could be found


def found(first: Arm, other: Arm, alpha: float) -> float | None:
    """The true mean difference of scores that would be found with probability 0.8; None if the spread is not known."""
    from looper.lab.statistics import detectable

    tasks = [task for task in first.tasks if task in other.tasks]
    pairs = sum(cell.task in tasks for cell in other.cells)
    spread = spreads(first.history, other.history)
    return detectable(*spread, len(tasks), max(1, pairs // len(tasks)), alpha=alpha) if spread and tasks else None


def spreads(a: Mapping[str, Sequence[Past]], b: Mapping[str, Sequence[Past]]) -> tuple[float, float] | None:
    """Standard deviations of the tasks' true differences, and of a pair's difference within a task.

    From runs that are not paired; None with fewer than two common tasks, or none with two runs of each.
    """
    both = [([run.score for run in a[task]], [run.score for run in b[task]]) for task in a if task in b]
    pooled = [_pooled([sides[side] for sides in both]) for side in (0, 1)]
    if len(both) < 2 or None in pooled:
        return None
    within = [variance or 0.0 for variance in pooled]
    noise = statistics.fmean(within[0] / len(one) + within[1] / len(other) for one, other in both)
    between = statistics.variance(statistics.fmean(one) - statistics.fmean(other) for one, other in both) - noise
    return math.sqrt(max(0.0, between)), math.sqrt(sum(within))


def _pooled(groups: Sequence[Sequence[float]]) -> float | None:
    """Variance within groups, None if none has two values."""
    more = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in more)
    return sum(statistics.variance(group) * (len(group) - 1) for group in more) / freedom if freedom else None
