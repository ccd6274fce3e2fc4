"""Scores on one footing: what a broken run earned, hidden checks, phases of the gate."""

from looper.execution import MEASURED
from looper.lab.comparable.sieve import Sieve

SCORES = ("score", "gate_score", "holdout")


def broken_down(sieve: Sieve) -> None:
    """Score 0 for a design that failed, and for one that handed over nothing (intention to treat)."""
    runs = sieve.runs.copy()
    broken = (runs["status"] == "failed") & ~runs["reason"].isin(MEASURED)
    empty = runs["gate_score"].isna() & ~broken
    lost = broken | empty
    hidden = runs.groupby("task")["holdout"].transform("count") > 0
    runs.loc[lost, ["gate_score", "gate_on_all_rules", "score"]] = 0.0
    runs.loc[lost & hidden, "holdout"] = 0.0
    runs.loc[lost, "passed"] = False
    sieve.runs = runs
    for rows, what in ((broken, "broke down (failed)"), (empty, "ended without anything that could be evaluated")):
        if rows.any():
            counts = runs[rows]["label"].value_counts().items()
            told = ", ".join(f"{label} {count}" for label, count in counts)
            sieve.notes.append(f"{int(rows.sum())} run(s) {what} and count with a score of 0: {told}.")


def measured(sieve: Sieve) -> None:
    """A run whose hidden checks gave no verdict is no data where the other runs of its task have one."""
    hidden = sieve.runs.groupby("task")["holdout"].transform("count") > 0
    sieve.refuse(
        hidden & sieve.runs["holdout"].isna(), lambda run: "its hidden checks gave no verdict; see its summary.md"
    )


def one_footing(sieve: Sieve, value: str) -> None:
    """Gate scores of different phases on the rules of the last phase, or not compared at all."""
    runs = sieve.runs.copy()
    reached = runs[runs["phase"] != ""]
    mixed = runs["task"].map(reached.groupby("task")["phase"].nunique()).fillna(0) > 1
    moved = mixed & (runs["gate_on_all_rules"] - runs["gate_score"]).abs().gt(1e-9)
    by_gate = runs["holdout"].isna() | (value == "gate_score")
    runs.loc[mixed, "gate_score"] = runs.loc[mixed, "gate_on_all_rules"]
    runs["score"] = runs["holdout"].where(runs["holdout"].notna(), runs["gate_score"])
    sieve.runs = runs
    unknown = mixed & runs["gate_score"].isna() & by_gate & (value in SCORES)
    sieve.refuse(
        unknown,
        lambda run: "its gate score is of another phase than that of other runs, and cannot be told for all rules",
    )
    count = int((moved & by_gate).sum())
    if count:
        sieve.notes.append(
            f"{count} run(s) ended in an earlier phase of the gate: their score is told on the rules of the last "
            "phase, where a rule that was never checked counts as failed."
        )
