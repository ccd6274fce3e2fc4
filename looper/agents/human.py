import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from looper.errors import ConfigError, Paused
from looper.types import Question, Reply

_KEY = re.compile(r"[\w.\-/]+\.[1-9]\d*")
"""A step key; no field of an answer looks like one."""


DEEPEST = 2
"""Levels of objects that an example shows."""
YES_NO = {"yes": True, "y": True, "no": False, "n": False}
"""What people type for a yes or a no."""


def understand(text: str, returns: type[BaseModel]) -> BaseModel:
    """A person's words as an answer: JSON, or plain text where one text, choice, yes or no is all that must be given.

    Raises ConfigError that says what is wrong and what an answer looks like.
    """
    words = only_word_field(returns)
    said = YES_NO.get(text.strip().lower()) if words is None else None
    if said is not None and (asked := only_yes_no_field(returns)):
        return returns.model_validate({asked: said})
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = {words: text} if words else None
    if words and not isinstance(data, dict):
        data = {words: text}
    if data is None:
        raise ConfigError(f"answer: this is not JSON. An answer is JSON like {example(returns)}.")
    try:
        return returns.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "answer"
        raise ConfigError(f"answer: {where}: {first['msg']}. An answer is JSON like {example(returns)}.") from error


def only_word_field(returns: type[BaseModel]) -> str | None:
    """The field that plain text stands for, where there is one."""
    needed = [name for name, info in returns.model_fields.items() if info.is_required()]
    texts = [name for name in needed if _is_word(returns.model_fields[name].annotation)]
    return texts[0] if len(needed) == len(texts) == 1 else None


def only_yes_no_field(returns: type[BaseModel]) -> str | None:
    """The field that a yes or a no stands for, where it is all that must be given."""
    needed = [name for name, info in returns.model_fields.items() if info.is_required()]
    return needed[0] if len(needed) == 1 and returns.model_fields[needed[0]].annotation is bool else None


def _is_word(kind: Any) -> bool:
    return kind is str or (get_origin(kind) is Literal and all(isinstance(choice, str) for choice in get_args(kind)))


def example(returns: type[BaseModel]) -> str:
    """The fields of an answer and what goes into them; a list is shown with one item."""
    schema = returns.model_json_schema()
    return json.dumps({name: _shown(info, schema) for name, info in schema.get("properties", {}).items()})


def _shown(info: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> Any:
    """What stands for a field: its description or type, of a list one item, of an object its needed fields."""
    if info.get("type") == "array":
        return [_shown(info.get("items", {}), schema, depth)]
    named = str(info.get("$ref", "")).rpartition("/")[2]
    target = schema.get("$defs", {}).get(named, {})
    if "properties" in target and depth < DEEPEST:
        needed = {name: target["properties"][name] for name in target.get("required", [])}
        return {name: _shown(field, schema, depth + 1) for name, field in needed.items()}
    return info.get("description") or info.get("type", "...")


def from_file(text: str) -> str:
    """`@FILE` stands for what is in the file."""
    if not text.startswith("@"):
        return text
    file = Path(text[1:])
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise ConfigError(f"answer=@{file}: there is no such file.") from error
    except OSError as error:
        raise ConfigError(f"answer=@{file}: the file cannot be read ({error.strerror}).") from error


def by_key(answers: Mapping[str, str]) -> dict[str, str]:
    """Answers by step key; one that is itself a JSON object of answers by step key is taken apart.

    Raises ConfigError for a file that cannot be read.
    """
    taken: dict[str, str] = {}
    for key, text in answers.items():
        several = _several(from_file(text))
        taken |= several if several is not None else {key: text}
    return taken


def _several(text: str) -> dict[str, str] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not data or not all(_KEY.fullmatch(key) for key in data):
        return None
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in data.items()}


# What is waited for


def together(waiting: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several questions that wait at once, as one: the first by its key, with the `others` in it."""
    first, *others = sorted((dict(asked) for asked in waiting), key=lambda asked: asked["key"])
    return first | ({"others": others} if others else {})


def apart(waiting: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The questions in what `together` made; none of nothing."""
    if not waiting:
        return []
    first = {name: value for name, value in waiting.items() if name != "others"}
    return [first, *waiting.get("others", [])]


def waits(waiting: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of a run that waits for these answers; empty for none."""
    if not waiting:
        return {}
    whole = together(waiting)
    if len(waiting) == 1:
        return {"waiting": whole}
    asked = apart(whole)
    keys = ", ".join(f"{one['key']} ({one['role']})" for one in asked)
    detail = (
        f"{len(asked)} questions wait for people: {keys}. Go on with: looper resume RUN "
        f'answer=\'{{"{asked[0]["key"]}": ..., "{asked[1]["key"]}": ...}}\' (or answer=@file), for all of them or some.'
    )
    return {"waiting": whole, "detail": detail}


def refuse_strangers(answers: Mapping[str, str], waiting: Mapping[str, Any] | None) -> None:
    """Raises ConfigError for an answer to a question that is not waited for."""
    known = [asked["key"] for asked in apart(waiting)]
    for key in answers:
        if known and key not in known:
            raise ConfigError(f"answer: `{key}` is not waited for; these are: {', '.join(known)}.")


@dataclass
class Human:
    """A person in a role. On a terminal they are asked; without one the run pauses until `resume RUN answer=...`.

    They see what a model would see (SPEC 0.8).
    """

    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers given from outside, by step key."""
    ask: Any = None
    """`ask(question) -> str` on a terminal, None without one."""
    templates: Any = None
    """`prompt.Templates` of the role; None: those of a role that has none."""
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Where a question that is not answered is put; shared by all seats, as several can be asked at once."""
    refused: list[ConfigError] = field(default_factory=list)
    """Answers that did not fit; shared too, because a branch that pauses may hide what another one raised."""
    kind: ClassVar[str] = "human"

    @property
    def present(self) -> bool:
        """Whether a person sits at a terminal and would answer at once."""
        return self.ask is not None and sys.stdin.isatty()

    def answer(self, question: Question) -> Reply:
        text = self.answers.get(question.key)
        if text is None:
            text = self._asked(question)
        try:
            return Reply(value=understand(from_file(text), question.returns), said=text, by="human")
        except ConfigError as error:
            self.refused.append(error)
            raise

    def _asked(self, question: Question) -> str:
        """What a person says on the terminal. Raises Paused without one, or when they end the input."""
        system, prompt = (message["content"] for message in self._templates().messages(question, form=False))
        if self.present:
            try:
                return self.ask(question.model_copy(update={"context": {"system": system, "prompt": prompt}}))
            except Paused as end:
                raise self._paused(question, system, prompt) from end
        raise self._paused(question, system, prompt)

    def _templates(self) -> Any:
        from looper.agents.prompt import Templates

        return self.templates or Templates()

    def _paused(self, question: Question, system: str, prompt: str) -> Paused:
        asked = {
            "key": question.key, "role": question.role, "step": question.step, "system": system, "prompt": prompt,
            "answer": question.returns.model_json_schema(),
        }  # fmt: skip
        self.waiting.append(asked)
        return Paused(
            f"{question.role} is a person, and {question.key} waits for their answer. "
            f"Go on with: looper resume RUN answer='{example(question.returns)}' (or answer=@file).",
            "questions",
            waiting=asked,
        )
