"""Thousands of simulated runs in one process: the kernel's own loops, without a folder, MLflow or Hydra for each.

    config = composed("+task=sim", "loop=reflex")            # composed once
    runs = simulate(config["task"], config["loop"], config["budget"], range(5), range(1, 21))

A simulation: every row is labelled so (`synthetic`).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from looper.agents.cast import Seats
from looper.budget import Budget, Ledger
from looper.build import instantiate
from looper.catalogue import shipped
from looper.errors import ConfigError
from looper.execution import execute
from looper.journal import Journal
from looper.run import Run
from looper.stage import Stage
from looper.tasks.sim.task import Sim
from looper.types import Outcome

if TYPE_CHECKING:
    import pandas as pd

ACCOUNTS = ("inner", "outer", "usd", "tokens", "calls")
MODEL: Mapping[str, Any] = {"name": "simulated", "skill": 1.0}
"""Who fills all roles if nobody is named: full skill, no tokens."""


def composed(*overrides: str) -> dict[str, Any]:
    """Looper's own configuration with these overrides, as plain data. Raises ConfigError for what does not compose."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(shipped()), version_base="1.3"):
            data = OmegaConf.to_container(compose("config", list(overrides)), resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"{' '.join(overrides)}: does not compose ({error}).") from error
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


def simulate(
    task_settings: Mapping[str, Any],
    loop_settings: Any,
    budget: Budget | Mapping[str, Any],
    seeds: Iterable[int],
    instances: Iterable[int],
    *,
    model: Mapping[str, Any] = MODEL,
    agents: Mapping[str, Any] | None = None,
    label: str = "",
) -> "pd.DataFrame":
    """One row for each instance and seed, with the columns that `looper.lab.statistics` reads.

    `loop_settings`: those of a design, or the design itself, as within an outer loop.

    `model` fills all roles and `agents` single ones, as in a configuration; `label` names the arm (default: the
    design). `seconds` are those that calls say they took, one after the other. A run that fails has earned a 0.
    """
    import pandas as pd

    loop = instantiate(dict(loop_settings), "loop") if isinstance(loop_settings, Mapping) else loop_settings
    money = budget if isinstance(budget, Budget) else instantiate(dict(budget), "budget")
    roles = {**getattr(loop, "seats", {}), **(agents or {})}
    drawn = list(seeds)
    rows = [
        _row(_task(task_settings, instance, seed), loop, money, model, roles, seed, label)
        for instance in instances
        for seed in drawn
    ]
    return pd.DataFrame(rows)


def _task(settings: Mapping[str, Any], instance: int, seed: int) -> Sim:
    """Raises ConfigError for a task that is no simulation."""
    target = {"_target_": f"{Sim.__module__}.{Sim.__name__}"}
    task = instantiate({**target, **settings, "instance": instance, "seed": seed}, "task")
    if not isinstance(task, Sim):
        raise ConfigError(f"task: {type(task).__name__} cannot be simulated here; only `sim` has a planted truth.")
    return task


def _row(
    task: Sim, loop: Any, budget: Budget, model: Mapping[str, Any], roles: Mapping[str, Any], seed: int, label: str
) -> dict[str, Any]:
    journal, ledger = Journal(), Ledger(budget)
    cast = Seats(model, roles, confirmed=True, design=loop)
    stage = Stage(task, cast, journal, ledger, seed=seed, events=getattr(loop, "events", {}))
    outcome = execute(loop, Run(stage))
    design, spent = label or loop.name, ledger.overall()
    gate, hidden = scores(outcome)
    return {
        "run": f"{design}-{task.alias}-{seed}", "task": task.alias, "design": design, "label": design, "seed": seed,
        "gate_score": gate, "passed": outcome.passed, "holdout": hidden, "score": hidden,
        **{account: spent.get(account, 0.0) for account in ACCOUNTS},
        "seconds": sum(call.seconds for event in journal.events if event.key for call in _paid(event)),
        "status": outcome.status, "reason": outcome.reason, "iterations": stage.iteration, "synthetic": "simulation",
    }  # fmt: skip


def _paid(event: Any) -> list[Any]:
    """The calls of a finished step; those of its failed attempts are among them."""
    return [] if event.event in ("call_started", "call_done") else event.calls


def scores(outcome: Outcome) -> tuple[float, float]:
    """Gate and holdout score of a run; 0 where it broke down before there was any (intention to treat)."""
    holdout = outcome.facts.get("holdout") or {}
    return outcome.score or 0.0, float(holdout.get("score", 0.0))
