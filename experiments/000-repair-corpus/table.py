"""The README's table from the runs of a sweep.

    python experiments/000-repair-corpus/table.py outputs/sweeps/SWEEP

Writes results.csv (a row a run) and table.md beside this file. Medians over programs of the medians over seeds; ranges
over seeds; the interval of a share is Wilson's, over programs (the seeds of one program are not independent).
"""

import json
import sys
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
Z = 1.96
COLUMNS = (
    ("candidates", "candidates", 0),
    ("units, inner", "inner", 2),
    ("units, outer", "outer", 1),
    ("seconds", "seconds", 2),
)


def row(folder: Path) -> dict[str, object]:
    state = json.loads((folder / "run.json").read_text())
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    outcome = state["outcome"] or {}
    applied = [event for event in events if event["step"] == "apply" and event["status"] == "ok"]
    spent = state["spent"]
    holdout = (outcome.get("facts") or {}).get("holdout") or {}
    return {
        "program": state["task_alias"], "design": state["design"], "seed": state["setup"]["seed"],
        "status": state["status"], "reason": outcome.get("reason"),
        "fixed": bool(outcome.get("passed")), "holdout": holdout.get("passed"),
        "candidates": round(sum(event["cost"].get("inner", 0.0) for event in applied) / 0.005),
        "inner": spent.get("inner", 0.0), "outer": spent.get("outer", 0.0),
        "units": spent.get("inner", 0.0) + spent.get("outer", 0.0), "seconds": state["elapsed"],
    }  # fmt: skip


def wilson(share: float, n: int) -> str:
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * ((share * (1 - share) + Z * Z / (4 * n)) / n) ** 0.5 / (1 + Z * Z / n)
    return f"{middle - half:.2f} to {middle + half:.2f}"


def spread(frame: pd.DataFrame, column: str, digits: int) -> str:
    """Median over programs, and the lowest and highest median of a seed."""
    by_seed = frame.groupby("seed")[column].median()
    middle = frame.groupby("program")[column].median().median()
    return f"{middle:.{digits}f} ({by_seed.min():.{digits}f} to {by_seed.max():.{digits}f})"


def rows(runs: pd.DataFrame) -> dict[str, str]:
    """What the table says of one design."""
    programs = runs.program.nunique()
    share = runs.groupby("program").fixed.mean().mean()
    right = runs[runs.fixed].groupby("program").holdout.mean()
    seeds = runs.groupby("seed").fixed.sum()
    found = {
        "runs (programs x seeds)": f"{len(runs)} ({programs} x {runs.seed.nunique()})",
        "programs fixed, by seed": f"{seeds.median():.0f} of {programs} ({seeds.min()} to {seeds.max()})",
        "share of runs fixed [95 %]": f"{share:.2f} [{wilson(share, programs)}]",
        "of the patches, right by hidden tests [95 %]": f"{right.mean():.2f} [{wilson(right.mean(), len(right))}]",
    }
    for name, column, digits in COLUMNS:
        found[f"{name}, all runs"] = spread(runs, column, digits)
        found[f"{name}, fixed runs"] = spread(runs[runs.fixed], column, digits)
    return found


def table(frame: pd.DataFrame) -> str:
    designs = {str(name): rows(runs) for name, runs in frame.groupby("design")}
    lines = ["| | " + " | ".join(designs) + " |", "|---|" + "---|" * len(designs)]
    for name in next(iter(designs.values())):
        lines.append(f"| {name} | " + " | ".join(cells[name] for cells in designs.values()) + " |")
    return "\n".join(lines)


def main() -> None:
    folders = sorted(Path(sys.argv[1]).glob("*/run.json"))
    frame = pd.DataFrame([row(file.parent) for file in folders])
    frame.sort_values(["design", "program", "seed"]).to_csv(HERE / "results.csv", index=False)
    text = table(frame)
    (HERE / "table.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
