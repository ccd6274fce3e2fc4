"""Tables and plots of experiment 001 from the folders of its sweeps.

    python experiments/001-baseline-vs-adaptive/table.py band outputs/sweeps/SWEEP
    python experiments/001-baseline-vs-adaptive/table.py relevance outputs/sweeps/SWEEP
    python experiments/001-baseline-vs-adaptive/table.py repair outputs/sweeps/SWEEP

Writes NAME.csv (a row a run), NAME.md and NAME.png beside this file. Seeds of one need are not independent: a need's
value is its mean over seeds, and all intervals are over needs (Wilson for shares, a percentile bootstrap of needs with
10,000 resamples for differences).
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from looper.pages import data_of
from looper.tasks.search.index import Embedded
from looper.tasks.search.needs import shipped
from looper.tasks.search.relevance import Relevance
from looper.tasks.search.residual import average_precision

HERE = Path(__file__).parent
Z, RESAMPLES = 1.96, 10_000
DESIGNS = ("adaptive", "baseline", "once", "random_walk")
HALVES = ("building", "held_out")
RIVALS = ("words", "once", "random_walk")
"""Of adaptive in the relevance exercise: the need's words alone, the planned query alone, dice."""
DEEP = 100
"""Ranks that count: as many as both rankings have left when up to a hundred labelled documents are taken out."""
COLLECTION = Embedded(cache="outputs/cache/search")


def row(folder: Path) -> dict[str, Any]:
    """One run: what it was, how it ended, what it cost."""
    state = json.loads((folder / "run.json").read_text())
    outcome = state["outcome"] or {}
    facts, spent = outcome.get("facts") or {}, state["spent"]
    subject = state["task_alias"].partition("-")[2]
    need = shipped().get(subject)
    inner, outer = spent.get("inner", 0.0), spent.get("outer", 0.0)
    asked = sum(state["steps"].get(step, 0) for step in ("plan", "replan", "evaluate", "act"))
    return {
        "subject": subject, "half": need.half if need else "", "design": state["design"],
        "seed": state["setup"]["seed"], "status": state["status"], "reason": outcome.get("reason"),
        "met": bool(outcome.get("passed")), "right": (facts.get("holdout") or {}).get("passed"),
        "planner calls": facts.get("planner_calls", 0), "calls at 2 units": round(outer / 2), "asked": asked,
        "steps": facts.get("inner_steps", 0), "inner": inner, "outer": outer, "units": inner + outer,
        "seconds": state["elapsed"], "folder": str(folder),
    }  # fmt: skip


def load(sweep: Path) -> pd.DataFrame:
    frame = pd.DataFrame([row(file.parent) for file in sorted(sweep.glob("*/run.json"))])
    unfinished = frame[~frame.status.isin(["completed", "stopped", "failed"])]
    counts = frame.groupby("design").size()
    if counts.nunique() > 1:
        raise SystemExit(f"the designs have not equally many runs ({counts.to_dict()}): run the sweep's command again.")
    if len(unfinished):
        raise SystemExit(f"{len(unfinished)} runs have not ended; run the sweep's command again first.")
    return frame


def wilson(share: float, n: int) -> str:
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * ((share * (1 - share) + Z * Z / (4 * n)) / n) ** 0.5 / (1 + Z * Z / n)
    return f"{share:.2f} [{max(0.0, middle - half):.2f} to {min(1.0, middle + half):.2f}]"


def interval(differences: np.ndarray) -> tuple[float, float, float]:
    """Mean over subjects and its 95 % percentile bootstrap interval."""
    dice = np.random.default_rng(20261122)
    means = dice.choice(differences, (RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)


def told(differences: np.ndarray, digits: int = 2) -> str:
    mean, low, high = interval(differences)
    return f"{mean:+.{digits}f} [{low:+.{digits}f} to {high:+.{digits}f}]"


def spread(runs: pd.DataFrame, column: str, digits: int) -> str:
    """Median over subjects of their means over seeds, with the middle half of the subjects."""
    values = runs.groupby("subject")[column].mean()
    low, middle, high = values.quantile([0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def markdown(columns: Mapping[str, Mapping[str, str]]) -> str:
    names = list(columns)
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for name in next(iter(columns.values())):
        lines.append(f"| {name} | " + " | ".join(columns[column][name] for column in names) + " |")
    return "\n".join(lines)


def costs(runs: pd.DataFrame) -> dict[str, str]:
    """What every exercise tells of a design; medians over subjects with the middle half of them."""
    return {
        "planner calls": spread(runs, "planner calls", 1),
        "calls at 2 outer units": spread(runs, "calls at 2 units", 1),
        "inner steps": spread(runs, "steps", 1),
        "inner units": spread(runs, "inner", 2),
        "outer units": spread(runs, "outer", 1),
        "units, both": spread(runs, "units", 1),
        "seconds": spread(runs, "seconds", 2),
    }


def reached(runs: pd.DataFrame, what: str) -> dict[str, str]:
    shares = runs.groupby("subject").met.mean()
    return {f"{what}, share of {len(shares)} [95 %]": wilson(float(shares.mean()), len(shares))}


def against(frame: pd.DataFrame, column: str, digits: int) -> dict[str, str]:
    """Adaptive minus each other design, paired by subject and seed, in the subjects' means."""
    wide = frame.pivot_table(index="subject", columns="design", values=column, aggfunc="mean")
    rivals = [design for design in DESIGNS[1:] if design in wide]
    return {rival: told((wide["adaptive"] - wide[rival]).to_numpy(), digits) for rival in rivals}


def compared(frame: pd.DataFrame, columns: Mapping[str, int]) -> str:
    lines = []
    for column, digits in columns.items():
        values = against(frame.assign(met=frame.met.astype(float)), column, digits)
        lines += [f"- adaptive minus {rival}, {column}: {value}" for rival, value in values.items()]
    return "\n".join(lines)


def exercise(frame: pd.DataFrame, what: str, columns: Mapping[str, int]) -> str:
    """The tables of an exercise that is met or not: one for each half of the needs, one for all repairs."""
    parts = []
    for half in [half for half in HALVES if half in set(frame.half)] or [""]:
        runs = frame[frame.half == half] if half else frame
        designs = [design for design in DESIGNS if design in set(runs.design)]
        table = {d: {**reached(runs[runs.design == d], what), **costs(runs[runs.design == d])} for d in designs}
        title = f"**{half.replace('_', ' ')} half**, " if half else ""
        parts.append(f"{title}{len(runs)} runs, {runs.subject.nunique()} subjects x {runs.seed.nunique()} seeds\n")
        parts.append(f"{markdown(table)}\n\n{compared(runs, columns)}\n")
    return "\n".join(parts)


def plot(frame: pd.DataFrame, path: Path, title: str, most: float) -> None:
    """Share of subjects that are met against the units that were spent: further left and up is better."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for design, mark in zip(DESIGNS, ("-", "--", ":", "-."), strict=True):
        runs = frame[frame.design == design]
        if runs.empty:
            continue
        units = np.sort(runs[runs.met].units.to_numpy())
        shares = np.arange(1, len(units) + 1) / len(runs)
        axes.step([0, *units, most], [0, *shares, shares[-1] if len(shares) else 0], mark, where="post", label=design)
    axes.set(xlabel="units spent, inner and outer", ylabel="share of runs with the gate met", title=title)
    axes.set_xlim(0, most)
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def band(sweep: Path) -> tuple[pd.DataFrame, str]:
    frame = load(sweep)
    plot(frame, HERE / "band.png", "search/band: range of hits reached, 52 needs x 3 seeds", 32)
    return frame, exercise(frame, "range reached", {"met": 2, "units": 1})


def repair(sweep: Path) -> tuple[pd.DataFrame, str]:
    frame = load(sweep)
    plot(frame, HERE / "repair.png", "repair: all visible tests pass, shipped programs", 32)
    return frame, exercise(frame, "fixed", {"met": 2, "units": 1})


# Relevance: two rankings can be compared only on the same residual


def kept(folder: str) -> dict[str, Any]:
    return json.loads(data_of((Path(folder) / "artifact.md").read_text()))


def scores(need: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float] | None:
    """Average precision of two rankings where the documents that either of them labelled are taken out of both."""
    out = set(one["labels"]) | set(other["labels"])
    left = shipped()[need].relevant - out
    if not left:
        return None
    first, second = ([name for name in page["ranking"] if name not in out][:DEEP] for page in (one, other))
    return average_precision(first, left), average_precision(second, left)


def words(need: str) -> dict[str, Any]:
    """The need's words as the query, nothing else: no plan, no related word, no label."""
    task = Relevance(collection=COLLECTION, need=need, depth=400)
    return {"labels": {}, "ranking": task.observe(None).ranking}


def pairs(frame: pd.DataFrame, rival: str) -> pd.DataFrame:
    """Adaptive and a rival on the residual they share, by need and seed."""
    runs = {(r.subject, r.design, r.seed): r.folder for r in frame.itertuples()}
    rows = []
    for (subject, design, seed), folder in runs.items():
        if design != "adaptive":
            continue
        other = words(subject) if rival == "words" else kept(runs[subject, rival, seed])
        found = scores(subject, kept(folder), other)
        if found:
            rows.append({"subject": subject, "half": shipped()[subject].half, "seed": seed, "adaptive": found[0],
                         rival: found[1]})  # fmt: skip
    return pd.DataFrame(rows)


def relevance(sweep: Path) -> tuple[pd.DataFrame, str]:
    frame = load(sweep)
    pages = [kept(folder) for folder in frame.folder]
    frame["labels"] = [len(page["labels"]) for page in pages]
    frame["confirmed"] = [sum(page["labels"].values()) for page in pages]
    text = exercise(frame, "gate met", {"met": 2, "labels": 1})
    lines = ["Average precision on the residual that both share, means over needs:\n",
             "| half | rival | needs | adaptive | rival's | difference [95 %] |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    drawn: dict[str, Callable[[], Any]] = {}
    for rival in RIVALS:
        found = pairs(frame, rival)
        for half in HALVES:
            means = found[found.half == half].groupby("subject")[["adaptive", rival]].mean()
            difference = told((means["adaptive"] - means[rival]).to_numpy(), 3)
            lines.append(f"| {half.replace('_', ' ')} | {rival} | {len(means)} | {means['adaptive'].mean():.3f} | "
                         f"{means[rival].mean():.3f} | {difference} |")  # fmt: skip
            drawn[f"{rival} / {half}"] = means.copy
    scatter({name: copy() for name, copy in drawn.items()}, HERE / "relevance.png")
    return frame, text + "\n" + "\n".join(lines) + "\n"


def scatter(means: Mapping[str, pd.DataFrame], path: Path) -> None:
    """A point a need: above the line adaptive ranks the rest better than the rival does."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(RIVALS), figsize=(12, 4.5), layout="constrained", sharex=True, sharey=True)
    for axes, rival in zip(grid, RIVALS, strict=True):
        for half, mark in zip(HALVES, ("o", "^"), strict=True):
            values = means[f"{rival} / {half}"]
            axes.plot(values[rival], values["adaptive"], mark, alpha=0.7, label=half.replace("_", " "))
        axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
        axes.set(xlabel=f"{rival}: residual average precision", title=f"adaptive against {rival}")
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("adaptive: residual average precision")
    grid[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    kinds = {"band": band, "relevance": relevance, "repair": repair}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        raise SystemExit("table.py band|relevance|repair SWEEP-FOLDER")
    name = sys.argv[1]
    frame, text = kinds[name](Path(sys.argv[2]))
    frame.drop(columns="folder").sort_values(["design", "subject", "seed"]).to_csv(HERE / f"{name}.csv", index=False)
    (HERE / f"{name}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
