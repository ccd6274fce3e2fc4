"""What is known of a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

Kind = Literal["phone", "email"]
FIELDS = frozenset({"name", "updated", "entries", "birthday", "groups", "notes"})


class ContactError(ValueError):
    """A record that is no contact. The message says what is wrong with it."""


@dataclass(frozen=True)
class Entry:
    """One way to reach a person, as people wrote it."""

    kind: Kind
    label: str
    value: str


@dataclass(frozen=True)
class Contact:
    """One record of the book."""

    name: str
    updated: date
    """Day of the last change."""
    entries: tuple[Entry, ...] = ()
    birthday: date | None = None
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def from_json(record: Mapping[str, Any]) -> Contact:
    """Raises ContactError for a record with fields that are missing, unknown or of the wrong form."""
    unknown = sorted(record.keys() - FIELDS)
    if unknown:
        raise ContactError(f"unknown fields: {', '.join(unknown)}")
    try:
        return Contact(
            name=_text(record["name"]),
            updated=date.fromisoformat(record["updated"]),
            entries=tuple(_entry(*entry) for entry in record.get("entries", [])),
            birthday=date.fromisoformat(record["birthday"]) if record.get("birthday") else None,
            groups=tuple(map(_text, record.get("groups", []))),
            notes=tuple(map(_text, record.get("notes", []))),
        )
    except KeyError as error:
        raise ContactError(f"field {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise ContactError(str(error)) from error


def to_json(contact: Contact) -> dict[str, Any]:
    """The record; empty fields are left out."""
    record: dict[str, Any] = {"name": contact.name, "updated": contact.updated.isoformat()}
    if contact.entries:
        record["entries"] = [[entry.kind, entry.label, entry.value] for entry in contact.entries]
    if contact.birthday:
        record["birthday"] = contact.birthday.isoformat()
    for field in ("groups", "notes"):
        if getattr(contact, field):
            record[field] = list(getattr(contact, field))
    return record


def _entry(kind: Any, label: Any, value: Any) -> Entry:
    if kind not in get_args(Kind):
        raise ContactError(f"{kind!r} is no kind of entry; there are {', '.join(get_args(Kind))}")
    return Entry(kind, _text(label), _text(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ContactError(f"{value!r} is not a text")
    return value
