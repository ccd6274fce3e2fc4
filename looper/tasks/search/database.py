"""An embedded collection as one SQLite file: documents, full text (FTS5), term weights and word vectors."""

import hashlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from looper.tasks.search.documents import Document
from looper.tasks.search.tokens import PLAIN, TOKENIZER, require_fts5, stems_of
from looper.tasks.search.words import identifiers, searchable

FORMAT = "1"
"""Of the file; another one is built anew. Raise it when what is indexed, or how, changes."""
SCHEMA = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, module TEXT NOT NULL, kind TEXT NOT NULL,
  length INTEGER NOT NULL, source TEXT NOT NULL);
CREATE TABLE fields (number INTEGER, name TEXT, value TEXT, PRIMARY KEY (name, value, number)) WITHOUT ROWID;
CREATE TABLE arrays (name TEXT PRIMARY KEY, type TEXT NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, spoken TEXT NOT NULL,
  documents INTEGER NOT NULL, compound INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(name, module, text, content='', tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE instances USING fts5vocab(words, instance);
CREATE TEMP TABLE arrived (id TEXT PRIMARY KEY, source TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE temp.surface USING fts5(name, module, text, content='', tokenize='{PLAIN}');
CREATE VIRTUAL TABLE temp.surfaces USING fts5vocab(temp, surface, row);
"""


def build(path: Path, documents: Iterable[Document]) -> None:
    """Write the collection to a new file. Documents are numbered by id, so that ties end the same everywhere."""
    from looper.tasks.search import matrix, related

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        require_fts5(connection)
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        arrive(connection, documents)
        known = hashlib.sha256()
        compounds: set[str] = set()
        for number, document in enumerate(arrived(connection)):
            known.update(document.model_dump_json().encode() + b"\n")
            insert(connection, number, document)
            compounds |= identifiers(f"{document.name} {document.text}")
        speak(connection, compounds)
        matrix.store(connection)
        related.store(connection)
        facts = {"format": FORMAT, "fingerprint": known.hexdigest()}
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        connection.execute("COMMIT")


def arrive(connection: sqlite3.Connection, documents: Iterable[Document]) -> None:
    rows = ((document.id, document.model_dump_json()) for document in documents)
    connection.executemany("INSERT INTO arrived VALUES (?, ?)", rows)


def arrived(connection: sqlite3.Connection) -> Iterator[Document]:
    for (source,) in connection.execute("SELECT source FROM arrived ORDER BY id"):
        yield Document.model_validate_json(source)


def insert(connection: sqlite3.Connection, number: int, document: Document) -> None:
    row = (number, document.id, document.module, document.kind, len(document.text), document.model_dump_json())
    connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", row)
    fields = [(number, name, str(value)) for name, value in document.extra.items()]
    connection.executemany("INSERT INTO fields VALUES (?, ?, ?)", fields)
    title = "" if document.title == document.name else document.title
    said = [searchable(text) for text in (f"{document.name} {title}", document.module, document.text)]
    for table in ("words", "surface"):
        connection.execute(f"INSERT INTO {table}(rowid, name, module, text) VALUES (?, ?, ?, ?)", (number, *said))


def speak(connection: sqlite3.Connection, compounds: Collection[str]) -> None:
    """Number the terms by the alphabet, each with its most frequent surface form, and whether that is an identifier."""
    found = connection.execute("SELECT term, cnt FROM temp.surfaces ORDER BY cnt DESC, length(term), term").fetchall()
    spoken: dict[str, str] = {}
    for (word, _), stem in zip(found, stems_of(word for word, _ in found), strict=True):
        spoken.setdefault(stem, word)
    counts = connection.execute("SELECT term, count(DISTINCT doc) FROM instances GROUP BY term ORDER BY term")
    rows = [
        (number, term, spoken[term], count, spoken[term] in compounds)
        for number, (term, count) in enumerate(counts.fetchall())
    ]
    connection.executemany("INSERT INTO terms VALUES (?, ?, ?, ?, ?)", rows)
    connection.execute("DROP TABLE temp.surfaces")
    connection.execute("DROP TABLE temp.surface")
