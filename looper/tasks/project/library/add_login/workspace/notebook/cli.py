"""The command line, for the owner of the file."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime

from notebook.clock import Clock, SystemClock
from notebook.forms import Invalid, read_note
from notebook.models import Note
from notebook.settings import Settings
from notebook.store import NotFound, Store, StoreError


def main(arguments: Sequence[str] | None = None, clock: Clock | None = None) -> int:
    """Exit status: 0 done, 1 refused, 2 wrong usage (argparse)."""
    given = _parser().parse_args(arguments)
    try:
        with closing(Store(given.file)) as store:
            return COMMANDS[given.command](store, given, clock or SystemClock())
    except NotFound as error:
        print(f"notebook: there is no {error}", file=sys.stderr)
    except Invalid as error:
        for field, reason in error.fields.items():
            print(f"notebook: {field} {reason}", file=sys.stderr)
    except StoreError as error:
        print(f"notebook: {error}", file=sys.stderr)
    return 1


def _add(store: Store, given: argparse.Namespace, clock: Clock) -> int:
    form = read_note({"title": given.title, "body": given.body, "tags": given.tag}, Settings())
    print(store.notes.add(form.title, form.body, form.tags, clock.now()).id)
    return 0


def _list(store: Store, given: argparse.Namespace, clock: Clock) -> int:
    for note in store.notes.find(given.tag.lower())[0]:
        print(_line(note))
    return 0


def _show(store: Store, given: argparse.Namespace, clock: Clock) -> int:
    note = store.notes.get(given.id)
    print(_line(note))
    if note.body:
        print(f"\n{note.body}")
    return 0


COMMANDS = {"add": _add, "list": _list, "show": _show}


def _line(note: Note) -> str:
    day = datetime.fromtimestamp(note.changed, UTC).date()
    tags = "".join(f" #{tag}" for tag in note.tags)
    return f"{note.id:>4}  {day}  {note.title}{tags}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="notebook", description="Shared notes in a sqlite file.")
    parser.add_argument("file", help="the sqlite file; made if it is not there")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="add a note")
    add.add_argument("title")
    add.add_argument("--body", default="")
    add.add_argument("--tag", action="append", default=[])
    show = commands.add_parser("show", help="show a note")
    show.add_argument("id", type=int)
    listing = commands.add_parser("list", help="list notes, newest first")
    listing.add_argument("--tag", default="")
    return parser


if __name__ == "__main__":
    sys.exit(main())
