"""Tables and a plot of experiment 003 from the folder of a sweep; which of the two exercises it is, its runs say.

    python experiments/003-outer-loop/table.py outputs/sweeps/outer_loop_sim
    python experiments/003-outer-loop/table.py outputs/sweeps/outer_loop_repair

Writes NAME.csv (a row a run) and NAME.md, of the simulation sim.png too. Statistics are those of looper.lab.statistics:
paired by task and seed, the task is the cluster, Holm across all comparisons of a table.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from looper.lab.statistics import gate_truth, interval
from looper.lab.statistics.comparing import Terms, table
from looper.tasks.sim.playing import rendered
from looper.tasks.sim.task import Sim

HERE = Path(__file__).parent
MARGIN = 0.02
"""Of the holdout score: differences within it are taken for none."""
ALONE, OUTER = "alone", "outer .5"
SIM = {
    ALONE: "reflex alone, 4 iterations",
    "alone, lax": "reflex alone, false_accept=.4", "alone, harsh": "reflex alone, false_reject=.4",
    "16 iterations": "reflex alone, as many iterations as the outer loop's four rounds have",
    "all block": "16 iterations, and every rule must be met",
    "best of 13": "13 drafts, as many units as the outer loop spends on average",
    "retry": "drafts until the gate passes",
    "outer 0": "outer loop that finds out nothing beyond the gate", OUTER: "outer loop, finds out half",
    "outer 1": "outer loop, finds out all", "outer, lax": "outer .5, false_accept=.4",
    "outer, harsh": "outer .5, false_reject=.4",
}  # fmt: skip
SIM_SIDES = [
    ("outer 0", ALONE), (OUTER, ALONE), ("outer 1", ALONE), ("16 iterations", ALONE), ("all block", ALONE),
    ("best of 13", ALONE), ("retry", ALONE), (OUTER, "16 iterations"), (OUTER, "all block"), (OUTER, "best of 13"),
    (OUTER, "outer 0"), ("outer 0", "16 iterations"), ("outer 1", OUTER), ("outer, lax", "alone, lax"),
    ("outer, harsh", "alone, harsh"), ("outer, lax", OUTER), ("outer, harsh", OUTER),
]  # fmt: skip
"""What is compared with what, all of it one family."""
REPAIR = {"adaptive": "", "adaptive, outer": "", "baseline": "", "baseline, outer": ""}
PAID = {"units": ("inner", "outer"), "calls": ("calls",), "USD": ("usd",)}
REPAIR_SIDES = [("adaptive, outer", "adaptive"), ("baseline, outer", "baseline")]


def arm_of_sim(config: Mapping[str, Any], design: str, outer: str) -> str:
    """The arm of a run, by its settings."""
    truth, rounds = config["task"]["truth"], config["loop"].get("max_iterations")
    judge = {(0.1, 0.1): "", (0.4, 0.1): ", lax", (0.1, 0.4): ", harsh"}[truth["false_accept"], truth["false_reject"]]
    if outer == "gather_verify":
        return f"outer{judge}" if judge else f"outer {truth['discover']:g}".replace("0.", ".")
    if design == "reflex" and rounds == 16:
        return "all block" if config["task"]["warnings"] == 0 else "16 iterations"
    return {"reflex": f"alone{judge}", "best_of": "best of 13", "retry": "retry"}[design]


def arm_of_repair(config: Mapping[str, Any], design: str, outer: str) -> str:
    return f"{design}, outer" if outer == "gather_verify" else design


def hidden(folder: Path, task: Mapping[str, Any], recorded: Mapping[str, Any]) -> tuple[float, bool]:
    """Holdout score and whether it is met; of a simulation by the common rules, whatever gate the arm has."""
    if "instance" not in task:
        return float(recorded.get("score", 0.0)), bool(recorded.get("passed"))
    artifact = folder / "artifact.md"
    found = Sim(instance=task["instance"]).holdout(artifact.read_text() if artifact.exists() else "")
    if task["warnings"] and recorded and found.score != recorded["score"]:
        raise SystemExit(f"{folder}: the holdout is {found.score}, and {recorded['score']} was recorded.")
    return found.score, found.passed


def first(folder: Path, task: Mapping[str, Any]) -> float | None:
    """Holdout score of what the first round of an outer loop handed over; None where nothing was verified."""
    for line in (folder / "history.jsonl").read_text().splitlines():
        step = json.loads(line)
        if step["step"] == "recall_state" and step["event"] == "step_done":
            return Sim(instance=task["instance"]).holdout(rendered(step["payload"]["parts"])).score
    return None


def row(folder: Path) -> dict[str, Any]:
    """One run: what it was, how it ended, what it cost."""
    state = json.loads((folder / "run.json").read_text())
    config = yaml.safe_load((folder / "config.yaml").read_text())
    outcome, spent = state["outcome"] or {}, state["spent"]
    facts = outcome.get("facts") or {}
    told = facts.get("outer") or {}
    sim = "instance" in config["task"]
    score, right = hidden(folder, config["task"], facts.get("holdout") or {})
    arm = (arm_of_sim if sim else arm_of_repair)(config, state["design"], state["outer"])
    return {
        "exercise": "sim" if sim else "repair", "task": state["task_alias"], "design": arm,
        "seed": state["setup"]["seed"], "status": state["status"], "reason": outcome.get("reason"),
        "gate_score": outcome.get("score") or 0.0, "passed": float(bool(outcome.get("passed"))),
        "verified": float(outcome.get("reason") == "verified"), "holdout": score, "right": float(right),
        "first": first(folder, config["task"]) if sim and told else None,
        "loops": told.get("loops", 0), "outcome": told.get("outcome") or "",
        **{account: spent.get(account, 0.0) for account in ("inner", "outer", "usd", "tokens", "calls")},
        "seconds": state["elapsed"],
    }  # fmt: skip


def load(sweep: Path) -> pd.DataFrame:
    frame = pd.DataFrame([row(file.parent) for file in sorted(sweep.glob("*/run.json"))])
    if frame.empty:
        raise SystemExit(f"{sweep}: there are no runs in it; give the folder of a sweep.")
    unfinished = frame[~frame.status.isin(["completed", "stopped", "failed"])]
    if len(unfinished):
        raise SystemExit(f"{len(unfinished)} runs have not ended; run the sweep's commands again first.")
    counts = frame.groupby("design").size()
    if counts.nunique() > 1:
        raise SystemExit(f"the arms have not equally many runs ({counts.to_dict()}): run the sweep's commands again.")
    return frame


def told(values: Sequence[float] | pd.Series, tasks: Sequence[Any] | pd.Series) -> str:
    """Mean and its 95 % interval over tasks."""
    ends = interval(list(values), list(tasks), bound=1.0)
    return f"{ends.mean:.3f} [{ends.low:.3f} to {ends.high:.3f}]"


def markdown(frame: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * len(frame.columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, values)) + " |" for values in frame.itertuples(index=False)])


def arms(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """What each arm reached and spent."""
    lines = []
    for name in names:
        runs = frame[frame.design == name]
        lines.append({
            "arm": name, "holdout score [95 %]": told(runs.holdout, runs.task),
            "holdout met": f"{runs.right.mean():.2f}",
            "gate score": f"{runs.gate_score.mean():.3f}", "gate passed": f"{runs.passed.mean():.2f}",
            "inner units": f"{runs.inner.mean():.2f}", "outer units": f"{runs.outer.mean():.1f}",
            "calls, mean": f"{runs.calls.mean():.1f}", "calls, median": f"{runs.calls.median():g}",
            "USD": f"{runs.usd.mean():.4f}", "rounds back": f"{runs.loops.mean():.2f}",
        })  # fmt: skip
    return pd.DataFrame(lines)


def differences(frame: pd.DataFrame, sides: Sequence[tuple[str, str]], value: str) -> pd.DataFrame:
    """All comparisons as one family."""
    return table(frame, list(sides), Terms(value, MARGIN, 0.05, 0, False))


def shown(found: pd.DataFrame, what: str) -> pd.DataFrame:
    """Differences, and the verdict on each."""
    lines = []
    for one in found.to_dict("records"):
        known = not isnan(one["low"])
        ends = f" [{one['low']:+.3f} to {one['high']:+.3f}]" if known else " [no interval: all tasks agree]"
        lines.append({
            "": f"{one['design']} minus {one['baseline']}", f"{what} [95 %]": f"{one['difference']:+.3f}{ends}",
            "p": f"{one['p']:.4f}", "p, Holm": f"{one['p_holm']:.3f}", "verdict": one["verdict"],
            "detectable": "unknown" if isnan(one["minimum_detectable"]) else f"{one['minimum_detectable']:.3f}",
        })  # fmt: skip
    return pd.DataFrame(lines)


def prices(found: pd.DataFrame) -> pd.DataFrame:
    """What more was spent, and what a point (.01 of the holdout score) has cost where the interval is above 0."""
    lines = []
    for one in found.to_dict("records"):
        more = {name: sum(one[f"{each}_mean"] - one[f"baseline_{each}_mean"] for each in accounts)
                for name, accounts in PAID.items()}  # fmt: skip
        point = [f"{each / one['difference'] / 100:.2g}" for each in more.values()] if one["low"] > 0 else []
        lines.append({
            "": f"{one['design']} minus {one['baseline']}",
            **{f"{name} more": f"{each:+.{4 if name == 'USD' else 1}f}" for name, each in more.items()},
            "a point costs": ", ".join(map(" ".join, zip(point, more, strict=False))) or "no gain shown",
        })  # fmt: skip
    return pd.DataFrame(lines)


def within(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """What a run handed over against what its own first round had: the rounds back alone, without other dice."""
    lines = []
    for name in names:
        runs = frame[(frame.design == name) & frame["first"].notna()]
        if len(runs):
            ends = interval(list(runs.holdout - runs["first"]), list(runs.task), bound=1.0)
            lines.append({
                "arm": name, "runs": len(runs), "first round": f"{runs['first'].mean():.3f}",
                "handed over": f"{runs.holdout.mean():.3f}",
                "difference [95 %]": f"{ends.mean:+.3f} [{ends.low:+.3f} to {ends.high:+.3f}]",
                "runs with a round back": int((runs.loops > 0).sum()),
            })  # fmt: skip
    return pd.DataFrame(lines)


def gates(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """How often a gate, or VERIFY, accepts what does not meet the holdout, and rejects what does."""
    known = frame.assign(holdout=frame.right)
    verify = known[known.design.str.startswith("outer") | known.design.str.endswith("outer")]
    verify = verify.assign(passed=verify.verified, design=verify.design + ": VERIFIED")
    both = gate_truth(pd.concat([known, verify]))
    order = [name for arm in names for name in (arm, f"{arm}: VERIFIED") if name in set(both.design)]
    lines = []
    for one in both.set_index("design").loc[order].reset_index().to_dict("records"):
        lines.append({
            "gate": one["design"], "runs": one["n"], "accepted": one["accepted"],
            "of these wrong [95 %]": share(one, "false_accept"), "rejected": one["rejected"],
            "of these right [95 %]": share(one, "false_reject"),
        })  # fmt: skip
    return pd.DataFrame(lines)


def share(one: Mapping[str, Any], name: str) -> str:
    if isnan(one[f"{name}_rate"]):
        return "none"
    ends = f"{one[f'{name}_low']:.2f} to {one[f'{name}_high']:.2f}"
    return f"{one[f'{name}s']} = {one[f'{name}_rate']:.2f} [{ends}]"


def plot(frame: pd.DataFrame, names: Sequence[str], found: pd.DataFrame, path: Path, title: str) -> None:
    """Left: holdout score against units, further left and up is better. Right: the paired differences."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), layout="constrained", width_ratios=(5, 6))
    for number, name in enumerate(names):
        runs = frame[frame.design == name]
        around = "outer" in name
        left.plot((runs.inner + runs.outer).mean(), runs.holdout.mean(), "os^DvPX*"[number % 8], label=name,
                  color="tab:blue" if around else "tab:orange", markersize=9, alpha=0.8)  # fmt: skip
    left.set(xlabel="units spent on average, inner and outer", ylabel="holdout score, mean", title="blue: outer loop")
    left.set_xlim(left=0)
    left.legend(loc="best", fontsize=8)
    rows = found.iloc[::-1].reset_index(drop=True)
    sides = [rows.difference - rows.low, rows.high - rows.difference]
    right.errorbar(rows.difference, rows.index, xerr=sides, fmt="ko", capsize=3)
    right.axvline(0, color="grey", linewidth=1)
    right.axvspan(-MARGIN, MARGIN, color="grey", alpha=0.15)
    right.set_yticks(rows.index, [f"{one.design} minus {one.baseline}" for one in rows.itertuples()])
    right.set(xlabel="holdout score: difference, 95 % interval over tasks", title="grey: taken for none")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(path, dpi=100)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("table.py SWEEP-FOLDER")
    frame = load(Path(sys.argv[1]))
    name = str(frame.exercise[0])
    known, sides = (SIM, SIM_SIDES) if name == "sim" else (REPAIR, REPAIR_SIDES)
    names = [arm for arm in known if arm in set(frame.design)]
    seeds = frame.seed.nunique()
    size = f"{frame.task.nunique()} tasks x {seeds} seed{'s' if seeds > 1 else ''}"
    found = differences(frame, sides, "holdout")
    text = "\n\n".join([
        f"{len(frame)} runs: {len(names)} arms x {size}", markdown(arms(frame, names)),
        markdown(shown(found, "holdout score")), markdown(prices(found)),
        markdown(shown(differences(frame, sides, "right"), "share of runs that meet the holdout")),
        markdown(gates(frame, names)), *([markdown(within(frame, names))] if name == "sim" else []),
    ])  # fmt: skip
    frame.sort_values(["design", "task", "seed"]).to_csv(HERE / f"{name}.csv", index=False)
    (HERE / f"{name}.md").write_text(text + "\n")
    if name == "sim":
        plot(frame, names, found, HERE / "sim.png", f"outer loop, a simulation with planted truth: {size}")
    print(text)


if __name__ == "__main__":
    main()
