"""The index's own tokenizer, asked outside the index: SQLite FTS5, porter over unicode61."""

import sqlite3
import threading
import weakref
from collections.abc import Iterable
from functools import lru_cache

from looper.errors import ConfigError
from looper.tasks.search.words import clean, searchable

TOKENIZER = "porter unicode61"
PLAIN = "unicode61"


def require_fts5(connection: sqlite3.Connection) -> None:
    """Raises ConfigError where this Python's SQLite lacks FTS5."""
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.fts5_is_there USING fts5(text)")
        connection.execute("DROP TABLE temp.fts5_is_there")
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        raise ConfigError(
            f"SQLite {sqlite3.sqlite_version} of this Python has no FTS5, which searching needs: use a Python whose"
            " sqlite3 was built with it, such as python.org's, conda's or your distribution's."
        ) from error


class Stemmer:
    """Terms of a text as the index has them. Any number of threads may use it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self.connection.close)
        require_fts5(self.connection)
        self.connection.execute(f"CREATE VIRTUAL TABLE said USING fts5(text, tokenize='{TOKENIZER}')")
        self.connection.execute("CREATE VIRTUAL TABLE heard USING fts5vocab(said, instance)")

    def stems(self, text: str) -> list[str]:
        """One for each token, in the order of the text."""
        with self.lock:
            self.connection.execute("DELETE FROM said")
            self.connection.execute("INSERT INTO said VALUES (?)", (clean(text),))
            return [row[0] for row in self.connection.execute("SELECT term FROM heard ORDER BY offset")]


@lru_cache(maxsize=1)
def stemmer() -> Stemmer:
    return Stemmer()


@lru_cache(maxsize=20_000)
def terms(text: str) -> tuple[str, ...]:
    """The stems of a text, identifiers also by their parts; empty for a text that holds no word, such as an emoji."""
    return tuple(stemmer().stems(searchable(text)))


@lru_cache(maxsize=20_000)
def spells(word: str) -> tuple[str, ...]:
    """The stems that the index looks for when a word is searched: the word as it stands."""
    return tuple(stemmer().stems(word))


def stems_of(words: Iterable[str]) -> list[str]:
    """The stem of each word that is one token; all in one go."""
    return stemmer().stems(" ".join(words))
