"""`record=PATH`: what models and people answer in a run is written down, a line each, for `model=recording`."""

import json
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from looper.agents.recording import Head, Line, head_of, lines_of
from looper.errors import ConfigError, Paused
from looper.journal import Journal, sync_folder, write_whole
from looper.redact import redact, redact_data
from looper.types import Agent, Question, Reply

NOT_SAID = ("", "policy", "recording", "simulated", "confirm=yes")
"""Answers by these are not recorded: they are had again without a recording, or are one."""
NOTE = "Answers by step, written by record=FILE; model=recording model.path=FILE plays them."


class Recorder:
    """The recording of one run, synced line by line; a resumed run goes on with it. Safe for threads."""

    def __init__(self, path: Path, head: Head, journal: Journal):
        """Raises ConfigError if the file is not this run's, or lacks answers that the run has."""
        self.path, self._lock = path, threading.Lock()
        self._file: int | None = None
        self._size = self._lines = 0
        answered = {key for key, step in journal.steps.items() if step.status == "ok" and step.by not in NOT_SAID}
        if path.is_dir():
            raise ConfigError(f"record={path}: this is a folder; give the name of a file.")
        if path.is_file() and not path.read_bytes().strip():
            path.unlink()  # a process that died before its first word, or a name that was kept free
        if path.exists():
            self._go_on(head, journal)
        missing = sorted(answered - self._keys())
        if missing:
            raise ConfigError(
                f"record={path}: it lacks {len(missing)} answers that the run already has ({missing[0]}, ...); restore "
                "the file, or start a new run."
            )
        self._open(head)

    def _go_on(self, head: Head, journal: Journal) -> None:
        """Cut off what a killed process left: a torn line, and answers that its journal does not hold."""
        data = self.path.read_bytes()
        found = head_of(self.path)
        if not journal.events or found is None or found.run != head.run:
            raise self._not_ours()
        first, *rest = data.split(b"\n")[:-1]
        kept = [text for text in rest if self._holds(json.loads(text), journal)]
        whole = b"\n".join([first, *kept]) + b"\n"
        if whole != data:
            write_whole(self.path, whole)

    def _holds(self, line: Mapping[str, Any], journal: Journal) -> bool:
        """Whether the run has this answer. Raises ConfigError if it has another one."""
        step = journal.steps.get(line["key"])
        if step is not None and step.status == "ok" and journal.payload(step) != line["answer"]:
            raise self._not_ours()
        return step is not None

    def _not_ours(self) -> ConfigError:
        return ConfigError(
            f"record={self.path}: this file exists already and is not this run's; a recording is of one run: give "
            "another name, or remove it."
        )

    def _keys(self) -> set[str]:
        found = {line.key for line in lines_of(self.path)} if self.path.exists() else set()
        self._lines = len(found)
        return found

    def _open(self, head: Head) -> None:
        new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if new else 0)
            self._file = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise ConfigError(f"record={self.path}: the file cannot be written ({error.strerror}).") from error
        self._size = self.path.stat().st_size
        if new:
            self._append(head)
            sync_folder(self.path.parent)

    def wrap(self, agent: Agent, templates: Any) -> Agent:
        """The agent, whose answers are written down; `templates` are those of its role."""
        return Recorded(agent, self, templates)

    def write(self, question: Question, reply: Reply, prompt: str) -> None:
        """One answer, on disk when this returns. Raises Paused if it cannot be written."""
        answer = TypeAdapter(question.returns).dump_python(reply.value, mode="json")
        line = Line(
            key=question.key, role=question.role, step=question.step, prompt=prompt, answer=answer, by=reply.by,
            said="" if reply.by == "human" or _says(reply.said, answer) else reply.said,
        )  # fmt: skip
        with self._lock:
            self._append(line)
            self._lines += 1

    def _append(self, line: BaseModel) -> None:
        data = line.model_dump(mode="json")
        if not data.get("said", True):
            del data["said"]
        text = json.dumps(data, allow_nan=False)
        if redact(text) != text:
            text = json.dumps(redact_data(data), allow_nan=False)
        assert self._file is not None
        body = text.encode() + b"\n"
        try:
            written = os.write(self._file, body)
            if written != len(body):
                raise OSError(f"only {written} of {len(body)} bytes could be written")
            os.fdatasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise Paused(
                f"record={self.path}: cannot be written ({error.strerror or error}); what was written is whole. Free "
                "some space, then `resume`.",
                "storage",
            ) from error
        self._size += len(body)

    def close(self) -> None:
        """Release the file; one without any answer is not left behind."""
        if self._file is None:
            return
        os.close(self._file)
        self._file = None
        if not self._lines:
            self.path.unlink(missing_ok=True)


class Recorded:
    """An agent whose answers are written down; in everything else it is that agent."""

    def __init__(self, agent: Agent, recorder: Recorder, templates: Any):
        self._agent, self._recorder, self._templates = agent, recorder, templates

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def answer(self, question: Question) -> Reply:
        """The agent's answer, on record before the run has it."""
        reply = self._agent.answer(question)
        by = reply.by or str(getattr(self._agent, "kind", "model"))
        if by not in NOT_SAID:
            self._recorder.write(question, reply.model_copy(update={"by": by}), self._templates.digest(question))
        return reply


def head(config: Mapping[str, Any], task: Any, design: str, run: str) -> Head:
    """The header of the recording that a run with these settings begins today."""
    fillers = [config.get("model") or {}, *(config.get("agents") or {}).values()]
    names = dict.fromkeys(str(one.get("model") or one.get("name") or "") for one in fillers)
    told = [f"model:{name}" if "/" in name else name for name in names if name not in (*NOT_SAID, "offline")]
    alias = getattr(task, "alias", None) or type(task).__name__.lower()
    made = datetime.now(UTC).date().isoformat()
    return Head(task=alias, design=design, made=made, by=", ".join(told), note=NOTE, run=run)


def _says(said: str, answer: Any) -> bool:
    """Whether the words are nothing but the answer."""
    try:
        return json.loads(said) == answer
    except (ValueError, RecursionError):
        return not said or (isinstance(answer, dict) and said in answer.values())
