"""Who fills which role: from the names in the configuration to agents (SPEC 0.8)."""

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from looper.agents.human import Human
from looper.agents.policy import Policy
from looper.agents.recording import Recording
from looper.agents.simulated import Simulated
from looper.errors import ConfigError
from looper.types import Agent, Question

BUILT_IN = ("offline", "policy", "simulated", "human", "recording")
"""Fillers that are not models; any other name is a LiteLLM model name."""


@dataclass
class Seats:
    """A `Cast` made from configuration; agents are built when they are first asked, so that nothing heavy loads early."""

    model: Mapping[str, Any]
    """The setting that fills all roles: `name` and what that kind of filler takes."""
    roles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings by role, over those of `model`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """People's answers by step key."""
    terminal: Callable[[Question], str] | None = None
    _made: dict[tuple[str, str], Agent] = field(default_factory=dict)

    def agent(self, role: str, step: str, task: Any) -> Agent:
        settings = {**self.model, **self.roles.get(role, {})}
        name = settings.get("model", settings["name"])
        if name == "offline":
            return self._offline(role, step, task, settings)
        if (role, name) not in self._made:
            prompts = {**(getattr(task, "prompts", None) or {}), **(settings.get("prompts") or {})}
            self._made[role, name] = self._make(role, name, {**settings, "prompts": prompts})
        return self._made[role, name]

    def _offline(self, role: str, step: str, task: Any, settings: Mapping[str, Any]) -> Agent:
        """The task's own policy where it has one, else a shipped recording of the task."""
        if task.policy(step) is not None:
            return Policy()
        recording = settings.get("path") or getattr(task, "recording", None)
        if recording:
            return Recording(path=str(recording))
        raise ConfigError(
            f"model=offline: nobody can fill the role `{role}` for `{step}` on this task without a model. "
            f"Give one: model=openai/..., anthropic/..., ollama/..., or agents.{role}.model=human."
        )

    def _make(self, role: str, name: str, settings: Mapping[str, Any]) -> Agent:
        own = {key: value for key, value in settings.items() if key not in ("name", "model")}
        if name == "policy":
            return Policy()
        if name == "human":
            return Human(self.answers, self.terminal)
        kinds: dict[str, Any] = {"simulated": Simulated, "recording": Recording}
        if name in kinds:
            known = {field.name for field in dataclasses.fields(kinds[name])}
            return build(kinds[name], f"agents.{role}", {key: value for key, value in own.items() if key in known})
        return self._model(role, name, own)

    def _model(self, role: str, name: str, own: Mapping[str, Any]) -> Agent:
        from looper.agents.model import Model

        if "/" not in name:
            near = difflib.get_close_matches(name, BUILT_IN, 1)
            hint = f"did you mean `{near[0]}`?" if near else "a model is given as provider/name, e.g. openai/gpt-4o-mini."
            raise ConfigError(f"model `{name}` is not known: {hint} Others: {', '.join(BUILT_IN)}.")
        known = {field.name for field in dataclasses.fields(Model)}
        return build(Model, f"agents.{role}", {"name": name, **{k: v for k, v in own.items() if k in known}})


def build(kind: Any, where: str, settings: Mapping[str, Any]) -> Any:
    """A strict object from settings; one sentence with the key if they do not fit."""
    try:
        return kind(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where}.{key}: {first['msg']} (given: {first.get('input')!r}).") from error
