"""What a request's body must look like."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from notebook.settings import Settings


class Invalid(Exception):
    """Fields that cannot be taken, each with the reason."""

    def __init__(self, fields: Mapping[str, str]):
        super().__init__(", ".join(sorted(fields)))
        self.fields = dict(fields)


@dataclass(frozen=True)
class NoteForm:
    """A note as it is sent."""

    title: str
    body: str
    tags: tuple[str, ...]


def read_note(data: Mapping[str, Any], settings: Settings) -> NoteForm:
    """Raises Invalid with every field that is wrong, not only the first."""
    faults: dict[str, str] = {}
    title = text(data, "title", faults, longest=settings.max_title).strip()
    if "title" not in faults and not title:
        faults["title"] = "is missing"
    body = text(data, "body", faults, longest=settings.max_body, lines=True)
    tags = _tags(data, faults, settings)
    if faults:
        raise Invalid(faults)
    return NoteForm(title, body, tags)


def read_revision(data: Mapping[str, Any]) -> int:
    """The revision that a change was made on. Raises Invalid."""
    revision = data.get("revision")
    if not isinstance(revision, int) or isinstance(revision, bool) or revision < 1:
        raise Invalid({"revision": "must be a whole number of at least 1"})
    return revision


def text(
    data: Mapping[str, Any], name: str, faults: dict[str, str], *, longest: int, default: str = "", lines: bool = False
) -> str:
    """A field that holds text; what is wrong with it goes to `faults`. `lines`: line ends and tabs are allowed."""
    value = data.get(name, default)
    if not isinstance(value, str):
        faults[name] = "must be text"
        return ""
    if len(value) > longest:
        faults[name] = f"must have at most {longest} characters"
    elif _unprintable(value, "\n\r\t" if lines else ""):
        faults[name] = "has characters that cannot be shown"
    return value


def _tags(data: Mapping[str, Any], faults: dict[str, str], settings: Settings) -> tuple[str, ...]:
    tags = data.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        faults["tags"] = "must be a list of texts"
        return ()
    found = sorted({tag.strip().lower() for tag in tags})
    if any(not tag or len(tag) > 30 or _unprintable(tag, "") for tag in found):
        faults["tags"] = "must have 1 to 30 characters each"
    elif len(found) > settings.max_tags:
        faults["tags"] = f"must be at most {settings.max_tags}"
    return tuple(found)


def _unprintable(value: str, allowed: str) -> bool:
    """Control characters and halves of surrogate pairs, which no file can hold."""
    return any(unicodedata.category(one) in ("Cc", "Cs") and one not in allowed for one in value)
