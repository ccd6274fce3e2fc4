"""The cells of a multirun: every combination of the swept values, composed one after the other in this process.

Hydra's own sweeper composes every cell twice, the first time to find mistakes before anything runs, and knows neither
which cells there are already nor how to end early. Here a cell for every combination of parts is composed beforehand:
values of settings cannot make a composition fail that their keys did not.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, cast

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

from looper.build import instantiate
from looper.complaints import hydra_complaint
from looper.errors import ConfigError
from looper.parts import user_packages
from looper.sweeps import rivals

Job = Callable[[DictConfig, Path], None]
"""Runs one cell: its composition, which is good until the next one is made, and the folder it is to use."""
KINDS = 32
"""Compositions that are kept at most, one for each combination of parts; each has some 3 MB."""
Order = Callable[[list[list[str]]], Iterable[list[str]]]
"""From the cells of a grid to those that are run, asked for one after the other."""


class Conductor(Protocol):
    """Whoever is told of the cells before they run."""

    def name(self, given: object, overrides: Sequence[str]) -> None: ...

    def inspect(self, config: DictConfig) -> None:
        """The settings of a kind of cell, before any cell runs. Raises ConfigError if they cannot be run in a sweep."""
        ...

    def compare_with(self, rivals: Sequence[str], left_out: str) -> None:
        """These designs were added to those of the command; why others could not be, if so."""
        ...

    def sweeping(self, folder: Path, cells: Sequence[Sequence[str]]) -> AbstractContextManager[None]: ...

    def begin(self, overrides: Sequence[str]) -> bool:
        """The next cell; whether it is to be run."""
        ...

    def refuse(self, error: Exception) -> None:
        """The cell that was begun cannot be composed."""
        ...


def sweep(
    conf: Path,
    overrides: Sequence[str],
    conductor: Conductor,
    job: Job,
    prepare: Callable[[DictConfig], None] = lambda master: None,
    order: Order | None = None,
) -> None:
    """Run every cell; one that cannot be composed does not stop the others. Raises what Hydra raises beforehand.

    A sweep over designs gets the trivial rivals that it lacks (SPEC 6.4). `prepare` is told the settings of the sweep
    itself before anything else happens; `order` says which cells come when, others than those of the grid too, and no
    rivals are added then.
    """
    with initialize_config_dir(str(conf), job_name="looper", version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        master = hydra.compose_config("config", list(overrides), RunMode.MULTIRUN, with_log_configuration=False)
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(master)
        try:
            prepare(master)
            _all(hydra.config_loader, master, conductor, job, order)
        finally:
            HydraConfig.instance().cfg = before


def _all(loader: ConfigLoader, master: DictConfig, conductor: Conductor, job: Job, order: Order | None) -> None:
    own = list(master.hydra.overrides.task)
    given = [*(f"{key}={value}" for key, value in (master.hydra.sweeper.params or {}).items()), *own]
    axes = _axes(OverridesParser.create(config_loader=loader).parse_overrides(given))
    conductor.name(master.get("sweep"), own)
    composer = Composer(loader, master, {key for key, values in axes.items() if len(values) > 1})
    cells = [list(cell) for cell in itertools.product(*axes.values())]
    kinds = []
    for around, cell in _kinds(loader, axes):
        conductor.inspect(config := composer.compose(cell))
        kinds.append(_kind(around, config))
    if order is None and rivals.wanted(master.get("rivals", True)):
        cells += _of_rivals(axes, kinds, composer, conductor)
    with conductor.sweeping(Path(master.hydra.sweep.dir), cells):
        for number, cell in enumerate(order(cells) if order else cells):
            if not conductor.begin(cell):
                return
            try:
                config = composer.compose(cell)
            except (HydraException, OmegaConfBaseException) as error:
                conductor.refuse(hydra_complaint(error))
            else:
                _one(config, number, job)


def _kind(around: frozenset[str], config: DictConfig) -> rivals.Kind:
    plain: Any = {key: OmegaConf.to_container(config[key]) for key in ("budget", "agents") if config.get(key)}
    return rivals.Kind(around, plain.get("budget", {}), plain.get("agents", {}), config.get("ablate") is not None)


def _of_rivals(
    axes: Mapping[str, list[str]], kinds: Sequence[rivals.Kind], composer: "Composer", conductor: Conductor
) -> list[list[str]]:
    """The cells of the rivals that the sweep lacks; rivals that its settings do not fit are left out, and told."""
    names = rivals.missing(axes, kinds)
    added = rivals.cells(axes, names, kinds)
    fit, told = list[str](), ""
    for name in names:
        try:
            config = composer.compose(next(cell for cell in added if cell[-1] == f"loop={name}"))
            instantiate(settings(config)["loop"], "loop", user_packages())
            fit.append(name)
        except (HydraException, OmegaConfBaseException, ConfigError) as error:
            told = str(error)
    if names:
        conductor.compare_with(fit, told)
    return [cell for cell in added if cell[-1].partition("=")[2] in fit]


def _one(config: DictConfig, number: int, job: Job) -> None:
    with open_dict(config.hydra):
        config.hydra.job.num, config.hydra.job.id = number, str(number)
    HydraConfig.instance().cfg = cast(Any, config)  # not set_config: its copy takes longer than all the rest
    folder = Path(config.hydra.sweep.dir, str(config.hydra.sweep.subdir))
    job(config, folder.absolute())


def settings(config: DictConfig) -> dict[str, Any]:
    """A composition as plain data, resolved, without Hydra's own part. Raises what OmegaConf raises."""
    own = {str(key): config[key] for key in config if key != "hydra"}
    return {key: OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value)
            else value for key, value in own.items()}  # fmt: skip


class Composer:
    """Composes cells. Where one differs from an earlier one of its kind in single numbers and words only, these are put
    into that composition: it takes 10 ms in place of 160 to 300, and the same settings come of it."""

    def __init__(self, loader: ConfigLoader, master: DictConfig, swept: set[str]):
        self.loader, self.master, self.swept = loader, master, swept
        self._made: dict[tuple[str, ...], tuple[list[str], DictConfig]] = {}
        """By kind: the cell that was composed last and its settings; the kind used last stands last."""
        self._parsed: dict[str, Override] = {}
        self._parts: dict[str, str] = {}
        """By override: its part in the name of a kind; only the key of one that is plain."""

    def compose(self, cell: list[str]) -> DictConfig:
        """The cell's settings, good until the next is composed. Raises what Hydra raises."""
        kind = tuple(self._part(text) for text in cell)
        known = self._made.pop(kind, None)  # a composition that fails is nothing to go on from
        config = self._updated(*known, cell) if known else self.loader.load_sweep_config(self.master, cell)
        self._made[kind] = (list(cell), config)
        if len(self._made) > KINDS:
            del self._made[next(iter(self._made))]
        return config

    def _updated(self, last: Sequence[str], config: DictConfig, cell: Sequence[str]) -> DictConfig:
        """The composition of the last cell of this kind, with what this cell has in its place."""
        for new in (self._override(new) for new, old in zip(cell, last, strict=True) if new != old):
            OmegaConf.update(config, new.get_key_element().lstrip("+"), new.value(), merge=True)
        with open_dict(config.hydra):
            config.hydra.overrides.task = list(cell)
        return config

    def _part(self, text: str) -> str:
        if text not in self._parts:
            override = self._override(text)
            self._parts[text] = override.get_key_element() if self._is_plain(override) else text
        return self._parts[text]

    def _override(self, text: str) -> Override:
        if text not in self._parsed:
            (self._parsed[text],) = OverridesParser.create(config_loader=self.loader).parse_overrides([text])
        return self._parsed[text]

    def _is_plain(self, override: Override) -> bool:
        key = override.get_key_element()
        plain = isinstance(override.value(), int | float | bool | str) and "${" not in str(override.value())
        nested = any(
            other != key and (other + ".").lstrip("+").startswith(key.lstrip("+") + ".") for other in self.swept
        )
        return plain and key in self.swept and not nested and "@" not in key and not _is_group(self.loader, key)


def _axes(overrides: Sequence[Override]) -> dict[str, list[str]]:
    """The values of each key, as overrides; a later one of the same key replaces an earlier one. Raises ConfigError.

    +KEY, ++KEY and KEY are one key; it keeps the sign that adds it where there is none yet.
    """
    axes: dict[str, tuple[str, list[str]]] = {}
    for override in overrides:
        bare = override.get_key_element().lstrip("+")
        key = max(override.get_key_element(), axes[bare][0] if bare in axes else "", key=len)
        if not override.is_sweep_override():
            axes[bare] = key, [f"{key}={override.get_value_element_as_str()}" if override.value_type else key]
        elif override.is_discrete_sweep():
            axes[bare] = key, [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            raise ConfigError(f"{override.input_line}: a range without steps; list the values, or range(FROM,TO,STEP).")
    return dict(axes.values())


def _kinds(loader: ConfigLoader, axes: Mapping[str, list[str]]) -> Iterator[tuple[frozenset[str], list[str]]]:
    """A cell for every combination of parts, with the first value of every other key; first what its parts are."""
    parts = {key for key, values in axes.items() if len(values) > 1 and _is_group(loader, key)}
    for cell in itertools.product(*(values if key in parts else values[:1] for key, values in axes.items())):
        chosen = zip(axes, cell, strict=True)
        yield frozenset(text for key, text in chosen if key in parts and key.lstrip("+") != "loop"), list(cell)


def _is_group(loader: ConfigLoader, key: str) -> bool:
    name = key.lstrip("+~").partition("@")[0]
    return "." not in name and bool(loader.get_group_options(name))
