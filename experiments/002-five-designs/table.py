"""What the reports of experiment 002 do not have: shares that are right, units of both accounts together, all pairs.

    python experiments/002-five-designs/table.py repair
    python experiments/002-five-designs/table.py sim

Reads report_NAME/runs.csv and pairs.csv, which `looper compare ... report=...` wrote, and writes NAME.md beside this
file. A task's value is its mean over seeds; shares have Wilson's interval with tasks as cases, fronts and differences
are those of looper.lab.statistics, where the task is the cluster.
"""

import sys
from pathlib import Path

import pandas as pd

from looper.lab.statistics import compare, pareto_share

HERE = Path(__file__).parent
Z = 1.96
ORDER = ["baseline", "adaptive", "reflex", "workflow", "cabal", "once", "retry", "best_of", "cascade", "random_walk"]
ACCOUNTS = {"repair": ["inner", "outer", "units"], "sim": ["usd", "calls", "units"]}
FRONT = {"repair": "units", "sim": "usd"}
"""The account on which designs are comparable: no model was paid in the one, units bind nobody in the other."""
DIGITS = {"usd": 4, "calls": 1}
SIGNS = {"better": "+", "worse": "-", "equivalent": "=", "undecided": "."}
OPPOSITE = {"+": "-", "-": "+"}


def load(name: str) -> pd.DataFrame:
    runs = pd.read_csv(HERE / f"report_{name}" / "runs.csv")
    return runs.assign(right=(runs["holdout"] >= 1 - 1e-9).astype(float), units=runs["inner"] + runs["outer"])


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def share(runs: pd.DataFrame, column: str) -> str:
    means = runs.groupby("task")[column].mean()
    n, mean = len(means), float(means.mean())
    middle, half = mean + Z * Z / (2 * n), Z * (mean * (1 - mean) / n + Z * Z / (4 * n * n)) ** 0.5
    low, high = ((middle + sign * half) / (1 + Z * Z / n) for sign in (-1, 1))
    return f"{mean:.2f} [{max(0.0, low):.2f} to {min(1.0, high):.2f}]"


def designs(runs: pd.DataFrame, name: str) -> str:
    rows = []
    for design in (one for one in ORDER if one in set(runs["design"])):
        own = runs[runs["design"] == design]
        paid = [f"{own[account].mean():.{DIGITS.get(account, 2)}f}" for account in ACCOUNTS[name]]
        rows.append([
            design, str(len(own)), share(own, "right"), f"{own['passed'].mean():.2f}", f"{own['holdout'].mean():.3f}",
            f"{own['gate_score'].mean():.3f}", *paid, f"{own['seconds'].median():.1f}",
        ])  # fmt: skip
    right = f"all hidden checks met, share of {runs['task'].nunique()} tasks [95 %]"
    heads = ["design", "runs", right, "gate met", "hidden score", "gate score", *ACCOUNTS[name], "seconds, median"]
    return markdown(heads, rows)


def front(runs: pd.DataFrame, name: str, value: str) -> str:
    account = FRONT[name]
    found = pareto_share(runs, account, value=value)
    rows = [
        [row["design"], f"{row['cost']:.{DIGITS.get(account, 2)}f}", f"{row['score']:.3f}",
         "yes" if row["on_front"] else "no", f"{row['share']:.0%}"]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return markdown(["design", account, value, "on the front", "share of 2,000 samples"], rows)


def matrix(name: str) -> str:
    """The verdict on each two designs, the row against the column, Holm over all pairs."""
    pairs = pd.read_csv(HERE / f"report_{name}" / "pairs.csv")
    known = {}
    for row in pairs.to_dict("records"):
        sign = SIGNS[row["verdict"]]
        known[row["design"], row["baseline"]] = sign
        known[row["baseline"], row["design"]] = OPPOSITE.get(sign, sign)
    there = [one for one in ORDER if any(one in pair for pair in known)]
    rows = [[one, *("" if one == other else known[one, other] for other in there)] for one in there]
    return markdown(["", *there], rows)


def fixed(runs: pd.DataFrame) -> str:
    """Differences of the share that is right, from the baseline."""
    found = compare(runs.assign(passed=runs["right"]), "baseline", value="passed", margin=0.05)
    rows = [
        [row["design"], row["verdict"], f"{row['difference']:+.2f} [{row['low']:+.2f} to {row['high']:+.2f}]",
         f"{row['p_holm']:.4f}"]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return markdown(["design", "verdict", "right minus baseline's [95 %]", "p (Holm)"], rows)


def main() -> None:
    name = sys.argv[1]
    runs = load(name)
    parts = [
        f"# {name}: {len(runs)} runs, {runs['task'].nunique()} tasks, {runs['seed'].nunique()} seeds",
        designs(runs, name),
        "## All hidden checks met, against the baseline", fixed(runs),
        f"## Pareto front, {FRONT[name]} against the hidden score", front(runs, name, "score"),
        f"## Pareto front, {FRONT[name]} against the share that is right", front(runs, name, "right"),
        "## Hidden score, each two designs: the row is better (+), worse (-), equivalent in 0.05 (=), undecided (.)",
        matrix(name),
    ]  # fmt: skip
    (HERE / f"{name}.md").write_text("\n\n".join(parts) + "\n")
    print(f"{name}.md written")


if __name__ == "__main__":
    main()
