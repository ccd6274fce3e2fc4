"""A model on loopback that plays the roles of a project's run from a script, and the command that runs against it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import Said, call
from model_server import Handler, ModelServer, completion

STEPS = {
    "You are the planner": "tasks", "Review a plan": "review_plan", "No test can tell": "review_work",
    "You are the tester": "test", "A task failed": "diagnose", "Verify that the goal": "verify",
    "You change a project": "code", "You plan how a project is changed": "plan",
}  # fmt: skip
"""Words of the system prompt by which a role knows what it is asked; a change in any other words is `code`."""
Answer = Mapping[str, Any]
Script = Mapping[str, "Sequence[Answer] | Callable[[str], Answer]"]
"""By step the answers in their order, the last one again and again; or a function of the prompt."""
SEAT = ("backoff=0.001", "schema=prompt")
FREE = "{input: 0.0, output: 0.0}"


@dataclass
class Model:
    """Who was asked what, and the server that asked."""

    script: Script
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, handler: Handler) -> None:
        system, *rest = (message["content"] for message in handler.book.requests[-1]["messages"])
        step = next((name for words, name in STEPS.items() if words in system), "code")
        number = len(self.prompts(step))
        self.asked.append((step, "\n".join(rest)))
        said = self.script[step]
        answer = said("\n".join(rest)) if callable(said) else said[min(number, len(said) - 1)]
        handler.send(completion(json.dumps(answer)))

    def prompts(self, step: str) -> list[str]:
        return [prompt for name, prompt in self.asked if name == step]


@dataclass
class Ran:
    """What a run by command left behind."""

    said: Said
    folder: Path
    model: Model

    @property
    def state(self) -> dict[str, Any]:
        return json.loads((self.folder / "run.json").read_text())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "history.jsonl").read_bytes().splitlines()]

    def notes(self, event: str) -> list[dict[str, Any]]:
        return [one["payload"] for one in self.events if one["event"] == event]

    @property
    def end(self) -> tuple[str, str]:
        outcome = self.state["outcome"]
        return outcome["status"], outcome["reason"]

    @property
    def detail(self) -> str:
        return self.state["outcome"]["facts"]["detail"]

    @property
    def violations(self) -> list[str]:
        """Names of all that code found in the coder's answers, in their order."""
        return [name for turn in self.notes("iteration_advanced") for name in turn["violations"]]

    @property
    def status(self) -> str:
        """What the command shows of the run when it is asked for its status."""
        return call("status", self.folder.name, f"outputs={self.folder.parent}").out


@contextmanager
def spoken(script: Script) -> Iterator[tuple[Model, list[str]]]:
    """The model and the settings that seat it in every role of the script."""
    model = Model(script)
    with ModelServer(model) as server:
        yield model, ["model=openai/test", f"model.base_url={server.url}", f"model.price={FREE}",
                     *(f"model.{one}" for one in SEAT)]  # fmt: skip


def ran(place: Path, workspace: Path, script: Script, *settings: str, loop: str = "workflow") -> Ran:
    """`looper +task=project ...` with a model in every role."""
    with spoken(script) as (model, seat):
        return commanded(place, workspace, *seat, *settings, loop=loop, model=model)


def coded(place: Path, workspace: Path, code: Any, *settings: str, loop: str = "workflow", role: str = "coder") -> Ran:
    """The same with a model as coder alone; policies fill the other roles."""
    model = Model({"code": code})
    with ModelServer(model) as server:
        own = (f"base_url={server.url}", "price.input=0.0", "price.output=0.0", *SEAT)
        seat = ["model=offline", f"agents.{role}.model=openai/test", *(f"+agents.{role}.{one}" for one in own)]
        return commanded(place, workspace, *seat, *settings, loop=loop, model=model)


def commanded(place: Path, workspace: Path, *settings: str, loop: str = "workflow", model: Model | None = None) -> Ran:
    outputs = place / "outputs"
    before = set(outputs.glob("*-*")) if outputs.exists() else set[Path]()
    said = call(
        "+task=project", f"task.workspace={workspace}", f"loop={loop}", "tracking=none", f"outputs={outputs}", *settings
    )
    made = sorted(set(outputs.glob("*-*")) - before)
    return Ran(said, made[0] if made else outputs, model or Model({}))


# Answers


def edits(*edits: Answer, why: str = "a change", **more: Any) -> Answer:
    return {"edits": list(edits), "why": why, **more}


def passage(path: str, find: str, replace: str) -> Answer:
    return {"kind": "passage", "path": path, "find": find, "replace": replace}


def file(path: str, text: str) -> Answer:
    return {"kind": "file", "path": path, "text": text}


def gone(path: str) -> Answer:
    return {"kind": "delete", "path": path}
