"""From what is known of each run to one frame: identities, labels and scores, the same from every source."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from looper.lab.data.known import Known
from looper.lab.data.variants import arms_of, tasks_of
from looper.types import TERMINAL

Frame = Any
"""A pandas frame; what its types say of an index is too wide to be of use."""
COLUMNS = {
    "run": "name, unique within the frame", "name": "of its folder, as it is",
    "task": "the task, with its own swept settings", "alias": "its name alone",
    "design": "the loop", "outer_loop": "name of the outer loop, or none",
    "label": "one arm of a comparison: design, outer loop, other swept settings", "seed": "",
    "status": "SPEC 0.2, also interrupted, damaged, not run, not begun", "reason": "SPEC 0.2",
    "finished": "whether it has ended by itself", "passed": "whether the gate was met",
    "gate_score": "0 to 1, as the run reported it", "phase": "of the gate, in which that score was reached",
    "gate_on_all_rules": "the same on the rules of the last phase", "holdout": "hidden checks, 0 to 1, NaN without",
    "score": "holdout where there is one, else gate_score", "inner": "units", "outer": "units", "usd": "US dollars",
    "tokens": "", "calls": "of models", "seconds": "working time", "iterations": "",
    "checks": "hash of rules and thresholds", "checks_given": "the same before anybody changed them",
    "checks_by": "who wrote the checks: code, or roles",
    "prices": "hash of unit prices and model prices", "task_hash": "the task's settings without its seed",
    "config_hash": "all settings that matter", "sweep": "name, or none", "experiment": "of conf/experiment, or none",
    "model": "who fills the roles", "fillers": "who answered how often", "synthetic": "recording, simulation, or empty",
    "version": "of looper", "versions": "of what prices and checks depend on", "origin": "the task's own label",
    "forked": "the run that it is a fork of, or empty",
    "capped": "the cap of its whole sweep that cut it short, or empty",
    "ever_correct": "1 if an evaluated state was right by the hidden checks, 0 if none; NaN without holdout=all",
    "correct_inner": "units until the first of them", "correct_outer": "units", "correct_usd": "US dollars",
    "correct_tokens": "", "correct_calls": "",
    "started": "milliseconds since 1970", "where": "folder, or store and MLflow's run id",
    "settings": "resolved, flat", "trouble": "why the record cannot be used, empty if it can",
}  # fmt: skip
"""Columns of `runs_of` and what they hold."""
HISTORY = (
    "run", "task", "design", "label", "seed", "step", "score", "passed", "inner", "outer", "usd", "tokens", "calls",
    "seconds",
)  # fmt: skip
"""Columns of `histories_of`."""
SYNTHETIC = {"simulated": "simulation", "recording": "recording"}
NUMBERS = {
    "gate_score": "gate_score", "gate_on_all_rules": "gate_score_on_all_rules", "holdout": "holdout_score",
    "inner": "inner_units", "outer": "outer_units", "usd": "usd", "tokens": "tokens", "calls": "model_calls",
    "seconds": "seconds", "iterations": "iterations", "ever_correct": "ever_correct",
    "correct_inner": "first_correct_inner_units", "correct_outer": "first_correct_outer_units",
    "correct_usd": "first_correct_usd", "correct_tokens": "first_correct_tokens",
    "correct_calls": "first_correct_model_calls",
}  # fmt: skip
"""Columns by the metric that they are."""


TAGS = ("design", "checks", "checks_given", "config_hash", "sweep", "experiment", "model")
"""Columns that are tags of the same name."""


def frame_of(runs: Sequence[Known]) -> pd.DataFrame:
    """One row per run, in the order in which they began."""
    runs = sorted(runs, key=lambda known: (known.started or math.inf, known.where))
    frame: Frame = pd.DataFrame([_row(known) for known in runs])
    frame["run"] = _names(runs)
    frame["task"] = tasks_of(frame)
    frame["label"] = arms_of(frame)
    return frame[list(COLUMNS)]


def _row(known: Known) -> dict[str, Any]:
    tags, settings = known.tags, known.settings
    status = "damaged" if known.trouble and not tags else tags.get("status", "running")
    numbers = {column: known.metrics.get(metric, math.nan) for column, metric in NUMBERS.items()}
    made_with = {name: tags.get(f"version.{name}", "unknown") for name in ("looper", "litellm")}
    return {
        **{name: tags.get(name, "none") for name in TAGS},
        **numbers,
        "score": numbers["gate_score"] if math.isnan(numbers["holdout"]) else numbers["holdout"],
        "name": known.name,
        "alias": tags.get("task", "none"), "outer_loop": tags.get("outer", "none"), "seed": _seed(tags.get("seed")),
        "status": status, "reason": tags.get("reason", ""), "finished": status in TERMINAL - {"aborted"},
        "passed": known.metrics.get("gate_passed") == 1.0, "phase": tags.get("phase", ""),
        "checks_by": tags.get("checks_by", "unknown"), "prices": digest(prices_in(settings, made_with["litellm"])),
        "task_hash": digest({key: value for key, value in settings.items() if _of_task(key)}),
        "fillers": tags.get("fillers", "none"), "synthetic": synthetic(tags.get("fillers", "")),
        "version": made_with["looper"], "versions": json.dumps(made_with), "origin": tags.get("origin", ""),
        "forked": tags.get("forked_from", ""), "capped": tags.get("capped", ""),
        "started": known.started, "where": known.where, "settings": dict(settings), "trouble": known.trouble,
    }  # fmt: skip


def _seed(text: str | None) -> int:
    return int(text) if text is not None and text.lstrip("-").isdigit() else -1


def _of_task(key: str) -> bool:
    return key.startswith("task.") and key.rsplit(".", 1)[-1] != "seed"


def prices_in(settings: Mapping[str, str], litellm: str) -> dict[str, str]:
    """What anything costs in a run: units by step, declared model prices, else the version of LiteLLM's list."""
    known = {
        key: value for key, value in settings.items() if key.startswith("budget.prices.") and "_target_" not in key
    }
    declared = {key: value for key, value in settings.items() if _is_model_price(key) and value != "null"}
    named = settings.get("model.name", "offline")
    if "/" in named and not any(key.startswith("model.price") for key in declared):
        known[f"price of {named}"] = f"as listed by litellm {litellm}"
    return {
        **known,
        **{f"{named}: {key}" if key.startswith("model.") else key: value for key, value in declared.items()},
    }


def _is_model_price(key: str) -> bool:
    parts = key.split(".")
    return "price" in parts and parts[0] in ("model", "agents")


def digest(known: Mapping[str, str]) -> str:
    """Twelve hex digits that change with a key or value."""
    text = json.dumps(sorted(known.items()))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def synthetic(fillers: str) -> str:
    """`simulation`, `recording` or both, if such a one answered: it says nothing about a model at work today."""
    names = {told.rsplit(" ", 1)[0] for told in fillers.split(", ")}
    return " and ".join(word for name, word in SYNTHETIC.items() if name in names)


def _names(runs: Sequence[Known]) -> list[str]:
    """Folder names, with the sweep's before them where two are alike, and numbers where that does not help."""
    plain = Counter(known.name for known in runs)
    longer = [f"{known.tags.get('sweep')}/{known.name}" if plain[known.name] > 1 else known.name for known in runs]
    seen: Counter[str] = Counter()
    names = []
    for name in longer:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return names
