import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from looper.errors import ConfigError, Paused
from looper.types import Question, Reply


def understand(text: str, returns: type[BaseModel]) -> BaseModel:
    """A person's words as an answer: JSON, or plain text where the answer has one text field that must be given.

    Raises ConfigError that says what is wrong and what an answer looks like.
    """
    words = _only_text_field(returns)
    try:
        data = json.loads(text)
    except ValueError:
        data = {words: text} if words else None
    if words and not isinstance(data, dict):
        data = {words: text}
    try:
        return returns.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "answer"
        raise ConfigError(f"answer: {where}: {first['msg']}. An answer is JSON like {example(returns)}.") from error


def _only_text_field(returns: type[BaseModel]) -> str | None:
    needed = [name for name, info in returns.model_fields.items() if info.is_required()]
    texts = [name for name in needed if returns.model_fields[name].annotation is str]
    return texts[0] if len(needed) == len(texts) == 1 else None


def example(returns: type[BaseModel]) -> str:
    """The fields of an answer and what goes into them."""
    properties = returns.model_json_schema().get("properties", {})
    return json.dumps({name: info.get("description") or info.get("type", "...") for name, info in properties.items()})


def from_file(text: str) -> str:
    """`@FILE` stands for what is in the file."""
    if not text.startswith("@"):
        return text
    file = Path(text[1:])
    if not file.is_file():
        raise ConfigError(f"answer=@{file}: there is no such file.")
    return file.read_text(errors="replace")


@dataclass
class Human:
    """A person in a role. On a terminal they are asked; without one the run pauses until `resume RUN answer=...`."""

    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers given from outside, by step key."""
    ask: Any = None
    """`ask(question) -> str` on a terminal, None without one."""
    kind: ClassVar[str] = "human"

    def answer(self, question: Question) -> Reply:
        text = self.answers.get(question.key)
        if text is None and self.ask is not None and sys.stdin.isatty():
            text = self.ask(question)
        if text is None:
            raise Paused(
                f"{question.role} is a person, and {question.key} waits for their answer. "
                f"Go on with: looper resume RUN answer='{example(question.returns)}' (or answer=@file).",
                "questions",
                waiting={"key": question.key, "role": question.role, "answer": question.returns.model_json_schema()},
            )
        return Reply(value=understand(from_file(text), question.returns), said=text, by="human")
