"""The parts of a run: what a composed configuration builds, and what tells one run from another."""

import difflib
import hashlib
import importlib
import json
import os
import pkgutil
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import looper
from looper import loops
from looper.agents import ablated, confirming
from looper.budget import Budget
from looper.errors import ConfigError

PACKAGES = ("hydra-core", "pydantic", "litellm", "mlflow", "pandas")
NO_LOOP = {"learn", "recall", "escalation", "answers"}
"""Settings of an outer loop that may be given without one, in sweeps over both."""
SWEEP_ONLY = ("sweep", "sweep_budget", "jobs", "workers", "tune", "rivals")
"""Settings of a sweep, which its runs do not know."""
VOLATILE = ("outputs", "tracking", "confirm", "record", "hydra", "until", "holdout")
"""Settings that do not change what a run does: not part of its identity in comparisons."""


def user_packages() -> list[str]:
    """The user's own packages of which classes may be built: LOOPER_ALLOW, comma-separated."""
    return [name.strip() for name in os.environ.get("LOOPER_ALLOW", "").split(",") if name.strip()]


def hidden_on_all(config: Mapping[str, Any]) -> bool:
    """Whether `holdout` asks for hidden checks on every evaluated state. Raises ConfigError for an unknown word."""
    word = str(config.get("holdout", "final"))
    if word not in ("final", "all"):
        raise ConfigError(
            f"holdout={word}: final runs hidden checks on the result alone, all on every evaluated state too, once "
            "the run is over."
        )
    return word == "all"


@dataclass
class Parts:
    """What a configuration builds."""

    task: Any
    loop: Any
    budget: Budget
    sandbox: Any
    tracking: Any
    config: dict[str, Any]

    @property
    def identity(self) -> str:
        """Hash of the resolved settings that matter."""
        known = {key: value for key, value in self.config.items() if key not in VOLATILE}
        return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()[:16]


def build(config: Mapping[str, Any], allowed: Sequence[str] = ()) -> Parts:
    """Check and build every part. Raises ConfigError with the key that does not fit."""
    from looper.build import instantiate

    config = dict(config)
    seed = config.setdefault("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ConfigError(f"seed: a whole number from 0 on is needed (given: {seed!r}).")
    if not config.get("task"):
        raise ConfigError("no task: give one with +task=NAME; `python -m looper` lists them.")
    for key in ("task", "loop", "outer", "budget", "sandbox", "tracking"):
        config.setdefault(key, {})
    order = ("sandbox", "loop", "outer", "budget", "tracking", "task")
    built = {key: instantiate(config[key], key, allowed) for key in order}
    built["loop"] = _around(built["loop"], built.pop("outer"), config.get("until"))
    config["agents"] = {**getattr(built["loop"], "seats", {}), **(config.get("agents") or {})}
    _ablate(config, built)
    confirming.given(config.get("confirm"))
    hidden_on_all(config)
    if config.get("record") is not None:
        config["record"] = str(Path(str(config["record"])).absolute())  # a resume may come from another folder
    parts = Parts(**built, config=config)
    _check_roles(parts)
    return parts


def _ablate(config: dict[str, Any], built: dict[str, Any]) -> None:
    """One role left out, shuffled or played with the truth: among the settings of that role, and in the prices."""
    setting = config.get(ablated.SETTING)
    if setting is None:
        config.pop(ablated.SETTING, None)  # without it a run is what it was before there was such a setting
    config["agents"] = ablated.seated(setting, config["agents"], built["loop"], built["task"])
    built["budget"] = ablated.unpaid(built["budget"], setting, built["loop"], built["task"])


def _around(loop: Any, outer: Any, until: Any) -> Any:
    """The design, inside its outer loop if there is one. Raises ConfigError for settings of one that is not there."""
    if not isinstance(outer, Mapping):
        return outer.around(loop, until)
    if strange := sorted(outer.keys() - NO_LOOP):
        raise ConfigError(f"outer.{strange[0]}: there is no outer loop to set this of; give outer=gather_verify.")
    if until is not None:
        raise ConfigError(f"until={until}: there is no outer loop whose phase that could be; give outer=gather_verify.")
    return loop


def _check_roles(parts: Parts) -> None:
    """Refuse roles that no design has; one of another design than this run's is no mistake, sweeps set them for all."""
    own = {**getattr(parts.loop, "roles", {}), **getattr(parts.task, "roles", {})}
    strange = [role for role in parts.config.get("agents") or {} if own and role not in own]
    known = {*own, *_roles_of_designs()} if strange else set()
    for role in strange:
        if role not in known:
            near = difflib.get_close_matches(role, sorted(known), 1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise ConfigError(f"agents.{role}: {hint}{parts.loop.name} on this task has the roles {', '.join(own)}.")


def _roles_of_designs() -> set[str]:
    """The roles of every design that is shipped."""
    modules = [importlib.import_module(f"looper.loops.{found.name}") for found in pkgutil.iter_modules(loops.__path__)]
    designs = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    named = (getattr(design, "roles", None) for design in designs)
    return {role for roles in named if isinstance(roles, Mapping) for role in roles}


def versions() -> dict[str, str]:
    """What a run is made with: looper, Python and the packages that may change a result."""
    found = {"looper": looper.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
