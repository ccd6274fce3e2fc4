"""The laboratory put to the proof: differences of known size, planted in simulated tasks, judged by its own statistics.

Two arms make one draft each; arm b has another skill. What a comparison should find follows from the planted odds by
adding up, so coverage, power and false alarms can be counted over thousands of comparisons.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from looper.criteria import SLACK
from looper.errors import ConfigError
from looper.lab.statistics import compare
from looper.tasks.sim.task import Sim

Value = Literal["holdout", "passed"]
NODES = 64
"""Difficulties over which the truth is averaged (Gauss-Hermite)."""
COLUMNS = ("low", "high", "p", "difference")
TINY = 1e-12


@dataclass(frozen=True)
class Case:
    """One kind of comparison."""

    a: float
    """Skill of the baseline's writer, 0 to 1."""
    b: float
    """Skill of the other one's; the same: nothing is there to be found."""
    tasks: int
    """Instances of one comparison, drawn anew each time."""
    seeds: int
    """Runs of each arm on each instance."""
    value: Value


@dataclass(frozen=True)
class Family:
    """A family of simulated tasks: rules alike or not, all measured, difficulty by instance."""

    task: Sim

    def __post_init__(self) -> None:
        if self.task.judges or self.task.later or self.task.rows:
            raise ConfigError("proof: only for tasks of one phase whose rules are measured and have the family's odds.")

    @cached_property
    def weight(self) -> np.ndarray:
        return np.array([rule.weight for rule in self.task.criteria.rules])

    @cached_property
    def blocking(self) -> np.ndarray:
        return np.array([rule.severity == "fail" for rule in self.task.criteria.rules])

    def satisfy(self, shift: np.ndarray, skill: float) -> np.ndarray:
        """Probability that a draft meets a rule, at each difficulty."""
        odds = self.task.truth.satisfy / (1 - self.task.truth.satisfy) * np.exp(shift)
        return skill * odds / (1 + odds)

    def passes(self, met: np.ndarray) -> np.ndarray:
        """Whether the gate is met; the last axis is rules."""
        score = met @ self.weight / self.weight.sum()
        return (score >= self.task.thresholds["A"] - SLACK) & (met | ~self.blocking).all(axis=-1)

    # What there is to be found

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Difficulties and their shares."""
        at, share = np.polynomial.hermite_e.hermegauss(NODES)
        return at * self.task.spread, share / share.sum()

    def moments(self, skill: float, value: Value) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of one run's value, at each difficulty."""
        met = self.satisfy(self.nodes[0], skill)
        if value == "passed":
            chance = np.zeros_like(met)
            for found in itertools.product((True, False), repeat=len(self.weight)):
                count = sum(found)
                chance += self.passes(np.array(found)) * met**count * (1 - met) ** (len(found) - count)
            return chance, chance * (1 - chance)
        truth = self.task.truth
        twin = truth.correlation * met + (1 - truth.correlation) * truth.hidden
        return twin, twin * (1 - twin) * (self.weight**2).sum() / self.weight.sum() ** 2

    def effect(self, case: Case) -> tuple[float, float, float]:
        """True mean difference over all instances; its sd between instances; sd of a pair within one."""
        (mean_a, var_a), (mean_b, var_b) = (self.moments(skill, case.value) for skill in (case.a, case.b))
        share, difference = self.nodes[1], mean_b - mean_a
        mean = float(share @ difference)
        return mean, math.sqrt(float(share @ (difference - mean) ** 2)), math.sqrt(float(share @ (var_a + var_b)))

    # What is observed

    def drawn(self, case: Case, dice: np.random.Generator) -> pd.DataFrame:
        """Runs of both arms on fresh instances, straight from the distribution of the simulation's outcomes."""
        shift = dice.normal(0.0, self.task.spread, case.tasks)
        both = [self.arm(name, skill, case, shift, dice) for name, skill in (("a", case.a), ("b", case.b))]
        return pd.concat(both, ignore_index=True)

    def arm(self, name: str, skill: float, case: Case, shift: np.ndarray, dice: np.random.Generator) -> pd.DataFrame:
        size = (case.tasks, case.seeds, len(self.weight))
        met = dice.random(size) < self.satisfy(shift, skill)[:, None, None]
        follows, luck = dice.random(size) < self.task.truth.correlation, dice.random(size) < self.task.truth.hidden
        holdout = np.where(follows, met, luck) @ self.weight / self.weight.sum()
        cells = list(itertools.product(range(case.tasks), range(case.seeds)))
        return pd.DataFrame(
            {
                "task": [f"task-{task}" for task, _ in cells], "seed": [seed for _, seed in cells], "design": name,
                "passed": self.passes(met).ravel().astype(float), "holdout": holdout.ravel(),
            }
        )  # fmt: skip


@dataclass(frozen=True)
class Proved:
    """What so many comparisons came to."""

    case: Case
    comparisons: int
    effect: float
    """Planted."""
    bias: float
    """Mean of what was found, less the effect, in standard errors of that mean."""
    coverage: float
    """Share of 95 % intervals that hold the effect."""
    found: float
    """Share with p below 0.05: power, or false alarms where the effect is 0."""
    planned: float
    """The same as a plan would say, from the standard deviations of the family."""
    wrong: float
    """Share whose verdict is better or worse, and not so."""

    @property
    def slack(self) -> float:
        """Two standard errors of `coverage`, were it 0.95."""
        return 2 * math.sqrt(0.95 * 0.05 / self.comparisons)


def proved(family: Family, case: Case, comparisons: int, seed: int = 0) -> Proved:
    """Draws so many comparisons and judges each with `looper.lab.statistics.compare`."""
    dice = np.random.default_rng(seed)
    return judged(family, case, (family.drawn(case, dice) for _ in range(comparisons)))


def judged(family: Family, case: Case, frames: Iterator[pd.DataFrame]) -> Proved:
    """The same for comparisons whose runs are given, such as runs through the kernel; arms are called a and b."""
    effect, between, within = family.effect(case)
    tables = [compare(frame, "a", value=case.value, margin=0.0, seed=number) for number, frame in enumerate(frames)]
    low, high, p, difference = (np.array([float(one[name].iloc[0]) for one in tables]) for name in COLUMNS)
    said = [str(one["verdict"].iloc[0]) for one in tables]
    error = float(difference.std(ddof=1)) / math.sqrt(len(tables))
    right = "better" if effect > 0 else "worse" if effect < 0 else "undecided"
    return Proved(
        case=case, comparisons=len(tables), effect=effect, bias=float(difference.mean() - effect) / (error or 1.0),
        coverage=float(((low <= effect + TINY) & (high >= effect - TINY)).mean()), found=float((p < 0.05).mean()),
        planned=power(effect, between, within, case),
        wrong=sum(word in ("better", "worse") and word != right for word in said) / len(said),
    )  # fmt: skip


def power(effect: float, between: float, within: float, case: Case) -> float:
    """Of a two-sided t test at 5 % over tasks; 0.05 where nothing is there to be found."""
    from scipy.stats import nct, t

    error = math.sqrt(between**2 / case.tasks + within**2 / (case.tasks * case.seeds))
    critical, ratio = float(t.ppf(0.975, case.tasks - 1)), effect / error
    return float(nct.sf(critical, case.tasks - 1, ratio) + nct.cdf(-critical, case.tasks - 1, ratio))


def detected(family: Family, case: Case, wanted: float = 0.8) -> Case:
    """The case with the skill of b lowered until a plan promises this power."""
    low, high = 0.0, case.a
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if planned(family, case, middle) >= wanted else (low, middle)
    return Case(a=case.a, b=low, tasks=case.tasks, seeds=case.seeds, value=case.value)


def planned(family: Family, case: Case, skill: float) -> float:
    """Power of the case, had b this skill."""
    other = Case(a=case.a, b=skill, tasks=case.tasks, seeds=case.seeds, value=case.value)
    return power(*family.effect(other), other)
