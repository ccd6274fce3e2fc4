"""The cells of a multirun: every combination of the swept values, composed one after the other in this process.

Hydra's own sweeper composes every cell twice, the first time to find mistakes before anything runs, and knows neither
which cells there are already nor how to end early. Here a cell for every combination of parts is composed beforehand:
values of settings cannot make a composition fail that their keys did not.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from looper.complaints import hydra_complaint
from looper.errors import ConfigError

Job = Callable[[DictConfig, Path], None]
"""Runs one cell: its settings, and the folder it is to use."""


class Conductor(Protocol):
    """Whoever is told of the cells before they run."""

    def name(self, given: object, overrides: Sequence[str]) -> None: ...

    def inspect(self, config: DictConfig) -> None:
        """The settings of a kind of cell, before any cell runs. Raises ConfigError if they cannot be run in a sweep."""
        ...

    def sweeping(self, folder: Path, cells: Sequence[Sequence[str]]) -> AbstractContextManager[None]: ...

    def begin(self, overrides: Sequence[str]) -> bool:
        """The next cell; whether it is to be run."""
        ...

    def refuse(self, error: Exception) -> None:
        """The cell that was begun cannot be composed."""
        ...


def sweep(conf: Path, overrides: Sequence[str], conductor: Conductor, job: Job) -> None:
    """Run every cell; one that cannot be composed does not stop the others. Raises what Hydra raises beforehand."""
    with initialize_config_dir(str(conf), job_name="looper", version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        master = hydra.compose_config("config", list(overrides), RunMode.MULTIRUN, with_log_configuration=False)
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(master)
        try:
            _all(hydra.config_loader, master, conductor, job)
        finally:
            HydraConfig.instance().cfg = before


def _all(loader: ConfigLoader, master: DictConfig, conductor: Conductor, job: Job) -> None:
    own = list(master.hydra.overrides.task)
    given = [*(f"{key}={value}" for key, value in (master.hydra.sweeper.params or {}).items()), *own]
    axes = _axes(OverridesParser.create(config_loader=loader).parse_overrides(given))
    for cell in _kinds(loader, axes):
        conductor.inspect(loader.load_sweep_config(master, cell))
    cells = [list(cell) for cell in itertools.product(*axes.values())]
    conductor.name(master.get("sweep"), own)
    with conductor.sweeping(Path(master.hydra.sweep.dir), cells):
        for number, cell in enumerate(cells):
            if not conductor.begin(cell):
                return
            try:
                config = loader.load_sweep_config(master, cell)
            except (HydraException, OmegaConfBaseException) as error:
                conductor.refuse(hydra_complaint(error))
            else:
                _one(config, number, job)


def _one(config: DictConfig, number: int, job: Job) -> None:
    with open_dict(config.hydra):
        config.hydra.job.num, config.hydra.job.id = number, str(number)
    HydraConfig.instance().set_config(config)
    folder = Path(config.hydra.sweep.dir, str(config.hydra.sweep.subdir))
    job(OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]), folder.absolute())


def _axes(overrides: Sequence[Override]) -> dict[str, list[str]]:
    """The values of each key, as overrides; a later one of the same key replaces an earlier one. Raises ConfigError."""
    axes: dict[str, list[str]] = {}
    for override in overrides:
        key = override.get_key_element()
        if not override.is_sweep_override():
            axes[key] = [f"{key}={override.get_value_element_as_str()}" if override.value_type else key]
        elif override.is_discrete_sweep():
            axes[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            raise ConfigError(f"{override.input_line}: a range without steps; list the values, or range(FROM,TO,STEP).")
    return axes


def _kinds(loader: ConfigLoader, axes: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """A cell for every combination of parts, with the first value of every other key."""
    parts = {key for key, values in axes.items() if len(values) > 1 and _is_group(loader, key)}
    for cell in itertools.product(*(values if key in parts else values[:1] for key, values in axes.items())):
        yield list(cell)


def _is_group(loader: ConfigLoader, key: str) -> bool:
    name = key.lstrip("+~").partition("@")[0]
    return "." not in name and bool(loader.get_group_options(name))
