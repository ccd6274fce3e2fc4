"""The runs of one command: one, or the cells of a Hydra multirun, one after the other or side by side."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from looper.complaints import complaint
from looper.console import Console
from looper.errors import ConfigError
from looper.launch import launch
from looper.parts import build, user_packages
from looper.shared_budget.ledger import SweepLedger
from looper.sweeps.cell import Cell, not_run, run_cell, settings_of
from looper.sweeps.names import (
    canonical,
    cell_name,
    checked,
    design,
    is_elsewhere,
    settings,
    stamp,
    sweep_name,
    swept,
)  # fmt: skip
from looper.sweeps.pool import Pool
from looper.sweeps.pressing import pressing
from looper.sweeps.rows import ALREADY, added, exit_code, not_looked_at, refreshed
from looper.sweeps.settings import Sweeping, check, refuse_alone, refuse_unattended
from looper.sweeps.tally import Tally
from looper.sweeps.tuning.study import Tuner
from looper.sweeps.watch import Watch
from looper.tracking import multirun
from looper.types import EXIT_CODES


class Session:
    """Builds, runs and sums up; a cell that cannot run does not stop the others."""

    def __init__(self, *, as_json: bool, multirun: bool, tuning: bool = False):
        self.as_json, self.multirun = as_json, multirun
        self.tuner = Tuner(self._settle, self._rows_of, self._resize) if tuning else None
        self.tally = Tally()
        self.watch = Watch(self.tally)
        self.how = Sweeping()
        self.overrides: list[str] = []
        self.folder: Path | None = None
        """The sweep's."""
        self._stamp = self._sweep = stamp()
        self._lock = threading.Lock()
        self._error: Exception | None = None
        self._status = ""
        """Of the only run."""
        self._labels: dict[str, Any] = {}
        self._cell_name = ""
        self._overrides: list[str] = []
        """Of the cell that was begun last."""
        self._swept: list[str] = []
        self._stopped = 0
        """Exit code of a sweep that a person has ended; 0 while nobody has."""
        self._pressed: Callable[[], bool] = lambda: False
        self._pool: Pool | None = None
        self._master: Any = None
        self._ended: dict[str, dict[str, Any]] = {}
        """Rows by the names of their cells."""
        self._handed: list[tuple[Cell, list[str]]] = []
        """Cells with their overrides, for one of Hydra's launchers."""

    # Names, for Hydra

    def run_id(self, *, _root_: Any) -> str:
        """Name of a run's folder: task, design and time (document 003)."""
        choices = _root_.hydra.runtime.choices
        around = [choices["outer"]] if choices.get("outer", "none") != "none" else []
        name = "-".join([choices.get("task", "none"), *around, choices.get("loop", "none")]).replace("/", "-")
        return f"{name}-{self._stamp}"

    def sweep_id(self) -> str:
        return self._sweep

    def cell_id(self, *, _root_: Any) -> str:
        return cell_name(list(_root_.hydra.overrides.task))

    # The cells of a sweep, for looper.sweeps.grid

    def prepare(self, master: Any) -> None:
        """How the sweep is to be run. Raises ConfigError."""
        self.how, self._master = Sweeping.of(master), master
        if self.tuner and self.how.launcher:
            raise ConfigError("tune: a search runs its own cells; give jobs=N in place of hydra/launcher.")
        if self.tuner:
            self.tuner.declare(OmegaConf.to_container(master.tune) if master.get("tune") else None)

    def name(self, given: object, overrides: Sequence[str]) -> None:
        """The sweep's name, given or told from the command. Raises ConfigError for one that cannot be a folder's."""
        self.overrides = canonical(overrides)
        self._sweep = sweep_name(overrides) if given is None else checked(given)

    def inspect(self, config: Mapping[str, Any]) -> None:
        refuse_unattended(config)

    def compare_with(self, rivals: Sequence[str], left_out: str) -> None:
        self.tally.told = added(rivals, left_out)

    @property
    def order(self) -> Callable[[Sequence[list[str]]], Iterator[list[str]]] | None:
        """The cells of a search, from those of the grid, one after the other; None: all, as they are."""
        return self._searched if self.tuner else None

    def _searched(self, cells: Sequence[list[str]]) -> Iterator[list[str]]:
        assert self.folder is not None
        assert self.tuner is not None
        yield from self.tuner.cells(self.folder, cells)

    def _settle(self) -> None:
        assert self._pool is not None
        self._pool.drain()

    def _resize(self, cells: int) -> None:
        self.tally.cells = cells

    def _rows_of(self, names: Sequence[str]) -> list[dict[str, Any]]:
        with self._lock:
            return [self._ended[name] for name in names]

    @contextmanager
    def sweeping(self, folder: Path, cells: Sequence[Sequence[str]]) -> Iterator[None]:
        """While the cells run: Ctrl-C between two of them ends the sweep as it does within one."""
        self.folder, self._swept = folder.absolute(), swept(cells) + (self.tuner.keys if self.tuner else [])
        size = self.tuner.size(len(cells)) if self.tuner else len(cells)
        if wrong := [key for key in self._swept if is_elsewhere(key)]:
            raise ConfigError(
                f"{wrong[0]}: this says where a run goes, not what it is: it cannot be swept; give one value."
            )
        self._open_ledger()
        named = [text.partition("=")[2] for text in self.overrides if text.startswith("experiment=")]
        known = {"name": self._sweep, "experiment": named[0] if named else "none", "overrides": self.overrides}
        multirun.record(folder, **known, cells=size, left=size)
        with pressing() as self._pressed, self.how.executing() as execute:
            self._pool = Pool(self.how.jobs, lambda cell: execute(cell, self.watch), self._done, self.tally.tick)
            self.tally.open(self._sweep, self.folder, size)
            try:
                yield
                self._pool.drain()
                self._launch()
            except KeyboardInterrupt:  # Ctrl-C twice between two cells, or while they run in other threads
                self._stopped = EXIT_CODES["aborted"]
                self._pool.leave()
            finally:
                self.tally.screen.close()
        multirun.record(folder, left=size - self.tally.begun)

    def _open_ledger(self) -> None:
        assert self.folder is not None
        ledger = SweepLedger(self.folder)
        ledger.open(self.how.budget)
        self.tally.caps, self.tally.jobs = ledger.standing, self.how.jobs

    def begin(self, overrides: Sequence[str]) -> bool:
        """The next cell, once there is room for it; whether it is to be run."""
        assert self._pool is not None
        self._pool.room()
        if self._stopped or self._pressed():
            self._stopped = self._stopped or EXIT_CODES["paused"]
            return False
        self._cell_name, self._overrides = cell_name(overrides), list(overrides)
        values = settings(overrides)
        self._labels = {"task": values.get("task"), "design": design(values), "seed": values.get("seed")}
        self._labels |= {key: values.get(key) for key in self._swept}
        return True

    def refuse(self, error: Exception) -> None:
        """The cell that was begun cannot run: a row, and a line on standard error."""
        cell = Cell(str(Path(self.folder or "", self._cell_name)), self._shown(), labels=self._labels)
        self.tally.begin(cell.name)
        self._done(cell, not_run(cell, complaint(error)))

    def _shown(self) -> str:
        return " ".join(str(value) for value in self._labels.values() if value is not None)

    # Runs

    def run(self, compose: Callable[[], dict[str, Any]], folder: Path, choices: Mapping[str, str]) -> None:
        """One run. In a sweep its failure is a row; alone it is the command's error."""
        if not self.multirun:
            try:
                self._only(compose(), folder, choices)
            except Exception as error:  # the boundary of the run: raised at the close, else Hydra says its own words
                self._error = error
                with contextlib.suppress(OSError):
                    folder.rmdir()  # Hydra made it; nothing was run in it
            return
        labels = self._labels | {"task": choices.get("task"), "design": design(choices)}
        cell = Cell(str(folder), self._shown(), choices=dict(choices), labels=labels)
        self.tally.begin(cell.name)
        try:
            if self._stopped:  # one of Hydra's own sweepers goes on after Ctrl-C
                raise ConfigError("a person ended the sweep before this cell.")
            config = compose()
            check(config)
            cell.config, cell.labels["seed"] = settings_of(config), config.get("seed")
        except Exception as error:  # the boundary of a cell
            self._done(cell, not_run(cell, complaint(error)))
        else:
            self._begun(cell)

    def _begun(self, cell: Cell) -> None:
        if self.how.launcher:
            self.watch.follow(cell, Path(cell.base))
            self._handed.append((cell, self._overrides))
        elif self._pool is None or self.how.inline:
            self._done(cell, run_cell(cell, self.watch))
        else:
            self._pool.begin(cell)

    def _launch(self) -> None:
        """Have one of Hydra's launchers run the cells."""
        if not self._handed or self._stopped:
            return
        from looper.sweeps.launcher import launch_all

        assert self.folder is not None
        self.tally.screen.tell(f"{len(self._handed)} cells are handed to {self.how.launcher.rpartition('.')[2]}.")
        launch_all(self._master, self.folder, self._handed, self._done)

    def _only(self, config: dict[str, Any], folder: Path, choices: Mapping[str, str]) -> None:
        check(config)
        refuse_alone(config)
        parts = build(settings_of(config), user_packages())
        self.watch.follow(Cell(str(folder), config=parts.config, choices=dict(choices)), folder)
        with Console(json_mode=self.as_json) as console:
            outcome = launch(parts, folder, audience=console.audience())
            console.summary(outcome, folder)
        self._status = outcome.status

    def _done(self, cell: Cell, row: dict[str, Any]) -> None:
        with self._lock:
            if row["status"] == "aborted" and row.get("note") != ALREADY:
                self._stopped = EXIT_CODES["aborted"]
            elif row["reason"] == "interrupted":
                self._stopped = self._stopped or EXIT_CODES["paused"]
            self._ended[Path(cell.base).name] = row
        self.tally.add(row, cell.name)

    def close(self) -> int:
        """Sum up; the exit code of the only run, or 0 if every cell of a sweep came to an orderly end.

        Raises the error that kept the only run from running.
        """
        if self.multirun:
            self.tally.rows[:] = [refreshed(row, self._labels) for row in self.tally.rows]
            self.tally.close(self.folder)
            if warning := not_looked_at(self.tally.rows, self._master):
                self.tally.screen.warn(f"looper: {warning}")
        problem = self.watch.close()
        if self._error:
            raise self._error
        if problem:
            self.tally.screen.warn(f"looper: {problem}")
        if not self.multirun:
            return EXIT_CODES.get(self._status, 1) if self._status else 0
        if self.tuner:
            self.tally.screen.say(self.tuner.result(as_json=self.as_json))
        elif self.tally.rows:
            self.tally.screen.say(self.tally.result(as_json=self.as_json))
        return self._stopped or exit_code(self.tally.rows)
