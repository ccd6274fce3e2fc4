"""Who fills which role: from the names in the configuration to agents (SPEC 0.8)."""

import dataclasses
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from looper.agents import ablated, confirming
from looper.agents.confirming import Confirming
from looper.agents.human import Human
from looper.agents.policy import Policy, policy_of
from looper.agents.recorder import Recorder
from looper.agents.recording import Recording, head_of, speaks
from looper.agents.simulated import Player, Simulated
from looper.build import explain
from looper.errors import ConfigError
from looper.types import Agent, Question

BUILT_IN = ("offline", "policy", "simulated", "human", "recording")
"""Fillers that are not models; any other name is a LiteLLM model name."""
WORDS = ("system", "prompt", "prompts")
"""Settings of a role that say how it is asked, whoever fills it."""
NOT_HIS = ("model", ablated.SETTING)
"""Settings of a role that are not those of who fills it."""


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
    confirmed: bool = False
    """The setting `confirm=yes`."""
    recorder: Recorder | None = None
    """Where answers of models and people are written down."""
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Questions that people were asked and did not answer, of all branches."""
    refused: list[ConfigError] = field(default_factory=list)
    """Answers of people that did not fit, of all branches."""
    design: Any = None
    """The design that is run: its name (a recording of another one has no answers for it), the prompts, policies and
    simulations of questions that are its own."""
    _made: dict[tuple[str, str], Agent] = field(default_factory=dict)

    def agent(self, role: str, step: str, task: Any) -> Agent:
        ablation = ablated.of_role(self.roles.get(role), step)
        if ablation is None:
            return self._filled(role, step, task)
        if (role, f"{step}, {ablation}") not in self._made:
            self._made[role, f"{step}, {ablation}"] = self._ablated(ablation, role, step, task)
        return self._made[role, f"{step}, {ablation}"]

    def _ablated(self, ablation: ablated.Ablation, role: str, step: str, task: Any) -> Agent:
        """Whoever stands in for a role; an oracle costs what a simulation of the role would."""

        def simulation() -> Simulated:
            played = self._filler(role, step, task) == "simulated"
            return build(Simulated, *self._settings(role, Simulated)) if played else Simulated()

        return ablated.stand_in(
            ablation, step, task, self.design, lambda: self._filled(role, step, task), simulation
        )  # fmt: skip

    def _filled(self, role: str, step: str, task: Any) -> Agent:
        name = self._filler(role, step, task)
        if (role, name) not in self._made:
            agent = self._make(role, name, step, task)
            if self.recorder is not None and name != "policy":
                agent = self.recorder.wrap(agent, self._templates(role, task))
            self._made[role, name] = agent
        return self._made[role, name]

    def _filler(self, role: str, step: str, task: Any) -> str:
        """The name of who answers: offline is the task's own policy where it has one, else a shipped recording.

        A setup is confirmed by a person or `confirm=yes`, whoever fills all roles, unless the role has a filler of its
        own.
        """
        own = (self.roles.get(role) or {}).get("model")
        if own is not None and not isinstance(own, str):
            raise ConfigError(
                f"agents.{role}.model: a name is expected, such as `openai/gpt-4o` or `human`; settings stand beside "
                f"it (agents.{role}.temperature=...)."
            )
        if (role, step) == (confirming.ROLE, confirming.STEP) and own in (None, "offline"):
            return confirming.STEP
        name = own or self.model["name"]
        if own in (None, "offline") and role in getattr(self.design, "people", ()) and not self._plays(role, name):
            return "human"
        if name != "offline":
            return name
        return "policy" if self._has_policy(step, task) else "offline"

    def _plays(self, role: str, name: str) -> bool:
        """Whether who fills all roles fills that of a person too: a simulation, or a recording of that person."""
        if name != "recording":
            return name == "simulated"
        return speaks(Path(str(self.model.get("path"))), role, getattr(self.design, "steps", {}).get(role, ()))

    def _has_policy(self, step: str, task: Any) -> bool:
        """The task's own policy comes before its recording, the design's behind it."""
        if task.policy(step) is not None:
            return True
        return policy_of(task, self.design, step) is not None and not recording_for(self.model, task, self.design)

    def _make(self, role: str, name: str, step: str, task: Any) -> Agent:
        if name == confirming.STEP:
            return Confirming(self.confirmed, self.answers, self.terminal, self.waiting)
        if name == "policy":
            return Policy(self.design)
        if name == "offline":
            return self._offline(role, step, task)
        if name == "human":
            return Human(self.answers, self.terminal, self._templates(role, task), self.waiting, self.refused)
        if name == "simulated":
            return Player(build(Simulated, *self._settings(role, Simulated)), self.design)
        if name == "recording":
            where, settings = self._settings(role, Recording)
            return build(Recording, where, {**settings, **self._words(role, task)})
        return self._model(role, name, task)

    def _offline(self, role: str, step: str, task: Any) -> Recording:
        recording = shipped_recording(self.model, task)
        made = head_of(Path(recording)) if recording and Path(recording).is_file() else None
        if recording and not recording_for(self.model, task, self.design):
            assert made is not None
            raise ConfigError(
                f"model=offline: nobody can fill the role `{role}` for `{step}` on this task under "
                f"{said(self.design.name)}: its recording was made with {said(made.design)}. Take that one, or give a "
                f"model: model=openai/..., or agents.{role}.model=human."
            )
        if recording:
            return build(Recording, "model", {"path": recording, **self._words(role, task)})
        raise ConfigError(
            f"model=offline: nobody can fill the role `{role}` for `{step}` on this task without a model. "
            f"Give one: model=openai/..., anthropic/..., ollama/..., or agents.{role}.model=human."
        )

    def _model(self, role: str, name: str, task: Any) -> Agent:
        from looper.agents.model import Model

        if "/" not in name:
            near = difflib.get_close_matches(name, BUILT_IN, 1)
            form = "a model is given as provider/name, e.g. openai/gpt-4o-mini."
            hint = f"did you mean `{near[0]}`?" if near else form
            raise ConfigError(f"model `{name}` is not known: {hint} Others: {', '.join(BUILT_IN)}.")
        where, settings = self._settings(role, Model)
        return build(Model, where, {**settings, **self._words(role, task), "name": name})

    def _settings(self, role: str, kind: Any) -> tuple[str, dict[str, Any]]:
        """The group's settings, if the role did not change to another kind of filler, under the role's own."""
        known = {field.name for field in dataclasses.fields(kind)}
        given = self.roles.get(role) or {}
        own = {key: value for key, value in given.items() if key not in NOT_HIS and (key in known or key not in WORDS)}
        group = {key: value for key, value in self.model.items() if key != "name"}
        if "model" in given:
            group = {key: value for key, value in group.items() if key in known}
        where = "model" if not own else f"agents.{role}"
        return where, {**group, **own}

    def _words(self, role: str, task: Any) -> dict[str, Any]:
        """How the role is asked: the design's prompts, the task's, the group's settings, the role's own over them."""
        given: dict[str, Any] = {}
        for source in (self.model, self.roles.get(role) or {}):
            given |= {key: source[key] for key in WORDS if source.get(key) is not None}
        own = given.get("prompts") or {}
        theirs = {**(getattr(self.design, "prompts", None) or {}), **(getattr(task, "prompts", None) or {})}
        prompts = {**theirs, **own} if isinstance(own, Mapping) else own
        return {**given, "prompts": prompts}

    def _templates(self, role: str, task: Any) -> Any:
        from looper.agents.prompt import Templates

        return build(Templates, f"agents.{role}", self._words(role, task))


def said(design: str) -> str:
    """A design as it is given on the command line; `outer(inner)` is an outer loop and the design in it."""
    outer, bracket, inner = design.removesuffix(")").partition("(")
    return f"outer={outer} loop={inner}" if bracket else f"loop={design}"


def shipped_recording(model: Mapping[str, Any], task: Any) -> str | None:
    """What model=offline plays for roles without a policy: the recording that was named, else the task's own."""
    found = model.get("path") or getattr(task, "recording", None)
    return str(found) if found else None


def recording_for(model: Mapping[str, Any], task: Any, design: Any) -> str | None:
    """The shipped recording, if it was not made with another design."""
    recording = shipped_recording(model, task)
    made = head_of(Path(recording)) if recording and Path(recording).is_file() else None
    other = made is not None and design is not None and made.design not in ("", design.name)
    return None if other else recording


def who(config: Mapping[str, Any], role: str, steps: Sequence[str], task: Any, design: Any = None) -> tuple[str, str]:
    """Who will fill a role that is asked these steps, for people: `policy`, `recording`, ..., and what is known of it.

    Without steps it is not known which of the role's questions a policy of the task answers.
    """
    model = config.get("model") or {"name": "offline"}
    settings = {**model, **((config.get("agents") or {}).get(role) or {})}
    own = ((config.get("agents") or {}).get(role) or {}).get("model")
    name = str(own or model.get("name", "offline"))
    if role == confirming.ROLE and confirming.STEP in steps and own in (None, "offline"):
        return ("setting", confirming.BY_SETTING) if confirming.given(config.get("confirm")) else ("human", "asked")
    if role in getattr(design, "people", ()) and own in (None, "offline") and name not in ("simulated", "recording"):
        return "human", "asked if need be"
    if name != "offline":
        return name, {"recording": str(settings.get("path")), "simulated": f"skill {settings.get('skill', 0.6)}"}.get(
            name, ""
        )
    return _who_offline(model, steps, task, design)


def _who_offline(model: Mapping[str, Any], steps: Sequence[str], task: Any, design: Any) -> tuple[str, str]:
    recording = recording_for(model, task, design)
    played = [step for step in steps if task.policy(step) is None]
    if recording and (played or not steps):
        return ("recording" if steps and len(played) == len(steps) else "policy or recording"), recording
    return "policy", ""


def build(kind: Any, where: str, settings: Mapping[str, Any]) -> Any:
    """A strict object from settings; one sentence with the key if they do not fit."""
    try:
        return kind(**settings)
    except ValidationError as error:
        raise ConfigError(explain(error, where, kind)) from error
