"""The setup of a run, confirmed by a person or by the setting `confirm=yes` before anything is spent (SPEC 2.9)."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from looper.agents.confirming.table import limit_now, setup, thresholds_now
from looper.agents.confirming.words import (
    amendable,
    changes,
    checked,
    decided,
    iterations,
    left_out,
    merged,
    parsed,
    thresholds,
)
from looper.agents.human import from_file, understand
from looper.errors import ConfigError, Paused
from looper.tasks.contracts import Confirmation
from looper.types import Question, Reply

ROLE, STEP = "owner", "confirm"
"""Who is asked, and what."""
BY_SETTING = "confirm=yes"


def given(setting: object) -> bool:
    """Whether the setting `confirm` confirms. Raises ConfigError for anything but yes and nothing."""
    if setting is None:
        return False
    if setting is True or str(setting).lower() == "yes":
        return True
    raise ConfigError(
        f"confirm={setting}: give confirm=yes to start without asking, or leave it out: on a terminal you are asked, "
        "without one the run pauses."
    )


def asks(loop: Mapping[str, Any], setting: object, agents: Mapping[str, Any]) -> bool:
    """Whether a run with these settings will ask a person to confirm it, as far as its settings tell."""
    own = (agents.get(ROLE) or {}).get("model")
    return bool(loop.get("confirmation")) and not own and not given(setting)


class Entry(BaseModel):
    """One line of the small dialogue that edits a setup."""

    text: str = Field(description="the change as plain text; an empty line changes nothing")


@dataclass
class Confirming:
    """Whoever owns the task: the setting, a person on a terminal, or one who is waited for. Costs nothing."""

    confirmed: bool = False
    """The setting `confirm=yes`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers given from outside, by step key; they come before the setting."""
    ask: Callable[[Question], str] | None = None
    """`ask(question) -> str` on a terminal, None without one."""
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Where a question that is not answered is put."""
    kind: ClassVar[str] = "human"

    def answer(self, question: Question) -> Reply:
        """Raises ConfigError for an answer that does not fit, Paused (confirm) if nobody is there to give one."""
        text = self.answers.get(question.key)
        if text is not None:
            return Reply(value=decided(text, question), said=text, by="human")
        if self.confirmed:
            return Reply(value=Confirmation(decision="yes"), by=BY_SETTING)
        if self.ask is None or not sys.stdin.isatty():
            raise self._paused(question)
        try:
            return Reply(value=Talk(question, self.ask).run(), by="human")
        except Paused as end:
            raise self._paused(question) from end

    def _paused(self, question: Question) -> Paused:
        asked = {
            "key": question.key, "role": question.role, "step": question.step, "system": "",
            "prompt": "\n".join(setup(question, Confirmation(decision="yes"))),
            "answer": question.returns.model_json_schema(),
        }  # fmt: skip
        self.waiting.append(asked)
        return Paused(
            "Criteria, thresholds and iteration limit must be confirmed before anything is spent. Go on with: looper "
            "resume RUN answer=yes (or answer=no, or changes, e.g. "
            'answer=\'{"decision": "edit", "max_iterations": 3}\'); confirm=yes starts a run without asking.',
            "confirm",
            waiting=asked,
        )


class Talk:
    """The dialogue on a terminal: yes, no or edit; an edited setup is shown again before it is taken."""

    def __init__(self, question: Question, ask: Callable[[Question], str]):
        self.question, self.ask = question, ask
        self.word = Confirmation(decision="yes")
        self.refused = ""

    def run(self) -> Confirmation:
        while True:
            said = self._asked(Confirmation, setup="\n".join(setup(self.question, self.word)))
            try:
                word = parsed(said)
                changed = checked(merged(self.word, word), self.question)
            except ConfigError as error:
                self.refused = str(error)
                continue
            if word.decision == "no":
                return word
            if word.decision == "yes":
                return self.word
            self.word = changed if changes(word) else self._edited()

    def _edited(self) -> Confirmation:
        """The setup after three questions; each is asked until its answer fits."""
        if amendable(self.question):
            self._entry(
                f"new thresholds, now {thresholds_now(self.question, self.word)}; e.g. A=0.85 B=0.9", thresholds
            )
        self._entry(f"iterations at most, now {limit_now(self.question, self.word)}", iterations)
        if amendable(self.question):
            left = ", ".join(self.word.leave_out) or "none"
            self._entry(f"ids of rules to leave out, now {left}; `none` leaves out none", left_out)
        return self.word

    def _entry(self, what: str, read: Callable[[str], dict[str, Any]]) -> None:
        while True:
            entry: Any = understand(from_file(self._asked(Entry, change=what)), Entry)
            if not entry.text.strip():
                return
            try:
                word = Confirmation(decision="edit", **read(entry.text))
                self.word = checked(merged(self.word, word), self.question)
                return
            except ConfigError as error:
                self.refused = str(error)

    def _asked(self, returns: type[BaseModel], **context: str) -> str:
        context |= {"refused": self.refused} if self.refused else {}
        self.refused = ""
        return self.ask(self.question.model_copy(update={"context": context, "returns": returns}))
