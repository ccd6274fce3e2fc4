"""What an earlier command left of a cell: its folder, and whether there is something to run in it."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import looper
from looper.console.story import config_of, glance
from looper.errors import ConfigError
from looper.folder import Folder
from looper.parts import Parts
from looper.redact import redact
from looper.shared_budget.ledger import SweepLedger
from looper.sweeps.names import ELSEWHERE
from looper.types import TERMINAL

SHOWN = 3
"""Changed settings that a refusal names at most."""


@dataclass(frozen=True)
class Found:
    """The folder that a cell is to use, and what is there."""

    folder: Path
    state: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What run.json says of the run there; empty if there is none."""

    @property
    def ended(self) -> bool:
        return self.state.get("status") in TERMINAL


def look(base: Path, parts: Parts) -> Found:
    """What an earlier command left of the cell with this folder and these parts.

    A run that a person aborted, or that ended by a cap of the whole sweep which has been raised since, stays as it is,
    and the cell starts anew in a folder beside it (`NAME.2`). Raises ConfigError if the run there was made with other
    settings or by another version, JournalDamaged for a changed one.
    """
    path, number = base, 1
    while Folder(path).history.exists():
        state = glance(Folder(path))
        if not state["run_id"]:  # the process died before the first event
            return Found(path)
        if state["status"] != "aborted" and not _goes_on(base.parent, state):
            _same(path, state, parts)
            return Found(path, state)
        number += 1
        path = base.with_name(f"{base.name}.{number}")
    return Found(path)


def _goes_on(sweep: Path, state: Mapping[str, Any]) -> bool:
    """Whether the sweep's cap ended this run, which says nothing of its design, and there is more to spend now."""
    refused = ((state["outcome"] or {}).get("facts") or {}).get("sweep_budget")
    return state["status"] == "stopped" and bool(refused) and SweepLedger(sweep).raised(refused)


def _same(path: Path, state: Mapping[str, Any], parts: Parts) -> None:
    """Raises ConfigError unless the run there is the one that these parts would make."""
    setup, what = state["setup"], ""
    made_by = setup.get("versions", {}).get("looper")
    if setup.get("config_hash") != parts.identity:
        changed = ", ".join(_changed(Folder(path), parts.config)) or "config.yaml does not tell which"
        what = f"with other settings ({changed})"
    elif made_by != looper.__version__:
        what = f"by looper {made_by}, and this is {looper.__version__}"
    if what:
        raise ConfigError(
            f"its folder holds a run made {what}; it was left as it is: give another sweep=NAME, or delete {path}."
        )


def _changed(folder: Folder, config: Mapping[str, Any]) -> list[str]:
    """The settings in which the run's configuration differs from this one; the first few."""
    now = yaml.safe_load(redact(yaml.safe_dump(dict(config), allow_unicode=False)))
    before, after = _flat(config_of(folder)), _flat(now)
    keys = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    return keys[:SHOWN] + (["..."] if len(keys) > SHOWN else [])


def _flat(node: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in node.items():
        if not path and key in ELSEWHERE:
            continue
        name = f"{path}.{key}" if path else str(key)
        flat |= _flat(value, name) if isinstance(value, Mapping) and value else {name: value}
    return flat
