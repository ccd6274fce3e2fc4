"""BM25 as a matrix of terms and documents, for queries with a weight per term (FTS5's own bm25() has none).

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009): a term's frequency in a document
is the sum over its fields, each weighted (BM25F with one length normalisation); idf as in Lucene, so that it is never
negative.
"""

import sqlite3
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
"""Saturation of a term's frequency; the usual default."""
B = 0.75
"""Normalisation by a document's length, 0 none to 1 full; the usual default."""
FIELDS = (3.0, 1.0, 1.0)
"""How often one word of name, module and text counts."""
ARRAYS = ("starts", "documents", "weights", "row_starts", "row_terms", "row_weights")
COUNTS = """
SELECT terms.number, doc, sum(col = 'name'), sum(col = 'module'), sum(col = 'text')
FROM instances JOIN terms USING (term) GROUP BY terms.number, doc ORDER BY terms.number, doc
"""


class Matrix:
    """The BM25 weight of every term in every document, by term and by document."""

    def __init__(self, arrays: Mapping[str, NDArray], size: int):
        self.starts, self.documents, self.weights, self.row_starts, self.row_terms, self.row_weights = (
            arrays[name] for name in ARRAYS
        )
        self.size = size

    def scores(self, weights: Mapping[int, float]) -> NDArray[np.float64]:
        """By document: the sum over terms of weight times BM25 weight. The order of the terms does not matter."""
        scores = np.zeros(self.size)
        for term in sorted(weights):
            span = slice(self.starts[term], self.starts[term + 1])
            scores[self.documents[span]] += weights[term] * self.weights[span]
        return scores

    def best(self, weights: Mapping[int, float], without: Collection[int], limit: int) -> list[tuple[int, float]]:
        """Documents with a positive score, best first, ties by number."""
        scores = self.scores(weights)
        scores[np.fromiter(without, dtype=np.int64)] = 0.0
        found = np.flatnonzero(scores > 0)
        order = found[np.lexsort((found, -scores[found]))][: max(limit, 0)]
        return [(int(number), float(scores[number])) for number in order]

    def row(self, document: int) -> list[tuple[int, float]]:
        """The terms of a document with their weights."""
        span = slice(self.row_starts[document], self.row_starts[document + 1])
        return list(zip(self.row_terms[span].tolist(), self.row_weights[span].tolist(), strict=True))


def store(connection: sqlite3.Connection) -> None:
    """Compute the matrix of a collection that is being built, from FTS5's own counts."""
    size = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    counts = np.fromiter(connection.execute(COUNTS), dtype=np.dtype((np.int64, 5))).reshape(-1, 5)
    terms, documents = counts[:, 0], counts[:, 1]
    number = int(terms.max()) + 1 if len(terms) else 0
    weights = bm25(terms, documents, counts[:, 2:] @ np.array(FIELDS), size)
    order = np.lexsort((terms, documents))
    save(connection, "starts", np.searchsorted(terms, np.arange(number + 1)))
    save(connection, "documents", documents.astype(np.int32))
    save(connection, "weights", weights)
    save(connection, "row_starts", np.searchsorted(documents[order], np.arange(size + 1)))
    save(connection, "row_terms", terms[order].astype(np.int32))
    save(connection, "row_weights", weights[order])


def bm25(terms: NDArray, documents: NDArray, frequencies: NDArray, size: int) -> NDArray[np.float64]:
    lengths = np.bincount(documents, weights=frequencies, minlength=size)
    held = np.bincount(terms)
    idf = np.log1p((size - held + 0.5) / (held + 0.5))
    damping = K1 * (1 - B + B * lengths / lengths.mean()) if len(terms) else lengths
    return idf[terms] * frequencies * (K1 + 1) / (frequencies + damping[documents])


def save(connection: sqlite3.Connection, name: str, array: NDArray) -> None:
    little = array.astype(array.dtype.newbyteorder("<"))  # the same file on every machine
    connection.execute("INSERT INTO arrays VALUES (?, ?, ?)", (name, little.dtype.str, little.tobytes()))


def load(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, NDArray]:
    rows = [
        connection.execute("SELECT name, type, data FROM arrays WHERE name = ?", [name]).fetchone() for name in names
    ]
    return {name: np.frombuffer(data, dtype=np.dtype(kind)) for name, kind, data in rows}
