"""A search over settings with Optuna, by ask and tell: each trial is some cells of an ordinary sweep."""

import fcntl
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from looper.console.blocks import columns
from looper.errors import ConfigError, RunLocked
from looper.folder import dump
from looper.journal import write_whole
from looper.sweeps.names import cell_name
from looper.sweeps.tuning.tune import Range, Tune, Unfinished, as_overrides, told, tune_of, value

FILE = "study.sqlite"
LOCK = ".study.lock"
BEST = 10
"""Trials of a front that are shown at most."""


class Tuner:
    """Says which cells come next, from what became of those before."""

    def __init__(
        self,
        wait: Callable[[], None],
        rows: Callable[[Sequence[str]], list[dict[str, Any]]],
        resize: Callable[[int], None],
    ):
        """`wait` until the cells that were begun have ended; `rows` of cells by their names; `resize` to so many."""
        self._wait, self._rows, self._resize = wait, rows, resize
        self.tune: Tune | None = None
        self.trials: list[dict[str, Any]] = []
        """What was told of each trial: number, values, params, state."""
        self.unfinished = False

    def declare(self, settings: Any) -> None:
        """What is searched. Raises ConfigError."""
        self.tune = tune_of(settings)

    @property
    def keys(self) -> list[str]:
        return list(self.tune.space) if self.tune else []

    def size(self, cells: int) -> int:
        """Cells of all trials."""
        assert self.tune is not None
        return self.tune.trials * cells

    def cells(self, folder: Path, cells: Sequence[Sequence[str]]) -> Iterator[list[str]]:
        """The cells of one trial after the other. Raises RunLocked if another process is at this search."""
        assert self.tune is not None
        with _alone(folder):
            study = opened(folder, self.tune)
            ended = sum(trial.state.is_finished() for trial in study.get_trials())
            self._resize(max(0, self.tune.trials - ended) * len(cells))
            for number, params in _trials(study, self.tune):
                overrides = as_overrides(params)
                own = [[*cell, *overrides] for cell in cells]
                yield from own
                self._wait()
                if not self._tell(study, number, params, [cell_name(cell) for cell in own]):
                    break
                self._write(folder, study)
            self._write(folder, study)

    def _tell(self, study: Any, number: int, params: Mapping[str, Any], names: Sequence[str]) -> bool:
        """Whether the trial has come to an end. One whose cells cannot run is told as failed."""
        assert self.tune is not None
        from optuna.trial import TrialState

        try:
            study.tell(number, value(self.tune, self._rows(names)))
        except Unfinished:
            self.unfinished = True
            return False
        except ConfigError:
            study.tell(number, state=TrialState.FAIL)
        return True

    def _write(self, folder: Path, study: Any) -> None:
        best = {trial.number for trial in study.best_trials}
        self.trials = [
            {
                "trial": trial.number, "state": trial.state.name.lower(), "values": trial.values,
                "best": trial.number in best, "settings": " ".join(as_overrides(trial.params)),
            }
            for trial in study.get_trials()
        ]  # fmt: skip
        write_whole(folder / "trials.json", dump(self.trials))

    def result(self, *, as_json: bool) -> str:
        """For standard output: the best trials with the settings to use, or all as JSON."""
        if as_json:
            return json.dumps(self.trials)
        assert self.tune is not None
        best = [one for one in self.trials if one["best"]][:BEST]
        if not best:
            return "no trial has ended."
        goal = self.tune.objective
        what = goal.score + (f", {goal.cost}" if goal.cost and not goal.weight else "")
        what += f" - {goal.weight:g} x {goal.cost}" if goal.weight else ""
        lines = columns(
            ("trial", what, "settings"), [[str(b["trial"]), told(b["values"]), b["settings"]] for b in best]
        )
        return "\n".join([*lines, "Compare the winner on tasks and seeds that the search has not seen."])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunLocked(f"{folder.name}: another process is at this search; give more jobs= there.") from error
        yield


def opened(folder: Path, tune: Tune) -> Any:
    """The study of a sweep's folder. Raises ConfigError without Optuna, or if it was made for another search."""
    optuna = library()
    storage = f"sqlite:///{(folder / FILE).absolute()}"
    made = asdict(tune) | {"trials": 0}
    study = optuna.create_study(
        storage=storage, study_name="tune", load_if_exists=True, directions=tune.objective.directions
    )
    before = study.user_attrs.get("search")
    if before is not None and before != json.loads(json.dumps(made)):
        raise ConfigError(
            f"tune: {folder.name} holds a search with another space or objective; give another sweep=NAME."
        )
    study.set_user_attr("search", made)
    study.sampler = optuna.samplers.TPESampler(seed=tune.seed + len(study.trials))
    return study


def library() -> Any:
    """Optuna, quiet. Raises ConfigError if it is not installed."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ConfigError("tune: needs Optuna: pip install 'looper[tune]'.") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _trials(study: Any, tune: Tune) -> Iterator[tuple[int, dict[str, Any]]]:
    """Trials that an earlier command has left open, then new ones."""
    from optuna.trial import TrialState

    for trial in study.get_trials(states=[TrialState.RUNNING]):
        if trial.params.keys() == tune.space.keys():
            yield trial.number, dict(trial.params)
        else:  # killed while it was asked for
            study.tell(trial.number, state=TrialState.FAIL)
    while len(study.trials) < tune.trials:
        trial = study.ask({key: distribution(space) for key, space in tune.space.items()})
        yield trial.number, {key: trial.params[key] for key in tune.space}


def distribution(space: Any) -> Any:
    """Optuna's words for a part of the space."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(space, Range):
        return CategoricalDistribution(space.choices)
    if isinstance(space.low, int) and isinstance(space.high, int) and not isinstance(space.step, float):
        return IntDistribution(space.low, space.high, log=space.log, step=int(space.step or 1))
    return FloatDistribution(space.low, space.high, log=space.log, step=space.step)
