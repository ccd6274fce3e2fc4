"""The embedded backend: BM25 over a collection on this machine, in SQLite's FTS5; no server, no model, no network."""

import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.tasks.search import cache as kept
from looper.tasks.search import words
from looper.tasks.search.documents import Document
from looper.tasks.search.match import expression, match
from looper.tasks.search.query import LONGEST_EXCERPT, Found, Hit, Query
from looper.tasks.search.tokens import spells, terms
from looper.types import STRICT

if TYPE_CHECKING:
    from looper.tasks.search.matrix import Matrix
    from looper.tasks.search.related import Neighbours

RANK = "bm25(words, 3.0, 1.0, 1.0)"
"""A word in the name counts three times one in the module or the text."""
FILTERS = {
    "module": "dotted module; all below it count",
    "kind": "one kind or several, separated by commas",
    "shortest": "characters of text at least",
    "longest": "characters of text at most",
}


class Opened:
    """A collection's file, read only. Any number of threads may use it."""

    def __init__(self, path: Path):
        self.lock = threading.RLock()
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        self.connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self.connection.close)

    def rows(self, question: str, values: Iterable[Any] = ()) -> list[Any]:
        with self.lock:
            return self.connection.execute(question, tuple(values)).fetchall()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Embedded:
    """A collection of documents on this machine, indexed once."""

    source: str = kept.STDLIB
    """`stdlib`, the documentation of Python's standard library, or the path of a JSON Lines file of documents."""
    cache: str = ".cache/search"
    """Folder where indexes are kept; safe to delete, several processes may share it."""

    @property
    def name(self) -> str:
        return Path(self.source).stem

    @property
    def widest(self) -> int:
        return 64

    @cached_property
    def filters(self) -> dict[str, str]:
        """What every collection has, and the fields of this one's documents."""
        extra = self.opened.rows("SELECT DISTINCT name FROM fields ORDER BY name")
        return FILTERS | {name: "the field has this value" for (name,) in extra}

    @cached_property
    def fingerprint(self) -> str:
        return self.opened.rows("SELECT value FROM facts WHERE name = 'fingerprint'")[0][0]

    @cached_property
    def size(self) -> int:
        """Number of documents."""
        return self.opened.rows("SELECT count(*) FROM documents")[0][0]

    @cached_property
    def opened(self) -> Opened:
        return Opened(kept.database(kept.source(self.source), Path(self.cache).expanduser()))

    @cached_property
    def kinds(self) -> list[str]:
        return [kind for (kind,) in self.opened.rows("SELECT DISTINCT kind FROM documents ORDER BY kind")]

    @cached_property
    def matrix(self) -> "Matrix":
        from looper.tasks.search import matrix

        with self.opened.lock:
            return matrix.Matrix(matrix.load(self.opened.connection, matrix.ARRAYS), self.size)

    def search(self, query: Query, limit: int) -> Found:
        wanted = match(query, self.filters, self.kinds, self.widest)
        if not wanted.expression:
            return Found(total=0, note=wanted.note)
        held = f"FROM words JOIN documents ON documents.number = words.rowid WHERE words MATCH ?{wanted.where}"
        values = (wanted.expression, *wanted.values)
        [(total,)] = self.opened.rows(f"SELECT count(*) {held}", values)
        order = f"SELECT source, {RANK} AS rank_value {held} ORDER BY rank_value, documents.number LIMIT ?"
        rows = self.opened.rows(order, (*values, max(limit, 0)))
        return Found(total=total, hits=[hit(source, -value) for source, value in rows], note=wanted.note)

    def words(self, text: str) -> list[str]:
        found = {spells(word): word for word in reversed(words.content(text))}
        return [word for word in words.content(text) if found[spells(word)] == word]

    def frequency(self, word: str) -> int:
        if not spells(word):
            return 0
        return self.opened.rows("SELECT count(*) FROM words WHERE words MATCH ?", [expression([word])])[0][0]

    def related(self, word: str, hits: list[Hit], limit: int) -> list[str]:
        """From the vectors of the whole collection; `hits` are not needed."""
        if word not in self.asked:
            self.asked[word] = self._related(word)
        return self.asked[word][: max(limit, 0)]

    @cached_property
    def asked(self) -> dict[str, list[str]]:
        """Words that `related` was asked for: looking one up takes 3 ms, and policies ask again and again."""
        return {}

    def _related(self, word: str) -> list[str]:
        stems = spells(word)
        numbers = self.numbers(stems)
        if len(stems) != 1 or not numbers:
            return []
        return [self.vocabulary[number][1] for number in self.neighbours.nearest(numbers[stems[0]])]

    @cached_property
    def neighbours(self) -> "Neighbours":
        from looper.tasks.search import related

        with self.opened.lock:
            return related.Neighbours(self.opened.connection)

    @cached_property
    def vocabulary(self) -> list[tuple[str, str]]:
        """By number: a term and what it is called for people."""
        return self.opened.rows("SELECT term, spoken FROM terms ORDER BY number")

    def numbers(self, stems: Iterable[str]) -> dict[str, int]:
        known = self.places
        return {stem: known[stem] for stem in stems if stem in known}

    @cached_property
    def places(self) -> dict[str, int]:
        return {term: number for number, (term, _) in enumerate(self.vocabulary)}

    def terms(self, text: str) -> list[str]:
        """The stems of a text as the index has them, in order, with doublets; identifiers also by their parts."""
        return list(terms(text))

    def spoken(self, term: str) -> str:
        """A stem's most frequent form in the collection; the stem itself where it does not occur."""
        return self.vocabulary[self.places[term]][1] if term in self.places else term

    def document(self, id: str) -> Document:
        """Raises ConfigError if the collection has none of that id."""
        rows = self.opened.rows("SELECT source FROM documents WHERE id = ?", [words.clean(id)])
        if not rows:
            raise ConfigError(f"{self.name}: has no document {id[:80]!r}; see the ids that a search finds.")
        return Document.model_validate_json(rows[0][0])

    def hit(self, id: str) -> Hit:
        """A document as a search would show it, without a score. Raises ConfigError as `document` does."""
        return hit(self.document(id).model_dump_json(), 0.0)

    def has(self, id: str) -> bool:
        """Whether there is a document of this id."""
        return bool(self.opened.rows("SELECT 1 FROM documents WHERE id = ?", [words.clean(id)]))

    def holds(self, term: str) -> bool:
        """Whether any document has the term."""
        return bool(self.numbers([term]))

    def vector(self, id: str) -> dict[str, float]:
        """A document's terms with their BM25 weights: the basis of relevance feedback (Rocchio 1971)."""
        return {self.vocabulary[term][0]: weight for term, weight in self.matrix.row(self.number(id))}

    def rank(self, weights: Mapping[str, float], without: Collection[str], limit: int) -> list[Hit]:
        """The best documents by the sum over terms of weight times BM25 weight, only those above 0, ties by id.

        Terms are stems (`terms`), weights may be negative; terms that do not occur count nothing. `without` are ids.
        """
        left_out = [self.number(id) for id in without]
        known = self.numbers(weights)
        best = self.matrix.best({known[term]: weights[term] for term in known}, left_out, limit)
        return [hit(self.opened.rows("SELECT source FROM documents WHERE number = ?", [n])[0][0], s) for n, s in best]

    def number(self, id: str) -> int:
        rows = self.opened.rows("SELECT number FROM documents WHERE id = ?", [words.clean(id)])
        if not rows:
            raise ConfigError(f"{self.name}: has no document {id[:80]!r}; see the ids that a search finds.")
        return rows[0][0]


def hit(source: str, score: float) -> Hit:
    found = Document.model_validate_json(source)
    short = words.excerpt(found.text, LONGEST_EXCERPT)
    fields: dict[str, str | int] = {"module": found.module, "kind": found.kind, "length": len(found.text)}
    title = found.title or found.name or words.excerpt(short, 60)
    return Hit(id=found.id, score=score, title=title, excerpt=short, fields=found.extra | fields)
