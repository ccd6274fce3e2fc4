"""The sqlite file.

Every kind of thing that is kept has a class of its own here (`Notes`); `Store` opens the file, brings it up to date and
holds them. Nothing outside this module sees the connection.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from notebook.models import Note

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE notes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            title TEXT NOT NULL,
            body TEXT NOT NULL,
            revision INTEGER NOT NULL DEFAULT 1,
            created INTEGER NOT NULL,
            changed INTEGER NOT NULL
        )""",
    ),
    (
        """CREATE TABLE tags (
            note INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
            tag TEXT NOT NULL,
            PRIMARY KEY (note, tag)
        ) WITHOUT ROWID""",
        "CREATE INDEX tags_by_tag ON tags (tag)",
    ),
)
"""Statements per version of the file. Only ever appended: released files have the first ones behind them."""


class StoreError(Exception):
    """The file cannot be used, or does not have what was asked for."""


class NotFound(StoreError):
    """There is no such thing."""


class Stale(StoreError):
    """It was changed by somebody else meanwhile."""


class Store:
    """An open file. Close it when done."""

    def __init__(self, path: Path | str):
        """`path` may be ":memory:". Raises StoreError if the file is none of ours, or of a newer version."""
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._migrate()
        except (sqlite3.DatabaseError, StoreError) as error:
            self.close()
            raise StoreError(f"{path} cannot be used as a notebook: {error}") from error
        self.notes = Notes(self._connection)

    @property
    def version(self) -> int:
        """How many migrations the file has behind it."""
        return self._connection.execute("PRAGMA user_version").fetchone()[0]

    def close(self) -> None:
        self._connection.close()

    def _migrate(self) -> None:
        """Each version in a transaction of its own: the file is at one version or the next, never between."""
        if self.version > len(MIGRATIONS):
            raise StoreError(f"the file has version {self.version}, this program knows {len(MIGRATIONS)}")
        for number, statements in enumerate(MIGRATIONS[self.version :], start=self.version + 1):
            with transaction(self._connection):
                for statement in statements:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {number}")


class Notes:
    """The notes of a file."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def add(self, title: str, body: str, tags: Iterable[str], now: int) -> Note:
        with transaction(self._connection):
            done = self._connection.execute(
                "INSERT INTO notes (title, body, created, changed) VALUES (?, ?, ?, ?)", (title, body, now, now)
            )
            assert done.lastrowid is not None
            self._tag(done.lastrowid, tags)
        return self.get(done.lastrowid)

    def get(self, id: int) -> Note:
        """Raises NotFound."""
        row = self._connection.execute("SELECT * FROM notes WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(f"note {id}")
        return self._note(row)

    def change(self, id: int, title: str, body: str, tags: Iterable[str], revision: int, now: int) -> Note:
        """`revision` is the one that the change was made on. Raises NotFound, Stale."""
        with transaction(self._connection):
            if self.get(id).revision != revision:
                raise Stale(f"note {id}")
            self._connection.execute(
                "UPDATE notes SET title = ?, body = ?, revision = revision + 1, changed = ? WHERE id = ?",
                (title, body, now, id),
            )
            self._connection.execute("DELETE FROM tags WHERE note = ?", (id,))
            self._tag(id, tags)
        return self.get(id)

    def remove(self, id: int) -> None:
        """Raises NotFound."""
        if not self._connection.execute("DELETE FROM notes WHERE id = ?", (id,)).rowcount:
            raise NotFound(f"note {id}")

    def find(self, tag: str = "", offset: int = 0, limit: int = -1) -> tuple[list[Note], int]:
        """Notes (with this tag), newest first, and how many there are on all pages. No limit: -1."""
        where, values = ("id IN (SELECT note FROM tags WHERE tag = ?)", [tag]) if tag else ("1", [])
        total = self._connection.execute(f"SELECT count(*) FROM notes WHERE {where}", values).fetchone()[0]
        page = f"SELECT * FROM notes WHERE {where} ORDER BY created DESC, id DESC LIMIT ? OFFSET ?"
        rows = self._connection.execute(page, [*values, limit, offset]).fetchall()
        return [self._note(row) for row in rows], total

    def tags(self) -> dict[str, int]:
        """How many notes have each tag."""
        rows = self._connection.execute("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag")
        return dict(rows.fetchall())

    def _tag(self, id: int, tags: Iterable[str]) -> None:
        self._connection.executemany("INSERT INTO tags (note, tag) VALUES (?, ?)", [(id, tag) for tag in set(tags)])

    def _note(self, row: sqlite3.Row) -> Note:
        tags = self._connection.execute("SELECT tag FROM tags WHERE note = ? ORDER BY tag", (row["id"],)).fetchall()
        plain = {name: row[name] for name in ("id", "title", "body", "revision", "created", "changed")}
        return Note(tags=tuple(tag for (tag,) in tags), **plain)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
