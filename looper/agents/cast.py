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
from looper.build import explain
from looper.errors import ConfigError
from looper.types import Agent, Question

BUILT_IN = ("offline", "policy", "simulated", "human", "recording")
"""Fillers that are not models; any other name is a LiteLLM model name."""


@dataclass
class Seats:
    """A `Cast` made from configuration; agents are built when they are first asked: nothing heavy loads early."""

    model: Mapping[str, Any]
    """The setting that fills all roles: `name` and what that kind of filler takes."""
    roles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings by role, over those of `model`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """People's answers by step key."""
    terminal: Callable[[Question], str] | None = None
    _made: dict[tuple[str, str], Agent] = field(default_factory=dict)

    def agent(self, role: str, step: str, task: Any) -> Agent:
        own = self.roles.get(role, {})
        name = own.get("model", self.model["name"])
        if name == "offline":
            return self._offline(role, step, task)
        if (role, name) not in self._made:
            self._made[role, name] = self._make(role, name, task)
        return self._made[role, name]

    def _offline(self, role: str, step: str, task: Any) -> Agent:
        """The task's own policy where it has one, else a shipped recording of the task."""
        if task.policy(step) is not None:
            return Policy()
        recording = self.model.get("path") or getattr(task, "recording", None)
        if recording:
            return Recording(path=str(recording))
        raise ConfigError(
            f"model=offline: nobody can fill the role `{role}` for `{step}` on this task without a model. "
            f"Give one: model=openai/..., anthropic/..., ollama/..., or agents.{role}.model=human."
        )

    def _make(self, role: str, name: str, task: Any) -> Agent:
        if name == "policy":
            return Policy()
        if name == "human":
            return Human(self.answers, self.terminal)
        if name == "simulated":
            return build(Simulated, *self._settings(role, Simulated))
        if name == "recording":
            return build(Recording, *self._settings(role, Recording))
        return self._model(role, name, task)

    def _model(self, role: str, name: str, task: Any) -> Agent:
        from looper.agents.model import Model

        if "/" not in name:
            near = difflib.get_close_matches(name, BUILT_IN, 1)
            form = "a model is given as provider/name, e.g. openai/gpt-4o-mini."
            hint = f"did you mean `{near[0]}`?" if near else form
            raise ConfigError(f"model `{name}` is not known: {hint} Others: {', '.join(BUILT_IN)}.")
        where, settings = self._settings(role, Model)
        prompts = {**(getattr(task, "prompts", None) or {}), **(settings.get("prompts") or {})}
        return build(Model, where, {**settings, "name": name, "prompts": prompts})

    def _settings(self, role: str, kind: Any) -> tuple[str, dict[str, Any]]:
        """The group's settings, if the role did not change to another kind of filler, under the role's own."""
        own = {key: value for key, value in self.roles.get(role, {}).items() if key != "model"}
        known = {field.name for field in dataclasses.fields(kind)}
        group = {key: value for key, value in self.model.items() if key != "name"}
        if "model" in self.roles.get(role, {}):
            group = {key: value for key, value in group.items() if key in known}
        where = "model" if not own else f"agents.{role}"
        return where, {**group, **own}


def build(kind: Any, where: str, settings: Mapping[str, Any]) -> Any:
    """A strict object from settings; one sentence with the key if they do not fit."""
    try:
        return kind(**settings)
    except ValidationError as error:
        raise ConfigError(explain(error, where, kind)) from error
