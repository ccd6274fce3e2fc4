"""The runs of one command: one, or the cells of a Hydra multirun, one after the other."""

import contextlib
import dataclasses
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from looper.agents import confirming
from looper.catalogue import folders, nearest
from looper.cells import canonical, cell_name, checked, is_elsewhere, look, sweep_name, swept
from looper.complaints import complaint
from looper.console import Console
from looper.console.summary import glance
from looper.errors import ConfigError, RunLocked
from looper.folder import Folder
from looper.launch import Audience, Parts, build, launch
from looper.pressing import pressing
from looper.tally import ALREADY, BAD, ELSEWHERE, RESUMED, Tally, row_of
from looper.tracking import multirun
from looper.tracking.shadow import LOCK as MIRRORED
from looper.types import EXIT_CODES, Question


def stamp() -> str:
    now = datetime.now().astimezone()
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class Session:
    """Builds, runs and sums up; a cell that cannot run does not stop the others."""

    def __init__(self, *, as_json: bool, multirun: bool):
        self.as_json, self.multirun = as_json, multirun
        self.tally = Tally()
        self.overrides: list[str] = []
        self.folder: Path | None = None
        """The sweep's."""
        self._stamp = self._sweep = stamp()
        self._mirror: Any = None
        self._error: Exception | None = None
        self._status = ""
        """Of the only run."""
        self._labels: dict[str, Any] = {}
        self._cell_name = ""
        self._swept: list[str] = []
        self._stopped = 0
        """Exit code of a sweep that a person has ended; 0 while nobody has."""
        self._pressed: Callable[[], bool] = lambda: False

    # Names, for Hydra

    def run_id(self, *, _root_: Any) -> str:
        """Name of a run's folder: task, design and time (document 003)."""
        choices = _root_.hydra.runtime.choices
        name = f"{choices.get('task', 'none')}-{choices.get('loop', 'none')}".replace("/", "-")
        return f"{name}-{self._stamp}"

    def sweep_id(self) -> str:
        return self._sweep

    def cell_id(self, *, _root_: Any) -> str:
        return cell_name(list(_root_.hydra.overrides.task))

    # The cells of a sweep, for looper.grid

    def name(self, given: object, overrides: Sequence[str]) -> None:
        """The sweep's name, given or told from the command. Raises ConfigError for one that cannot be a folder's."""
        self.overrides = canonical(overrides)
        self._sweep = sweep_name(overrides) if given is None else checked(given)

    def inspect(self, config: Mapping[str, Any]) -> None:
        """Refuse a sweep whose every run would pause for a confirmation that nobody is there to give."""
        loop, agents = config.get("loop") or {}, config.get("agents") or {}
        if confirming.asks(loop, config.get("confirm"), agents) and not sys.stdin.isatty():
            raise ConfigError(
                "confirm: the runs of this sweep ask for a confirmation of their criteria before they start, and there "
                "is no terminal to ask on; give confirm=yes."
            )

    @contextmanager
    def sweeping(self, folder: Path, cells: Sequence[Sequence[str]]) -> Iterator[None]:
        """While the cells run: Ctrl-C between two of them ends the sweep as it does within one."""
        self.folder, self._swept = folder, swept(cells)
        if wrong := [key for key in self._swept if is_elsewhere(key)]:
            raise ConfigError(
                f"{wrong[0]}: this says where a run goes, not what it is: it cannot be swept; give one value."
            )
        named = [text.partition("=")[2] for text in self.overrides if text.startswith("experiment=")]
        known = {"name": self._sweep, "experiment": named[0] if named else "none", "overrides": self.overrides}
        multirun.record(folder, **known, cells=len(cells), left=len(cells))
        with pressing() as self._pressed:
            self.tally.open(self._sweep, folder, len(cells))
            try:
                yield
            except KeyboardInterrupt:  # Ctrl-C twice between two cells
                self._stopped = EXIT_CODES["aborted"]
            finally:
                self.tally.screen.close()
        multirun.record(folder, left=len(cells) - self.tally.begun)

    def begin(self, overrides: Sequence[str]) -> bool:
        """The next cell; whether it is to be run."""
        if self._stopped or self._pressed():
            self._stopped = self._stopped or EXIT_CODES["paused"]
            return False
        self._cell_name = cell_name(overrides)
        values = {key.lstrip("+"): value for key, _, value in (text.partition("=") for text in overrides)}
        self._labels = {"task": values.get("task"), "design": values.get("loop"), "seed": values.get("seed")}
        self._labels |= {key: values.get(key) for key in self._swept}
        shown = [str(value) for value in self._labels.values() if value is not None]
        self.tally.begin(" ".join(shown))
        return True

    def refuse(self, error: Exception) -> None:
        """The cell that was begun cannot run: a row, and a line on standard error."""
        self._not_run(Path(self.folder or "", self._cell_name), complaint(error))

    def _not_run(self, folder: Path, reason: str) -> None:
        where = f"cell {self.tally.begun} of {self.tally.cells}, {folder.name}"
        self.tally.screen.warn(f"looper: {where}: {reason}")
        self.tally.add({"folder": str(folder), "status": "not run", "reason": reason, **self._labels})

    # Runs

    def run(self, compose: Callable[[], dict[str, Any]], folder: Path, choices: Mapping[str, str]) -> None:
        """One run. In a sweep its failure is a row; alone it is the command's error."""
        self._labels |= {"task": choices.get("task"), "design": choices.get("loop")}
        try:
            if self._stopped:  # one of Hydra's own sweepers goes on after Ctrl-C
                raise ConfigError("a person ended the sweep before this cell.")
            config = compose()
            _check(config)
            self._labels["seed"] = config.get("seed")
            self._cell(config, folder, choices) if self.multirun else self._only(config, folder, choices)
        except Exception as error:  # the boundary of a cell: raised at the close, else Hydra says its own words
            with contextlib.suppress(OSError):
                folder.rmdir()  # Hydra made it; nothing was run in it
            if not self.multirun:
                self._error = error
                return
            self._not_run(folder, complaint(error))

    def _only(self, config: dict[str, Any], folder: Path, choices: Mapping[str, str]) -> None:
        if config.pop("sweep", None) is not None:
            raise ConfigError("sweep: this names the folder of a sweep; add -m, or leave it out.")
        parts = build(config, allowed())
        self._follow(parts, folder, choices)
        with Console(json_mode=self.as_json) as console:
            outcome = launch(parts, folder, audience=console.audience())
            console.summary(outcome, folder)
        self._status = outcome.status

    def _cell(self, config: dict[str, Any], base: Path, choices: Mapping[str, str]) -> None:
        """One cell of a sweep, unless it has ended before or another process is at it."""
        config.pop("sweep", None)
        parts = build(config, allowed())  # what a design adds to its settings belongs to a run's identity
        found = look(base, parts)
        if found.ended:
            _close(parts)
            self._keep(parts, found.folder, choices)
            return
        try:
            self._launch(parts, found.folder, choices, RESUMED if found.state else "")
        except RunLocked:
            _close(parts)
            row = {"folder": str(found.folder), "status": "running", "reason": "", **self._labels, "note": ELSEWHERE}
            self.tally.add(row)
        except ConfigError:
            if not look(base, parts).ended:
                raise
            self._keep(parts, found.folder, choices)  # another process ended it since we looked

    def _keep(self, parts: Parts, folder: Path, choices: Mapping[str, str]) -> None:
        """A cell that has ended before; one that was never mirrored (tracking was off) is mirrored now."""
        self.tally.add(row_of(glance(Folder(folder)), self._labels, ALREADY))
        if not (folder / MIRRORED).exists():
            self._follow(parts, folder, choices)

    def _launch(self, parts: Parts, folder: Path, choices: Mapping[str, str], note: str) -> None:
        self._follow(parts, folder, choices)
        with Console(compact=True, quiet=True) as console:
            outcome = launch(parts, folder, audience=self._audience(console))
        row = row_of(glance(Folder(folder)), self._labels, note)
        self.tally.add({**row, "status": outcome.status, "reason": outcome.reason, "score": outcome.score})
        if outcome.status == "aborted":
            self._stopped = EXIT_CODES["aborted"]
        elif outcome.reason == "interrupted":
            self._stopped = EXIT_CODES["paused"]

    def _audience(self, console: Console) -> Audience:
        """The cell's console without its progress; the sweep's bar makes room for a talk with a person."""
        audience = console.audience()
        talk = audience.terminal

        def terminal(question: Question) -> str:
            assert talk is not None
            with self.tally.screen.alone():
                return talk(question)

        return dataclasses.replace(audience, terminal=terminal)

    def _follow(self, parts: Parts, folder: Path, choices: Mapping[str, str]) -> None:
        """Tell MLflow's mirror of the run; it reads the journal by itself."""
        if not getattr(parts.tracking, "enabled", False):
            return
        if self._mirror is None:
            self._mirror = parts.tracking.open(Path(parts.config["outputs"]))
        tags = {"task": choices.get("task", ""), "design": choices.get("loop", ""), "outer": "none"}
        self._mirror.follow(folder, {**tags, "experiment": choices.get("experiment", "none")})

    def close(self) -> int:
        """Sum up; the exit code of the only run, or 0 if every cell of a sweep came to an orderly end.

        Raises the error that kept the only run from running.
        """
        if self.multirun:
            self._refresh()
            self.tally.close(self.folder)
        problem = self._mirror.close() if self._mirror else None
        if self._error:
            raise self._error
        if problem:
            self.tally.screen.warn(f"looper: {problem}")
        if not self.multirun:
            return EXIT_CODES.get(self._status, 1) if self._status else 0
        if self.tally.rows:
            self.tally.screen.say(self.tally.result(as_json=self.as_json))
        worst = max((EXIT_CODES.get(row["status"], 2) for row in self.tally.rows if row["status"] in BAD), default=0)
        return self._stopped or worst

    def _refresh(self) -> None:
        """Rows of cells that another process was at: what became of them meanwhile."""
        rows = self.tally.rows
        for number, row in enumerate(rows):
            if row.get("note") == ELSEWHERE and Folder(Path(row["folder"])).history.exists():
                labels = {key: row[key] for key in row if key in self._labels}
                rows[number] = row_of(glance(Folder(Path(row["folder"]))), labels, ELSEWHERE)


def _close(parts: Parts) -> None:
    """Give back what the task of a cell holds that was built and not launched."""
    close = getattr(parts.task, "close", None)
    if close:
        close()


def allowed() -> list[str]:
    """Modules of the user's whose classes may be built."""
    return [name for name in os.environ.get("LOOPER_ALLOW", "").split(",") if name]


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
