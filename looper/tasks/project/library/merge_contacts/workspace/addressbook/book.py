"""A book: a JSON file with a list of contacts."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from addressbook.contact import Contact, ContactError, from_json, to_json


class BookError(Exception):
    """A book that cannot be read. The message names the file and the record."""


def read(path: Path) -> list[Contact]:
    """All contacts, in the order of the file. Raises BookError."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BookError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BookError(f"{path}: is not JSON: {error}") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise BookError(f"{path}: is not a list of records")
    return [_contact(path, number, record) for number, record in enumerate(records, 1)]


def write(path: Path, contacts: Iterable[Contact]) -> None:
    """Writes the whole book, or leaves the old one as it is."""
    text = json.dumps([to_json(contact) for contact in contacts], ensure_ascii=False, indent=1)
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(f"{text}\n", encoding="utf-8")
    fresh.replace(path)


def newest_first(contacts: Sequence[Contact]) -> list[Contact]:
    """By the day of the last change; of the same day, the later one in the book is the newer."""
    return sorted(reversed(contacts), key=lambda contact: contact.updated, reverse=True)


def find(contacts: Iterable[Contact], words: str) -> list[Contact]:
    """Contacts with these words in their name or in an entry, in any case."""
    wanted = words.casefold()
    return [one for one in contacts if any(wanted in text.casefold() for text in _searched(one))]


def _searched(contact: Contact) -> list[str]:
    return [contact.name, *(entry.value for entry in contact.entries)]


def _contact(path: Path, number: int, record: dict[str, object]) -> Contact:
    try:
        return from_json(record)
    except ContactError as error:
        raise BookError(f"{path}: record {number}: {error}") from error
