"""Answers that were given before, by step key: of a run's history.jsonl, or of a file that `record=PATH` wrote.

A recording file is JSON Lines: a header, then a line per answer with the hash of the prompt that it answered. An answer
to a prompt that has changed since is not given.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError, InvalidAnswer
from looper.journal import Event, load_payload, read
from looper.types import STRICT, Call, Question, Reply

AGAIN = "answer it anew with model=human record=FILE, or with a model (model=PROVIDER/NAME record=FILE)"
"""What to do about a recording that does not fit."""


class Head(BaseModel, extra="forbid"):
    """The first line of a recording file."""

    recording: Literal[1] = 1
    """Version of the format."""
    task: str = ""
    design: str = ""
    made: str = ""
    """Date of the first answer, ISO 8601."""
    by: str = ""
    """Who filled the roles when it was made, e.g. `model:openai/gpt-4o, human`."""
    note: str = ""
    run: str = ""
    """The run that writes it; only that one may go on with it."""


class Line(BaseModel, extra="forbid"):
    """One answer of a recording file."""

    key: str = Field(min_length=1)
    """Where in the run it was asked."""
    role: str = ""
    step: str = ""
    prompt: str = ""
    """SHA-256 of the rendered messages (`prompt.Templates.digest`); empty: not known, so not compared."""
    answer: Any
    by: str = ""
    """Who gave it when it was recorded."""
    said: str = ""
    """The raw words behind it, where they are not the answer itself."""


def head_of(file: Path) -> Head | None:
    """The header of a recording file; None if it is not one. Raises ConfigError for one of another version."""
    with file.open("rb") as lines:
        first = lines.readline()
    try:
        data = json.loads(first)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "recording" not in data:
        return None
    try:
        return Head.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{file}: its first line is not the header of a recording that this looper knows.") from error


def lines_of(file: Path) -> list[Line]:
    """The answers of a recording file. Raises ConfigError for a line that is none, or a question that comes twice.

    A step may have several answers to different prompts, where what was said before decides what is asked.
    """
    found: dict[tuple[str, str], Line] = {}
    for number, text in enumerate(file.read_bytes().split(b"\n")[1:], 2):
        if not text.strip():
            continue
        try:
            line = Line.model_validate(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{file}: line {number} is not an answer of a recording; mend or remove it.") from error
        if (line.key, line.prompt) in found:
            raise ConfigError(f"{file}: line {number} answers {line.key} a second time; remove one of the two.")
        found[line.key, line.prompt] = line
    return list(found.values())


def speaks(path: Path, role: str, steps: Sequence[str]) -> bool:
    """Whether a recording holds answers of this role, which is asked these steps. False for what is no recording."""
    file = path / "history.jsonl" if path.is_dir() else path
    if not file.is_file():
        return False
    if head_of(file) is not None:
        return any(line.role == role for line in lines_of(file))
    return any(event.step in steps and event.status == "ok" for event in read(file).events if event.key)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Recording:
    """Plays a recording. It is labelled so wherever its answers are shown; they cost units as a model's do, no USD."""

    path: str
    """A run's folder, its history.jsonl, or a file that `record=PATH` wrote."""
    system: str = ""
    """Jinja2 template of the system text, as a model in the role would have it."""
    prompt: str = ""
    """Jinja2 template of the question, as a model in the role would have it."""
    prompts: dict[str, Any] = Field(default_factory=dict)
    """Templates by step or role, before `system` and `prompt`."""

    @cached_property
    def kind(self) -> str:
        """What its answers are priced as: those of a policy stay cheap, so that a recorded run can be paid again."""
        if self._head is not None:
            return "recording"
        return "policy" if {event.by for event in self._steps.values() if event.by} == {"policy"} else "recording"

    @cached_property
    def _file(self) -> Path:
        path = Path(self.path)
        file = path / "history.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise ConfigError(
                f"model.path: there is no recording at {self.path}; give a run folder, a history.jsonl, or a file that "
                "record=FILE wrote."
            )
        return file

    @cached_property
    def _head(self) -> Head | None:
        return head_of(self._file)

    @cached_property
    def _lines(self) -> Mapping[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for line in lines_of(self._file):
            found.setdefault(line.key, []).append(line)
        return found

    @cached_property
    def _steps(self) -> Mapping[str, Event]:
        return {event.key: event for event in read(self._file).events if event.key and event.status == "ok"}

    def answer(self, question: Question) -> Reply:
        """The recorded answer. Raises InvalidAnswer if there is none, or if it answered another prompt."""
        reply = self._of_run(question) if self._head is None else self._of_file(question)
        try:
            value = question.returns.model_validate(reply.value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "answer"
            raise InvalidAnswer(
                f"{question.key}: what the recording {self.path} holds is no answer to it any more "
                f"({where}: {first['msg']}); {AGAIN}."
            ) from error
        return reply.model_copy(update={"value": value})

    def _of_run(self, question: Question) -> Reply:
        event = self._steps.get(question.key)
        if event is None:
            raise self._missing(question)
        return Reply(
            value=load_payload(self._file.parent, event), calls=_unpaid(event.calls), said=event.said, by="recording"
        )

    def _of_file(self, question: Question) -> Reply:
        lines = self._lines.get(question.key, [])
        if not lines:
            raise self._missing(question)
        digest = self._digest(question) if any(line.prompt for line in lines) else ""
        line = next((line for line in lines if line.prompt in ("", digest)), None)
        if line is None:
            made = f" on {self._head.made}" if self._head and self._head.made else ""
            raise InvalidAnswer(
                f"{question.key}: the recording {self.path} is stale: the prompt was another one when it was "
                f"made{made}; words or settings have changed, or a person answered otherwise; {AGAIN}."
            )
        return Reply(value=line.answer, said=line.said, by="recording")

    def _digest(self, question: Question) -> str:
        from looper.agents.prompt import Templates

        return Templates(system=self.system, prompt=self.prompt, prompts=self.prompts).digest(question)

    def _missing(self, question: Question) -> InvalidAnswer:
        return InvalidAnswer(
            f"{question.key}: the recording {self.path} has no such step; design, task or settings differ from those "
            f"it was made with. Restore them, or {AGAIN}."
        )


def _unpaid(calls: list[Call]) -> list[Call]:
    """The calls behind a recorded answer, which cost nothing now."""
    return [call.model_copy(update={"usd": 0.0}) for call in calls]
