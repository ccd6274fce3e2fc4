"""Questions to the user: which are put, and where their answers come from (SPEC 5.2)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter, ValidationError

from looper.errors import ConfigError
from looper.loops.gather_verify.answers import MOST_QUESTIONS, Asked, Slug

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
_ANSWERS: TypeAdapter[dict[Slug, Text]] = TypeAdapter(dict[Slug, Text])
_PUNCTUATION = ".,;:!?\u2026\"'`()[]\u201c\u201d\u2018\u2019\u00bf\u00a1"
_EXAMPLE = "give a mapping of question id to text, such as `output-format: JSON`"


def ranked(asked: Sequence[Asked], most: int = MOST_QUESTIONS) -> list[Asked]:
    """The questions that are put: P0, then P1, then P2, else in the order given; doubles dropped, `most` >= 0 at most.

    A double has the id or the words of one that is put; it is the less important of the two. Raises ValueError.
    """
    if most < 0:
        raise ValueError(f"most is {most}; give 0 or more")
    ids: set[str] = set()
    words: set[str] = set()
    found: list[Asked] = []
    for one in sorted(asked, key=lambda each: each.priority):
        said = _words(one.question)
        if one.id not in ids and said not in words:
            ids.add(one.id)
            words.add(said)
            found.append(one)
    return found[:most]


def _words(question: str) -> str:
    """A question without what does not change it: case, spaces, punctuation around words (`C` and `C++` differ)."""
    words = [word.strip(_PUNCTUATION) for word in question.casefold().split()]
    return " ".join(word for word in words if word) or question


def number_to_choice(text: str, choices: Sequence[str]) -> str:
    """The choice that an answer names, by its words in any case or by its number from 1; other words as they are.

    Words come first: of the choices 5, 10 and 20 the answer 5 is the first. Raises ValueError for any other number.
    """
    said = text.strip()
    if named := [choice for choice in choices if choice.strip().casefold() == said.casefold()]:
        return named[0]
    number = re.fullmatch(r"([-+]?\d+)[.)]?", said)
    if not choices or number is None:
        return said
    if number[1].lstrip("+0") in (places := [str(place) for place in range(1, len(choices) + 1)]):
        return choices[places.index(number[1].lstrip("+0"))]
    raise ValueError(f"{said[:40]} is none of the choices; give a number from 1 to {len(choices)}, or words.")


def from_file(path: str) -> dict[str, str]:
    """Answers by question id from a JSON file (`.json`) or a YAML file (any other name), values as they are written.

    Raises ConfigError for a file that is missing, unreadable, no such mapping, or answers a question twice.
    """
    text = _read(path)
    try:
        data = _json(text) if Path(path).suffix.lower() == ".json" else _yaml(text)
        return _ANSWERS.validate_python(data)
    except ValidationError as error:
        raise ConfigError(f"The answers file {path} {_wrong(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The answers file {path} cannot be used: {_line(error)}; {_EXAMPLE}.") from error


def _read(path: str) -> str:
    file = Path(path)
    try:
        if not file.is_file():
            raise ConfigError(f"There is no answers file {path}; write one, or leave the setting out to be asked.")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"The answers file {path} cannot be read: {error.strerror}; make it readable.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The answers file {path} is no text in UTF-8; save it as such.") from error


def _json(text: str) -> Any:
    data = json.loads(text, object_pairs_hook=_distinct, parse_int=str, parse_float=str, parse_constant=str)
    if not isinstance(data, dict):
        return data
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in data.items()}


def _yaml(text: str) -> Any:
    """All values are text: `no` is the answer no, not false. Raises ValueError."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"it is no valid YAML ({error})") from error
    if not isinstance(node, yaml.MappingNode):
        return {} if node is None else node.value
    return _distinct([(str(key.value), _scalar(value)) for key, value in node.value])


def _scalar(node: Any) -> Any:
    """The text of a value; what is no text is left for the validation to refuse."""
    return node.value if isinstance(node.value, str) else list(node.value)


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key[:80]} is answered twice")
        found[key] = value
    return found


def _wrong(error: ValidationError) -> str:
    """What is wrong, and what to do: the first problem."""
    first = error.errors()[0]
    if not first["loc"]:
        return f"is no mapping; {_EXAMPLE}"
    name = str(first["loc"][0])[:80]
    if first["loc"][-1] == "[key]":
        return f"answers `{name}`, which is no id of a question: those are lower-case words with hyphens; correct it"
    if first["type"] == "string_too_short":
        return f"has no answer for `{name}`; write one, or remove the line"
    if first["type"] == "string_too_long":
        return f"has an answer for `{name}` of more than 4,000 characters; shorten it"
    return f"has an answer for `{name}` that is no text; {_EXAMPLE}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
