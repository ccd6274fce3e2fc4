"""The setup of a run, confirmed by a person or by the setting `confirm=yes` before anything is spent (SPEC 2.9)."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from looper.agents.human import from_file, understand
from looper.errors import ConfigError, Paused
from looper.tasks.contracts import Confirmation
from looper.types import Question, Reply

ROLE, STEP = "owner", "confirm"
"""Who is asked, and what."""
BY_SETTING = "confirm=yes"
CHANGES = ("thresholds", "max_iterations", "leave_out")
"""Fields of a confirmation that change the setup."""
NO_RULES = "the rules of this task cannot be edited, only the iteration limit"


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
            self._entry(f"new thresholds, now {_thresholds(self.question, self.word)}; e.g. A=0.85 B=0.9", thresholds)
        self._entry(f"iterations at most, now {_limit(self.question, self.word)}", iterations)
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


# Words


def decided(text: str, question: Question) -> Confirmation:
    """A whole decision. Raises ConfigError for one that does not fit the setup."""
    word = parsed(text)
    if word.decision == "edit" and not changes(word):
        raise ConfigError(
            'answer: `edit` needs the changes, e.g. answer=\'{"decision": "edit", "thresholds": {"A": 0.85}, '
            '"max_iterations": 3, "leave_out": ["b.style.naming"]}\'.'
        )
    return checked(word, question)


def parsed(text: str) -> Confirmation:
    """Yes, no, edit, or JSON; changes alone are an edit."""
    text = from_file(text).strip()
    words = {"y": "yes", "n": "no"}.get(text.lower(), text.lower())
    if words in ("yes", "no", "edit"):
        return Confirmation(decision=words)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ConfigError(f"answer: `{text[:60]}` is none of yes, no and edit, nor JSON with changes.")
    strange = [key for key in data if key not in Confirmation.model_fields]
    if strange:
        raise ConfigError(f"answer: there is no field `{strange[0]}`; there are decision, {', '.join(CHANGES)}.")
    word = understand(json.dumps({"decision": "edit", **data}), Confirmation)
    assert isinstance(word, Confirmation)
    if word.decision != "edit" and changes(word):
        raise ConfigError(f"answer: with changes the decision is edit, not {word.decision}.")
    return word


def changes(word: Confirmation) -> dict[str, Any]:
    """The fields of a word that change something."""
    return {name: getattr(word, name) for name in CHANGES if getattr(word, name)}


def merged(before: Confirmation, word: Confirmation) -> Confirmation:
    """Earlier changes with those of a new word over them."""
    new = {name: getattr(word, name) for name in word.model_fields_set & set(CHANGES)}
    new["thresholds"] = {**before.thresholds, **word.thresholds}
    both = before.model_copy(update=new)
    return both.model_copy(update={"decision": "edit" if changes(both) else "yes"})


def checked(word: Confirmation, question: Question) -> Confirmation:
    """The word, if it fits this setup. Raises ConfigError that says what there is."""
    if (word.thresholds or word.leave_out) and not amendable(question):
        raise ConfigError(f"answer: {NO_RULES}.")
    phases, rules = question.context["thresholds"], [rule["id"] for rule in question.context["rules"]]
    for phase in word.thresholds:
        if phase not in phases:
            raise ConfigError(f"answer: thresholds: there is no phase `{phase}`; there are {', '.join(phases)}.")
    for rule in word.leave_out:
        if rule not in rules:
            raise ConfigError(f"answer: leave_out: there is no rule `{rule}`; there are {', '.join(rules)}.")
    if rules and set(word.leave_out) >= set(rules):
        raise ConfigError("answer: leave_out: at least one rule must be left.")
    return word


def amendable(question: Question) -> bool:
    """Whether the task lets its rules be edited."""
    return getattr(question.task, "amend", None) is not None


def thresholds(text: str) -> dict[str, Any]:
    """`A=0.85 B=0.9` as a change. Raises ConfigError."""
    pairs = [part.partition("=") for part in _parts(text)]
    try:
        found = {phase: float(value) for phase, _, value in pairs}
    except ValueError as error:
        raise ConfigError("answer: thresholds are given as PHASE=NUMBER, e.g. A=0.85 B=0.9.") from error
    if not all(0 <= value <= 1 for value in found.values()):
        raise ConfigError("answer: a threshold lies between 0 and 1.")
    return {"thresholds": found}


def iterations(text: str) -> dict[str, Any]:
    """A number of iterations as a change. Raises ConfigError."""
    if not re.fullmatch(r"0*[1-9][0-9]?|0*100", text.strip()):
        raise ConfigError("answer: the iteration limit is a whole number from 1 to 100.")
    return {"max_iterations": int(text)}


def left_out(text: str) -> dict[str, Any]:
    """Ids of rules as a change."""
    return {"leave_out": [] if text.strip().lower() == "none" else _parts(text)}


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,;]+", text) if part]


# The table


def setup(question: Question, word: Confirmation) -> list[str]:
    """The rules by phase with severity, weight and threshold, and the iteration limit, as lines for a person."""
    rules = question.context["rules"]
    width = max((len(rule["id"]) for rule in rules), default=0)
    lines: list[str] = []
    for phase, value in question.context["thresholds"].items():
        threshold = _changed(value, word.thresholds.get(phase))
        lines.append(f"Phase {phase}: threshold {threshold}, and no rule of severity fail may fail")
        lines += [_row(rule, width, word) for rule in rules if rule["phase"] == phase] + [""]
    return [*lines, f"Iterations at most: {_changed(question.context['max_iterations'], word.max_iterations)}"]


def _row(rule: Mapping[str, Any], width: int, word: Confirmation) -> str:
    what = " ".join(str(rule["description"] or rule["check"]).split())
    out = "LEFT OUT  " if rule["id"] in word.leave_out else ""
    return f"  {rule['id']:{width}}  {rule['severity']:4}  weight {rule['weight']:g}  {out}{what}".rstrip()


def _changed(before: float, after: float | None) -> str:
    return f"{before:g}" if after is None else f"{after:g} (was {before:g})"


def _thresholds(question: Question, word: Confirmation) -> str:
    now = {**question.context["thresholds"], **word.thresholds}
    return " ".join(f"{phase}={value:g}" for phase, value in now.items())


def _limit(question: Question, word: Confirmation) -> int:
    return word.max_iterations or question.context["max_iterations"]
