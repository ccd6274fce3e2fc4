"""The command: `python -m addressbook list|find`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from addressbook import book, settings
from addressbook.contact import Contact


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command in the current folder. Returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options, settings.load(Path(settings.FILE)))
    except (book.BookError, settings.SettingsError) as error:
        print(f"addressbook: {error}", file=sys.stderr)
        return 2


def _list(options: argparse.Namespace, decided: settings.Settings) -> int:
    contacts = book.read(Path(decided.file))
    for contact in book.newest_first(contacts) if options.newest else contacts:
        print(_line(contact))
    return 0


def _find(options: argparse.Namespace, decided: settings.Settings) -> int:
    found = book.find(book.read(Path(decided.file)), options.words)
    for contact in found:
        print(_line(contact))
    return 0 if found else 1


def _line(contact: Contact) -> str:
    return "  ".join([contact.name, *(f"{entry.label}: {entry.value}" for entry in contact.entries)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="addressbook", description="The address book of a small office.")
    commands = parser.add_subparsers(required=True)
    listing = commands.add_parser("list", help="all contacts")
    listing.add_argument("--newest", action="store_true", help="the last changed first")
    listing.set_defaults(run=_list)
    finding = commands.add_parser("find", help="contacts with these words in them")
    finding.add_argument("words")
    finding.set_defaults(run=_find)
    return parser


if __name__ == "__main__":
    sys.exit(main())
