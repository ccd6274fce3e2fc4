"""Which designs nothing else beats on cost and score at once."""

from typing import Any

import numpy as np
import pandas as pd

from looper.errors import ConfigError
from looper.lab.statistics.clusters import drawn
from looper.lab.statistics.frames import distinct, labels, needed, numbers

NEAR = 1e-12
"""Turns of the hull flatter than this are straight."""
Point = tuple[float, float]
"""Cost and score."""


def pareto(points: pd.DataFrame, *, convex: bool = False, origin: bool = False) -> list[str]:
    """The designs on the front, cheapest first; equal points stay together.

    On the front: no other is at most as dear and at least as good, and better in one of the two. points: design, cost,
    score. convex: only corners of the upper hull, since a mixture of two designs reaches any point between them; so
    draw Kapoor et al. 2024 (AI Agents That Matter, section 2.3 with note 2, and their plotting code). origin: with
    convex, the agent that spends nothing and solves nothing may be mixed in too; not so in that code.
    """
    needed(points, ("design", "cost", "score"))
    names, cost, score = labels(points, "design"), numbers(points, "cost"), numbers(points, "score")
    if not (np.isfinite(cost).all() and np.isfinite(score).all()):
        raise ConfigError("A cost or score is missing; leave such designs out of the front first.")
    if len(set(names)) < len(names):
        raise ConfigError("A design is there twice; a front needs one cost and one score of each.")
    chosen = np.flatnonzero(front(cost, score, convex, origin))
    return [str(names[place]) for place in sorted(chosen, key=lambda place: (cost[place], str(names[place])))]


def front(cost: np.ndarray, score: np.ndarray, convex: bool = False, origin: bool = False) -> np.ndarray:
    """For each point whether it is on the front."""
    no_dearer, no_worse = cost[None, :] <= cost[:, None], score[None, :] >= score[:, None]
    stricter = (cost[None, :] < cost[:, None]) | (score[None, :] > score[:, None])
    kept = np.asarray(~(no_dearer & no_worse & stricter).any(axis=1))
    if not convex:
        return kept
    points = [(float(c), float(s)) for c, s in zip(cost, score, strict=True)]
    corners = hull(sorted({points[place] for place in np.flatnonzero(kept)}), origin)
    return kept & np.array([point in corners for point in points])


def hull(points: list[Point], origin: bool) -> set[Point]:
    """Corners of the upper hull of points that rise in cost and score (Andrew's monotone chain)."""
    corners: list[Point] = [(0.0, 0.0)] if origin else []
    for point in points:
        while len(corners) >= 2 and turn(corners[-2], corners[-1], point) >= -NEAR:
            corners.pop()
        corners.append(point)
    return set(corners)


def turn(o: Point, a: Point, b: Point) -> float:
    """Positive where the way o, a, b turns left."""
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def pareto_share(
    runs: pd.DataFrame,
    cost: str,
    *,
    value: str = "score",
    resamples: int = 2000,
    seed: int = 0,
    convex: bool = False,
    origin: bool = False,
) -> pd.DataFrame:
    """design, cost, score, on_front, and the share of samples in which the design is on the front.

    Samples draw tasks, the same for all designs, so what makes a task hard or dear moves all of them together. Raises
    ConfigError where a design lacks a task, or a run its cost or score.
    """
    needed(runs, ("task", "design", cost, value))
    lacking = np.isnan(numbers(runs, cost)) | np.isnan(numbers(runs, value))
    if lacking.any():
        raise ConfigError(f"{lacking.sum()} runs have no {cost} or no {value}; leave them out of the front first.")
    tasks, designs = distinct(runs, "task"), distinct(runs, "design")
    count, costs, scores = (grid(runs, name, tasks, designs) for name in (None, cost, value))
    absent = np.argwhere(count == 0)
    if len(absent):
        task, design = tasks[absent[0][0]], designs[absent[0][1]]
        raise ConfigError(f"The design {design} has no run of {task}; a front needs the same tasks of all designs.")
    weights = drawn(len(tasks), resamples, seed)
    sizes = weights @ count
    samples = zip(weights @ costs / sizes, weights @ scores / sizes, strict=True)
    share = np.mean([front(c, s, convex, origin) for c, s in samples], axis=0)
    means = costs.sum(axis=0) / count.sum(axis=0), scores.sum(axis=0) / count.sum(axis=0)
    table = {"design": designs, "cost": means[0], "score": means[1], "on_front": front(*means, convex, origin)}
    return pd.DataFrame(table | {"share": share}).sort_values(["cost", "design"], ignore_index=True)


def grid(runs: pd.DataFrame, name: str | None, tasks: list[Any], designs: list[Any]) -> np.ndarray:
    """The sum of a column by task and design, or without a name the number of runs."""
    places = {task: place for place, task in enumerate(tasks)}, {design: place for place, design in enumerate(designs)}
    found = np.zeros((len(tasks), len(designs)))
    at = [places[0][task] for task in labels(runs, "task")], [places[1][design] for design in labels(runs, "design")]
    np.add.at(found, at, 1.0 if name is None else numbers(runs, name))
    return found
