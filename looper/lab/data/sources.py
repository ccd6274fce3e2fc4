"""`runs_of` and `histories_of`: whatever a person can point at, as frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from looper.errors import ConfigError
from looper.lab.data.folders import evaluations_in, known_below
from looper.lab.data.frame import HISTORY, Frame, frame_of
from looper.lab.data.known import Known
from looper.lab.data.store import Wanted as Store
from looper.lab.data.store import evaluations_by, known_by

Source = str | Path | Store | Sequence[str | Path | Store] | pd.DataFrame
"""A run's, a sweep's or an outputs folder, the URI of an MLflow store, a `Store`, several of these, or a frame."""
SPENT = ("inner", "outer", "usd", "tokens", "calls", "seconds")


def runs_of(source: Source) -> pd.DataFrame:
    """One row per run with the columns `COLUMNS`, oldest first; a frame is returned as it is.

    Raises ConfigError if there is no run, or the store cannot be read.
    """
    return source if isinstance(source, pd.DataFrame) else frame_of(_known(source))


def _known(source: Any) -> list[Known]:
    if isinstance(source, Store):
        return known_by(source)
    if isinstance(source, str) and "://" in source:
        return known_by(Store(uri=source))
    if isinstance(source, str | Path):
        return known_below(Path(source))
    found = {known.where: known for one in source for known in _known(one)}
    return list(found.values())


def histories_of(source: Source) -> pd.DataFrame:
    """One row per evaluated step with the columns `HISTORY`: the score on all rules of the gate, accounts up to then.

    From run folders as of each verdict; from MLflow, which keeps one value an iteration, as of the iteration's end. A
    run that was never evaluated has no row. Runs whose record cannot be used are left out.
    """
    runs: Frame = runs_of(source)
    usable = runs[(runs["trouble"] == "") & (runs["status"] != "not run")]
    told = _evaluations(list(usable["where"]))
    rows: list[dict[str, Any]] = []
    for run in usable.to_dict("records"):
        labels = {name: run[name] for name in ("run", "task", "design", "label", "seed")}
        rows += [{**labels, **_verdict(one)} for one in told.get(run["where"], [])]
    return pd.DataFrame(rows, columns=list(HISTORY))


def _verdict(one: dict[str, float]) -> dict[str, Any]:
    score = one.get("score_on_all_rules", one.get("score", 0.0))
    spent = {account: one.get(account, 0.0) for account in SPENT}
    return {"step": int(one["step"]), "score": score, "passed": one.get("gate") == 1.0, **spent}


def _evaluations(places: Sequence[str]) -> dict[str, list[dict[str, float]]]:
    """By the place of the run."""
    found = {place: evaluations_in(Path(place)) for place in places if "|" not in place or Path(place).is_dir()}
    stores: dict[str, list[str]] = {}
    for place in places:
        if place not in found:
            uri, _, run = place.rpartition("|")
            stores.setdefault(uri, []).append(run)
    for uri, runs in stores.items():
        if "://" not in uri:
            raise ConfigError(f"{uri}: is neither a run's folder nor a run of an MLflow store.")
        found |= {f"{uri}|{run}": told for run, told in evaluations_by(uri, runs).items()}
    return found
