"""What makes a run no data, or another experiment than the other runs."""

import json
from typing import Any

import pandas as pd

from looper.lab.comparable.sieve import Row, Sieve
from looper.lab.data.frame import prices_in

UNFINISHED = {
    "running": "it is still running; wait for it, or stop it",
    "paused": "it waits for somebody; `looper resume` goes on with it",
    "interrupted": "its process was killed; `looper resume` goes on with it",
    "aborted": "a person ended it",
    "not run": "it never began",
    "not begun": "a cap of its whole sweep kept it from beginning",
}
SHOWN = 3
"""Changes that a sentence lists at most."""


def recorded(sieve: Sieve) -> None:
    sieve.refuse(sieve.runs["trouble"] != "", lambda run: run["trouble"])


def replaced(sieve: Sieve) -> None:
    """A run that the cap of its whole sweep cut short is no data where it was made again (`looper.sweeps.earlier`)."""
    runs = sieve.runs
    names = {(row["sweep"], row["config_hash"], row["name"]) for row in runs.to_dict("records")}

    def later(run: Row) -> str:
        base, _, number = run["name"].rpartition(".")
        base, count = (base, int(number)) if base and number.isdigit() else (run["name"], 1)
        name = f"{base}.{count + 1}"
        return name if (run["sweep"], run["config_hash"], name) in names else ""

    again = [bool(row["capped"] and later(row)) for row in runs.to_dict("records")]
    sieve.refuse(
        pd.Series(again, index=runs.index, dtype=bool),
        lambda run: f"the cap of its whole sweep cut it short ({run['capped']}), and {later(run)} was run in its place",
    )


def ended(sieve: Sieve) -> None:
    def why(run: Row) -> str:
        told = UNFINISHED.get(run["status"], f"it has not ended ({run['status']})")
        return f"{told}: {run['reason']}" if run["status"] == "not run" and run["reason"] else told

    sieve.refuse(~sieve.runs["finished"].astype(bool), why)
    sieve.refuse(sieve.runs["reason"] == "user_stop", lambda run: "a person stopped it before its design was done")
    sieve.refuse(
        sieve.runs["capped"] != "",
        lambda run: f"the cap of its whole sweep cut it short ({run['capped']}); raise the cap and run the sweep again",
    )


def same_task(sieve: Sieve) -> None:
    def why(run: Any, model: Any) -> str:
        return f"its task is set otherwise than that of most runs of {run['task']} ({_changes(run, model, 'task.')})"

    sieve.differ(["task"], "task_hash", why)


def _changes(run: Any, model: Any, part: str) -> str:
    own, other = ({k: v for k, v in one["settings"].items() if k.startswith(part)} for one in (run, model))
    keys = [key for key in sorted(own.keys() | other.keys()) if own.get(key) != other.get(key) and key != "task.seed"]
    told = [f"{key}: {str(own.get(key, 'not set'))[:40]} against {str(other.get(key, 'not set'))[:40]}" for key in keys]
    return "; ".join(told[:SHOWN]) + (f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def same_prices(sieve: Sieve) -> None:
    """Prices of the steps that two runs share; a design may price steps of its own."""

    def why(run: Any, model: Any) -> str:
        own, other = (prices_in(one["settings"], json.loads(one["versions"])["litellm"]) for one in (run, model))
        keys = [key for key in sorted(own.keys() & other.keys()) if own[key] != other[key]]
        told = "; ".join(f"{key}: {own[key]} against {other[key]}" for key in keys[:SHOWN])
        return f"its prices differ from those of most runs of {run['task']} ({told})" if keys else ""

    sieve.differ(["task"], "prices", why)


def same_version(sieve: Sieve) -> None:
    def why(run: Any, model: Any) -> str:
        return f"it was made by looper {run['version']}, most others by {model['version']}, whose checks may differ"

    sieve.differ(["task"], "version", why)


def same_checks(sieve: Sieve, value: str) -> None:
    """Where hidden checks give the score, the gate may be the design's own work; the task's must be the same."""

    def why(run: Any, model: Any) -> str:
        return f"its rules or thresholds differ from those of most runs of {run['task']} with seed {run['seed']}"

    hidden = sieve.runs.groupby("task")["holdout"].transform("count") > 0
    by_gate = ~hidden | (value == "gate_score")
    sieve.runs = sieve.runs.assign(gate=sieve.runs["checks"].where(by_gate, sieve.runs["checks_given"]))
    sieve.differ(["task", "seed"], "gate", why)
    sieve.runs = sieve.runs.drop(columns="gate")


def once_each(sieve: Sieve) -> None:
    """Of several runs of one cell the first one counts: nobody may throw the dice until they fall well."""
    again = sieve.runs.duplicated(["label", "task", "seed"], keep="first")
    sieve.refuse(again, lambda run: "the same design was run before on this task and seed; the first run counts")
