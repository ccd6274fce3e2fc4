"""How the cells of a sweep are run: how many at once, in threads or processes or by a launcher, within what caps."""

import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.agents import confirming
from looper.agents.cast import build
from looper.catalogue import folders, nearest
from looper.errors import ConfigError
from looper.shared_budget.ledger import SweepBudget
from looper.sweeps.cell import Cell, Watcher, run_cell
from looper.types import STRICT

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
NATIVE = "looper.sweeps.settings.Native"
Execute = Callable[[Cell, Watcher], dict[str, Any]]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Native:
    """What `hydra/launcher=threads` and `hydra/launcher=processes` stand for: looper's own way of running cells."""

    jobs: Annotated[int, Field(ge=1, le=512)] = 1
    """Cells at once, 1 to 512. A run that waits for a model costs next to nothing."""
    workers: Literal["threads", "processes"] = "threads"
    """`threads` for models that are waited for; `processes` for tasks that compute here, about one per core."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sweeping:
    """How a sweep is run."""

    jobs: int = 1
    workers: Literal["threads", "processes"] = "threads"
    budget: SweepBudget = Field(default_factory=SweepBudget)
    launcher: str = ""
    """Class of the Hydra launcher that runs the cells; empty: looper does."""

    @classmethod
    def of(cls, master: Mapping[str, Any]) -> "Sweeping":
        """From the settings `jobs`, `workers`, `sweep_budget` and `hydra/launcher`. Raises ConfigError."""
        launcher = dict(master["hydra"]["launcher"])
        target = str(launcher.pop("_target_", BASIC))
        native = launcher if target == NATIVE else {}
        given = {key: master.get(key) for key in ("jobs", "workers") if master.get(key) is not None}
        if target not in (BASIC, NATIVE) and given:
            raise ConfigError(f"{', '.join(given)}: the launcher has its own settings: hydra.launcher.NAME=...")
        found = build(Native, "", {**native, **given})
        _refuse_threads(found)
        budget = build(SweepBudget, "sweep_budget", dict(master.get("sweep_budget") or {}))
        other = "" if target in (BASIC, NATIVE) else target
        return cls(jobs=found.jobs, workers=found.workers, budget=budget, launcher=other)

    @property
    def inline(self) -> bool:
        """Whether cells run one after the other in the main thread, which hears of Ctrl-C at once."""
        return self.jobs == 1 and self.workers == "threads"

    @contextmanager
    def executing(self) -> Iterator[Execute]:
        """What runs a cell, in this process or another."""
        if self.workers == "threads":
            yield run_cell
            return
        from looper.sweeps.worker import Workers

        workers = Workers()
        try:
            yield workers.run
        finally:
            workers.close()


def _refuse_threads(how: Native) -> None:
    """Python before 3.11.5 loses count when two threads parse Python at once (python/cpython#106905): SystemError."""
    if sys.version_info < (3, 11, 5) and how.jobs > 1 and how.workers == "threads":
        raise ConfigError(
            f"jobs={how.jobs}: in this Python ({platform.python_version()}) threads that parse programs disturb each "
            "other; give workers=processes, or use 3.11.5 or newer."
        )


def refuse_alone(config: Mapping[str, Any]) -> None:
    """Raises ConfigError for settings of a sweep given to a single run."""
    capped = any(cap is not None for cap in (config.get("sweep_budget") or {}).values())
    if config.get("sweep") is not None:
        raise ConfigError("sweep: this names the folder of a sweep; add -m, or leave it out.")
    if capped:
        raise ConfigError("sweep_budget: this caps all runs of a sweep together; add -m, or give budget.usd=....")
    if config.get("jobs") is not None or config.get("workers") is not None:
        raise ConfigError("jobs, workers: these are for the runs of a sweep; add -m, or leave them out.")


def refuse_unattended(config: Mapping[str, Any]) -> None:
    """Raises ConfigError if every run would pause for a confirmation that nobody is there to give."""
    loop, agents = config.get("loop") or {}, config.get("agents") or {}
    if confirming.asks(loop, config.get("confirm"), agents) and not sys.stdin.isatty():
        raise ConfigError(
            "confirm: the runs of this sweep ask for a confirmation of their criteria before they start, and there is "
            "no terminal to ask on; give confirm=yes."
        )


def check(config: Mapping[str, Any]) -> None:
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
