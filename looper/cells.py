"""The cells of a sweep on disk: the folder of each by what was asked for, and what an earlier command left there."""

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import looper
from looper.console.summary import config_of, glance
from looper.errors import ConfigError
from looper.folder import Folder
from looper.launch import VOLATILE, Parts
from looper.redact import redact
from looper.sweep_ledger import SweepLedger
from looper.types import TERMINAL

ELSEWHERE = (*VOLATILE, "sweep", "sweep_budget", "jobs", "workers", "tune")
"""Settings that say where a run goes and how it is watched, not what it is."""
LONGEST = 48
"""Characters of a folder's name that are for the reader; a hash of all overrides follows."""
SHOWN = 3
"""Changed settings that a refusal names at most."""


def canonical(overrides: Sequence[str]) -> list[str]:
    """The overrides that say what is run: the last one of each key, in one order however they were typed."""
    last = {text.partition("=")[0].lstrip("+"): text.lstrip("+") for text in overrides}
    return sorted(text for key, text in last.items() if not is_elsewhere(key))


def is_elsewhere(key: str) -> bool:
    """Whether this key of an override says where a run goes and not what it is."""
    return re.split(r"[./@]", key.lstrip("+~"))[0] in ELSEWHERE


def cell_name(overrides: Sequence[str]) -> str:
    """The folder of a cell: the same for the same overrides, wherever in a sweep they stand."""
    texts = canonical(overrides)
    values = {key: value for key, _, value in (text.partition("=") for text in texts)}
    words = [values.pop(key) for key in ("task", "loop") if key in values]
    words += [f"{key.rsplit('.', 1)[-1]}{value}" for key, value in values.items()]
    return f"{_readable(words) or 'cell'}-{_digest(texts)}"


def sweep_name(overrides: Sequence[str]) -> str:
    """The folder of a sweep that was given no name: the same command continues the same sweep."""
    texts = canonical(overrides)
    values = {key: value for key, _, value in (text.partition("=") for text in texts)}
    return f"{_readable([values.get('experiment') or values.get('task') or 'sweep'])}-{_digest(texts)}"


def checked(name: object) -> str:
    """A name given with `sweep=`. Raises ConfigError if it cannot be the name of a folder."""
    text = str(name)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}", text):
        raise ConfigError(f"sweep={text[:80]}: a name is up to 80 letters, digits, dots, hyphens and underscores.")
    return text


def swept(cells: Sequence[Sequence[str]]) -> list[str]:
    """The settings that differ between cells, beside task, design and seed, which every row has."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for text in cell:
            key, _, value = text.partition("=")
            values.setdefault(key.lstrip("+"), set()).add(value)
    return [key for key, found in values.items() if len(found) > 1 and key not in ("task", "loop", "seed")]


def _readable(words: Sequence[str]) -> str:
    text = "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.") for word in words)
    return text[:LONGEST].strip("-.")


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


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
