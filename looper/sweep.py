"""The runs of one command: one, or the cells of a Hydra multirun, one after the other."""

import os
import secrets
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from looper.catalogue import folders
from looper.errors import LooperError
from looper.types import EXIT_CODES


def stamp() -> str:
    now = datetime.now().astimezone()
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def known_keys() -> list[str]:
    """Every dotted setting that some shipped or own YAML file sets."""
    found: set[str] = set()
    for folder in folders():
        for file in folder.rglob("*.yaml"):
            group = file.parent.relative_to(folder).as_posix().split("/")[0]
            data = yaml.safe_load(file.read_text())
            _walk(data, "" if group in (".", "experiment") else group, found)
    return sorted(found)


def _walk(node: Any, path: str, found: set[str]) -> None:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if isinstance(key, str) and key not in ("defaults", "_target_"):
                name = f"{path}.{key}" if path else key
                found.add(name)
                _walk(value, name, found)


class Session:
    """Builds, runs and sums up; a cell that cannot run does not stop the others."""

    def __init__(self, *, as_json: bool, multirun: bool):
        self.as_json, self.multirun = as_json, multirun
        self.rows: list[dict[str, Any]] = []
        self._stamp = stamp()
        self._mirror: Any = None
        self._error: LooperError | None = None

    def run_id(self, *, _root_: Any) -> str:
        """Name of a run's folder: task, design and time (document 003)."""
        choices = _root_.hydra.runtime.choices
        name = f"{choices.get('task', 'none')}-{choices.get('loop', 'none')}".replace("/", "-")
        return f"{name}-{self._stamp}"

    def sweep_id(self) -> str:
        return self._stamp

    def run(self, compose: Callable[[], dict[str, Any]], folder: Path, choices: Mapping[str, str]) -> None:
        """One cell. In a sweep its failure is a row; alone it is the command's error."""
        config: dict[str, Any] = {}
        try:
            config = compose()
            self._cell(config, folder, choices)
        except LooperError as error:
            if not self.multirun:
                self._error = error  # raised at the close: Hydra would print its own words about it
                return
            print(f"looper: {folder.name}: {error}", file=sys.stderr)
            self.rows.append({"folder": str(folder), "status": "not run", "reason": str(error), **_labels(choices, config)})

    def _cell(self, config: dict[str, Any], folder: Path, choices: Mapping[str, str]) -> None:
        from looper.console import Console
        from looper.launch import Audience, build, launch

        allowed = [name for name in os.environ.get("LOOPER_ALLOW", "").split(",") if name]
        parts = build(config, allowed)
        console = Console(json_mode=self.as_json, compact=self.multirun)
        audience = Audience(listeners=[console.listener], terminal=console.terminal, announce=console.announce)
        self._follow(parts, folder, choices)
        outcome = launch(parts, folder, audience=audience)
        console.summary(outcome, folder)
        holdout = outcome.facts.get("holdout") or {}
        self.rows.append(
            {
                "folder": str(folder), "status": outcome.status, "reason": outcome.reason, "score": outcome.score,
                "holdout": holdout.get("score"), **_labels(choices, config),
            }
        )  # fmt: skip

    def _follow(self, parts: Any, folder: Path, choices: Mapping[str, str]) -> None:
        """Tell MLflow's mirror of the run; it reads the journal by itself."""
        if not getattr(parts.tracking, "enabled", False):
            return
        if self._mirror is None:
            self._mirror = parts.tracking.open(Path(parts.config["outputs"]))
        tags = {"task": choices.get("task", ""), "design": choices.get("loop", ""), "outer": "none"}
        if self.multirun:
            tags["sweep"] = self._stamp
        self._mirror.follow(folder, tags)

    def close(self) -> int:
        """Sum up; the exit code of the only run, or 0 if every cell of a sweep came to an orderly end.

        Raises the error that kept the only run from running.
        """
        problem = self._mirror.close() if self._mirror else None
        if problem:
            print(f"looper: {problem}", file=sys.stderr)
        if self._error:
            raise self._error
        if not self.rows:
            return 0
        if not self.multirun:
            return EXIT_CODES.get(self.rows[0]["status"], 1)
        from looper.console import table

        print(table(self.rows, as_json=self.as_json))
        return max((EXIT_CODES.get(row["status"], 2) for row in self.rows if row["status"] in BAD), default=0)


BAD = ("failed", "aborted", "not run")


def _labels(choices: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, Any]:
    return {"task": choices.get("task"), "design": choices.get("loop"), "seed": config.get("seed")}
