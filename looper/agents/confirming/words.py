"""What a person says to a setup that is to be confirmed: yes, no, or changes that fit it."""

import json
import re
from typing import Any

from looper.agents.human import from_file, understand
from looper.errors import ConfigError
from looper.tasks.contracts import Confirmation
from looper.types import Question

CHANGES = ("thresholds", "max_iterations", "leave_out")
"""Fields of a confirmation that change the setup."""
NO_RULES = "the rules of this task cannot be edited, only the iteration limit"


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


def amendable(question: Question) -> bool:
    """Whether the task lets its rules be edited."""
    return getattr(question.task, "amend", None) is not None
