from functools import cached_property
from pathlib import Path

from pydantic.dataclasses import dataclass

from looper.errors import ConfigError, InvalidAnswer
from looper.journal import Event, load_payload, read
from looper.types import STRICT, Question, Reply


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Recording:
    """The answers of an earlier run, by step key. It is labelled a recording wherever its answers are shown."""

    path: str
    """The history.jsonl of the run, or its folder."""

    @cached_property
    def kind(self) -> str:
        """What its answers are priced as: those of a policy stay cheap, so that a recorded run can be paid again."""
        return "policy" if {event.by for event in self._steps.values() if event.by} == {"policy"} else "recording"

    @cached_property
    def _file(self) -> Path:
        path = Path(self.path)
        file = path / "history.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise ConfigError(f"model.path: there is no recording at {self.path}; give a run folder or history.jsonl.")
        return file

    @cached_property
    def _steps(self) -> dict[str, Event]:
        return {event.key: event for event in read(self._file).events if event.key and event.status == "ok"}

    def answer(self, question: Question) -> Reply:
        event = self._steps.get(question.key)
        if event is None:
            raise InvalidAnswer(
                f"{question.key}: the recording {self.path} has no such step; design, task or settings differ."
            )
        value = question.returns.model_validate(load_payload(self._file.parent, event))
        return Reply(value=value, calls=event.calls, said=event.said, by="recording")
