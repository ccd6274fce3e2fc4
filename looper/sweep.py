"""The runs of one command: one, or the cells of a Hydra multirun, one after the other."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from looper.catalogue import folders, nearest
from looper.complaints import complaint
from looper.errors import ConfigError, Paused
from looper.types import EXIT_CODES


def stamp() -> str:
    now = datetime.now().astimezone()
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class Session:
    """Builds, runs and sums up; a cell that cannot run does not stop the others."""

    def __init__(self, *, as_json: bool, multirun: bool):
        self.as_json, self.multirun = as_json, multirun
        self.rows: list[dict[str, Any]] = []
        self._stamp = stamp()
        self._mirror: Any = None
        self._error: Exception | None = None
        self._left = ""

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
            if self._left:
                raise Paused(self._left, "interrupted")
            config = compose()
            self._cell(config, folder, choices)
        except Exception as error:  # the boundary of a cell: raised at the close, else Hydra says its own words
            with contextlib.suppress(OSError):
                folder.rmdir()  # Hydra made it; nothing was run in it
            if not self.multirun:
                self._error = error
                return
            reason = complaint(error)
            print(f"looper: {folder.name}: {reason}", file=sys.stderr)
            self.rows.append({"folder": str(folder), "status": "not run", "reason": reason, **_labels(choices, config)})

    def _cell(self, config: dict[str, Any], folder: Path, choices: Mapping[str, str]) -> None:
        from looper.console import Console
        from looper.launch import build, launch

        _check(config)
        allowed = [name for name in os.environ.get("LOOPER_ALLOW", "").split(",") if name]
        parts = build(config, allowed)
        self._follow(parts, folder, choices)
        with Console(json_mode=self.as_json, compact=self.multirun) as console:
            outcome = launch(parts, folder, audience=console.audience())
            console.summary(outcome, folder)
        if self.multirun and (outcome.status == "aborted" or outcome.reason == "interrupted"):
            self._left = "a person ended the sweep (Ctrl-C) before this cell."
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
        if self._error:
            raise self._error
        if problem:
            print(f"looper: {problem}", file=sys.stderr)
        if not self.rows:
            return 0
        if not self.multirun:
            return EXIT_CODES.get(self.rows[0]["status"], 1)
        from looper.console import table

        print(table(self.rows, as_json=self.as_json))
        return max((EXIT_CODES.get(row["status"], 2) for row in self.rows if row["status"] in BAD), default=0)


BAD = ("failed", "aborted", "not run")


def _check(config: Mapping[str, Any]) -> None:
    """Refuse settings that nothing reads, and parts that were taken away. Raises ConfigError."""
    known = {"task"}
    for folder in folders():
        known |= {path.name for path in folder.iterdir() if path.is_dir()}
        file = folder / "config.yaml"
        known |= set(yaml.safe_load(file.read_text()) or {}) if file.is_file() else set()
    for key in config:
        if key not in known:
            hint = nearest(key, sorted(known)) or "`python -m looper --cfg job` shows every setting."
            raise ConfigError(f"{key}: there is no such setting; {hint}")
    if not config.get("task"):
        raise ConfigError("no task: give one with +task=NAME; `python -m looper` lists them.")
    for part in ("task", "loop", "budget", "sandbox", "tracking"):
        if not isinstance(config.get(part), Mapping) or "_target_" not in config[part]:
            raise ConfigError(f"{part}: this part is missing or has no _target_; give one by name: {part}=NAME.")


def _labels(choices: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, Any]:
    return {"task": choices.get("task"), "design": choices.get("loop"), "seed": config.get("seed")}
