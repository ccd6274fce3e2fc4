"""Episodes in one SQLite file below outputs/ (SPEC 5.7)."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from looper.episodes.episode import Appended, Episode, Found, Recalled, cleaned, lesson, moment
from looper.episodes.ranking import WEIGHTS, ranked
from looper.errors import ConfigError, LooperError, Paused

STORE = "episodes.sqlite"
"""Name of the file below outputs/."""
FORMAT = 1
"""Of the file, its user_version. Raise it when the tables or the fields of an episode change."""
APPLICATION = 0x4C504550
"""The file's application_id ("LPEP"), which tells it from other SQLite files."""
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""
OUTSIDE = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
    )
)  # fmt: skip
"""Errors that do not come from the file itself."""
SCHEMA = f"""
CREATE TABLE episodes (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, at TEXT NOT NULL);
CREATE TABLE sources (number INTEGER PRIMARY KEY, digest BLOB NOT NULL, source BLOB NOT NULL);
CREATE INDEX newest ON episodes (at DESC, run);
CREATE VIRTUAL TABLE words USING fts5({", ".join(WEIGHTS)}, tokenize='porter unicode61');
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""
INDEX = f"INSERT INTO words (rowid, {', '.join(WEIGHTS)}) VALUES (?, {', '.join('?' * len(WEIGHTS))})"


class EpisodesUnusable(ConfigError):
    """The file is damaged, is something else, or was written by a newer looper."""


class Episodes:
    """The store in the file `path`. Nothing is open between two calls: processes and threads may share it.

    Every method raises EpisodesUnusable for a file that cannot be used, ConfigError without FTS5, and Paused (reason
    `storage`) where disk or folder do not allow it, or another process has held the file for 30 seconds.
    """

    def __init__(self, path: Path):
        self.path = path

    def append(self, episode: Episode) -> Appended:
        """Keep an episode, in place of an earlier one of the same run: a step that a kill repeats leaves one row.

        The file and its folder are made at the first. Texts are kept without secrets and control characters, in one
        line each, cut to the limits above.
        """
        kept = cleaned(episode)
        source = kept.model_dump_json().encode()
        searched = [text if isinstance(text, str) else "\n".join(text) for text in (getattr(kept, f) for f in WEIGHTS)]
        with self._writing() as database:
            replaced = _dropped(database, kept.run)
            row = (kept.run, kept.at)
            number = database.execute("INSERT INTO episodes (run, at) VALUES (?, ?)", row).lastrowid
            database.execute("INSERT INTO sources VALUES (?, ?, ?)", (number, _digest(source), source))
            database.execute(INDEX, (number, *searched))
            count = database.execute("SELECT count(*) FROM episodes").fetchone()[0]
        return Appended(run=kept.run, replaced=replaced, episodes=count)

    def forget(self, run: str) -> bool:
        """Remove the episode of a run, its words from the file too; whether there was one."""
        with self._reading() as database:
            if database is None or not database.execute("SELECT 1 FROM episodes WHERE run = ?", (run,)).fetchone():
                return False
        with self._writing() as database:
            there = _dropped(database, run)
            database.execute("INSERT INTO words (words) VALUES ('optimize')")
        with self._database() as database:
            database.execute("VACUUM")  # or what was forgotten could still be read in the pages that are free now
        return there

    def similar(self, text: str, most: int = 5, *, but: str = "") -> list[Recalled]:
        """The episodes most like a text, best first, without the one of run `but`; for GATHER (SPEC 5.7).

        Of equal ones the newer first. An episode that has no content word in common with the text is left out.
        """
        return [
            Recalled(
                **found.episode.model_dump(exclude={"seed"}), similarity=found.similarity, lesson=lesson(found.episode)
            )
            for found in self.search(text, most, but=but)
        ]

    def search(self, text: str, most: int = 20, *, but: str = "") -> list[Found]:
        """The same as whole episodes."""
        with self._reading() as database:
            rows = ranked(database, text, most, but) if database else []
            return [Found(episode=self._whole(source, digest), similarity=score) for source, digest, score in rows]

    def all(self, most: int = 20, *, since: str = "") -> list[Episode]:
        """The newest episodes, newest first; only those from the ISO time `since` on, if one is given."""
        with self._reading() as database:
            if database is None:
                return []
            rows = database.execute(
                "SELECT source, digest FROM episodes JOIN sources USING (number) WHERE at >= ?"
                " ORDER BY at DESC, run LIMIT ?",
                (moment(since) if since else "", max(0, most)),
            )
            return [self._whole(*row) for row in rows]

    def runs(self) -> list[str]:
        """Ids of all runs that have an episode, the newest first."""
        with self._reading() as database:
            rows = database.execute("SELECT run FROM episodes ORDER BY at DESC, run") if database else []
            return [run for (run,) in rows]

    def _whole(self, source: bytes, digest: bytes) -> Episode:
        if not isinstance(source, bytes) or _digest(source) != digest:
            raise self._unusable("an episode in it is not what was written")
        try:
            return Episode.model_validate_json(source)
        except ValidationError as error:
            raise self._unusable("an episode in it does not fit this version of looper") from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The store as it is at one moment, None as long as nothing was ever appended."""
        if not self.path.exists():
            yield None
            return
        with self._database() as database:
            database.execute("BEGIN")
            yield database if self._made(database) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, kept as a whole or not at all."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self._closed(error.strerror or str(error)) from error
        with self._database() as database:
            database.execute("BEGIN IMMEDIATE")
            if not self._made(database):
                for statement in SCHEMA.split(";\n"):
                    database.execute(statement)
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        if self.path.exists() and not self.path.is_file():
            raise self._unusable("it is no file")
        # rw in reading too: what a kill left unfinished is rolled back by the next one who looks
        where = f"file:{quote(str(self.path.resolve()))}?mode=rw"
        try:
            with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE, isolation_level=None)) as database:
                yield database
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own messages may quote damaged bytes
            raise self._complaint(error) from error

    def _made(self, database: sqlite3.Connection) -> bool:
        """Whether the tables are there. Raises EpisodesUnusable for a file that is no episode store of this format."""
        application, version = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application == version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            return False
        if application != APPLICATION:
            raise self._unusable("it is not an episode store")
        if version > FORMAT:
            raise EpisodesUnusable(
                f"{self.path}: a newer looper wrote this episode store (format {version}, this one reads {FORMAT}); "
                "update looper, or move the file away to begin a new one."
            )
        return True

    def _complaint(self, error: Exception) -> LooperError:
        """What an error of SQLite means to a person. What the file system did not do, damage did: the SQL is fixed."""
        code, words = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF, ascii(str(error))[1:-1]
        if words.startswith("no such module: fts5"):
            return ConfigError(
                f"SQLite {sqlite3.sqlite_version} of this Python has no FTS5, which the episode store needs: use a "
                "Python whose sqlite3 was built with it, such as python.org's, conda's or your distribution's."
            )
        return self._closed(words) if code in OUTSIDE else self._unusable(f"it is damaged or no SQLite file ({words})")

    def _unusable(self, why: str) -> EpisodesUnusable:
        return EpisodesUnusable(f"{self.path}: {why}; move the file away, then a new episode store is begun.")

    def _closed(self, why: str) -> Paused:
        return Paused(
            f"{self.path} cannot be read or written ({why}); what was written is whole. Free some space or make the "
            "folder writable, then `resume`.",
            "storage",
        )


def _dropped(database: sqlite3.Connection, run: str) -> bool:
    found = database.execute("SELECT number FROM episodes WHERE run = ?", (run,)).fetchone()
    if found:
        for table, key in (("words", "rowid"), ("sources", "number"), ("episodes", "number")):
            database.execute(f"DELETE FROM {table} WHERE {key} = ?", found)
    return found is not None


def _digest(source: bytes) -> bytes:
    return hashlib.blake2b(source, digest_size=16).digest()
