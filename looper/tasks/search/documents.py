"""What an embedded collection is made of, and reading it from JSON Lines."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from looper.errors import ConfigError

RESERVED = frozenset({"shortest", "longest"})
"""Names of filters on the length; a document's own field cannot have them."""
SURROGATE = re.compile("[\ud800-\udfff]")
KNOWN = frozenset({"id", "name", "title", "module", "kind", "text"})


class Document(BaseModel, frozen=True):
    """One entry of a collection."""

    id: str
    name: str
    title: str = ""
    """For people; where there is none, the name."""
    module: str = ""
    """Dotted path of where it belongs."""
    kind: str = ""
    text: str
    extra: dict[str, str | int] = {}
    """Further fields that can be filtered on."""


def read(path: Path) -> Iterator[Document]:
    """The documents of a JSON Lines file, line by line: `text`, and id, name, title, module, kind if they are there.

    Other fields that hold one text, number or truth value become `extra`; lists and objects are left out. A document
    without an id gets its line's number. Raises ConfigError, with file and line, for what cannot be used.
    """
    seen: set[str] = set()
    for number, line in numbered(path):
        if not line.strip():
            continue
        try:
            document = parse(line, number)
        except ValueError as error:
            raise ConfigError(f"{path}:{number}: {reason(error)}; mend or remove the line.") from error
        if document.id in seen:
            raise ConfigError(f"{path}:{number}: the id {document.id[:80]!r} was used before; ids must be unique.")
        seen.add(document.id)
        yield document
    if not seen:
        raise ConfigError(f"{path}: holds no document; write one JSON object with a field `text` per line.")


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}:{number}: is not UTF-8 text; save the file as UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a JSON Lines file of documents.") from error


def parse(line: str, number: int) -> Document:
    """Raises ValueError, with the reason in words."""
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("is not a JSON object")
    if SURROGATE.search(json.dumps(data, ensure_ascii=False)):
        raise ValueError("holds half a character (a lone surrogate)")
    text, identity = data.get("text"), data.get("id", number)
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no field `text` with words in it")
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise ValueError("the field `id` must be a text or a whole number")
    held = {key: data[key] for key in ("name", "title", "module", "kind") if data.get(key) is not None}
    name = held.pop("name", held.get("title", ""))
    return Document(id=str(identity), name=name, text=text, extra=extras(data), **held)


def extras(data: dict[str, Any]) -> dict[str, str | int]:
    found = {key: data[key] for key in sorted(data.keys() - KNOWN) if isinstance(data[key], str | int | float)}
    if clash := sorted(RESERVED & found.keys()):
        raise ValueError(f"the field `{clash[0]}` has the name of a filter on the length; rename it")
    return {key: plain(value) for key, value in found.items()}


def plain(value: str | int | float) -> str | int:
    """As filters compare it: a truth value or a fraction as JSON writes it."""
    return json.dumps(value) if isinstance(value, bool | float) else value


def reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"the field `{first['loc'][0]}` cannot be used ({first['msg']})"
    return "is not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
