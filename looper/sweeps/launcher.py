"""Cells run by one of Hydra's launchers (joblib, submitit, ...): looper still says which cells there are to run.

Hydra's launchers pickle a function and compose each cell's settings anew where it runs; what looper registers with
Hydra in its own process is not known there. So all paths are settled before, and the function needs nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict

from looper.complaints import complaint
from looper.errors import ConfigError
from looper.journal import Event
from looper.sweeps.cell import Cell, ended_before, not_run, run_cell, settings_of
from looper.sweeps.names import cell_name
from looper.types import Question

NAMES = ("run_id", "sweep_id", "cell_id")
"""Looper's resolvers, in the settings of Hydra's folders."""


def _settled() -> str:
    return "settled"


@dataclass
class Remote:
    """Runs one cell wherever the launcher has brought it; its row is what it returns."""

    folder: str
    """The sweep's."""

    def __call__(self, config: DictConfig) -> dict[str, Any]:
        hydra = HydraConfig.get()
        base = Path(self.folder, cell_name(list(hydra.overrides.task)))
        shown = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        settings = OmegaConf.to_container(shown, resolve=True, throw_on_missing=True)
        choices = {key: str(value) for key, value in hydra.runtime.choices.items()}
        return run_cell(Cell(str(base), config=settings_of(cast(dict[str, Any], settings)), choices=choices), Nobody())


class Nobody:
    """A watcher where nobody watches: MLflow's mirror is told of the folders beforehand, the rows come at the end."""

    def follow(self, cell: Cell, folder: Path) -> None: ...

    def spend(self, cell: Cell, event: Event) -> None: ...

    def terminal(self) -> Callable[[Question], str] | None:
        return None


def launch_all(
    master: DictConfig, folder: Path, cells: Sequence[tuple[Cell, list[str]]], done: Callable[[Cell, dict], None]
) -> None:
    """Hand cells with their overrides to the launcher that `master` names, and wait for all. Raises ConfigError.

    Cells that have ended before, and those that cannot be run, are not handed over.
    """
    waiting: list[tuple[Cell, list[str]]] = []
    for cell, overrides in cells:
        try:
            row = ended_before(cell)
        except Exception as error:  # as in `run_cell`: what keeps one cell from running does not stop the others
            done(cell, not_run(cell, complaint(error)))
            continue
        if row:
            done(cell, row)
        else:
            waiting.append((cell, overrides))
    if not waiting:
        return
    for name in NAMES:  # they are pickled along, and the session that they belong to cannot be
        OmegaConf.register_new_resolver(name, _settled, replace=True)
    launcher = _launcher(settled(master, folder), folder)
    returned: Sequence[JobReturn] = launcher.launch([overrides for _, overrides in waiting], initial_job_idx=0)
    for (cell, _), job in zip(waiting, returned, strict=True):
        done(cell, _row(cell, job))


def settled(master: DictConfig, folder: Path) -> DictConfig:
    """The sweep's settings with plain paths, for every composition that starts from them."""
    master = master.copy()
    OmegaConf.set_readonly(master.hydra, False)
    with open_dict(master.hydra):
        master.hydra.sweep.dir, master.hydra.sweep.subdir = str(folder), "."
        paths = [f"hydra.sweep.dir='{folder}'", "hydra.sweep.subdir=."]
        master.hydra.overrides.hydra = [*master.hydra.overrides.hydra, *paths]
    return master


def _launcher(master: DictConfig, folder: Path) -> Any:
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(master))
    HydraConfig.instance().set_config(master)
    return Plugins.instance().instantiate_launcher(
        hydra_context=context, task_function=Remote(str(folder)), config=master
    )


def _row(cell: Cell, job: JobReturn) -> dict[str, Any]:
    """The cell's row; a job that broke outside of the cell is one that did not run."""
    if job.status is not JobStatus.COMPLETED:
        return not_run(cell, f"the launcher's job has failed ({job._return_value})")
    value = job.return_value
    if not isinstance(value, Mapping):
        raise ConfigError(f"hydra/launcher: it returned {type(value).__name__} for a cell, and no row.")
    return {**value, **cell.labels}
