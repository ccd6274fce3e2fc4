"""Words that stand where another one stands: told by the company that words keep in the collection itself.

A word's vector is the positive pointwise mutual information with each word near it, contexts smoothed; likeness is
the cosine (Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word Embeddings",
2015). Dimensions are not reduced: on a collection of this size it gains nothing, takes seconds, and would depend on the
linear algebra library of the machine.
"""

import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from looper.tasks.search.matrix import load, save
from looper.tasks.search.words import STOP

WINDOW = 3
"""Words to either side that are company, stop words not counted."""
RAREST = 3
"""Words in fewer documents are not proposed: their company is chance."""
COMMONEST = 0.15
"""Words in a larger share of the documents are not proposed either: they keep everybody's company."""
SMOOTHING = 0.75
"""Exponent on the frequency of the company; the usual one, keeps rare company from winning."""
MOST = 3_000_000
"""Words of the collection that are looked at, in the order of the documents' ids; bounds time and memory."""
PAIR: Any = np.dtype((np.int64, (2,)))
ARRAYS = ("near_starts", "near_terms", "near_weights", "proposed")
SEQUENCE = """
SELECT doc, terms.number FROM instances JOIN terms USING (term) WHERE col = 'text' ORDER BY doc, offset LIMIT ?
"""


class Neighbours:
    """Likeness of terms."""

    def __init__(self, connection: sqlite3.Connection):
        arrays = load(connection, ARRAYS)
        self.starts, self.terms, self.weights, self.proposed = (arrays[name] for name in ARRAYS)
        self.size = len(self.starts) - 1
        self.rows = np.repeat(np.arange(self.size), np.diff(self.starts))

    def nearest(self, term: int) -> list[int]:
        """Terms that may be proposed, by falling likeness, only those that have any, without the term itself."""
        span = slice(self.starts[term], self.starts[term + 1])
        company = np.zeros(self.size)
        company[self.terms[span]] = self.weights[span]
        likeness = np.bincount(self.rows, weights=self.weights * company[self.terms], minlength=self.size)
        likeness = np.round(likeness * self.proposed, 9)
        likeness[term] = 0
        found = np.flatnonzero(likeness > 0)
        return found[np.lexsort((found, -likeness[found]))].tolist()


def store(connection: sqlite3.Connection) -> None:
    """Compute the vectors of a collection that is being built."""
    known = connection.execute("SELECT spoken, compound, documents FROM terms ORDER BY number").fetchall()
    most = COMMONEST * connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    content = np.array([plain(spoken) for spoken, _, _ in known], dtype=bool)
    proposed = [not compound and RAREST <= held <= max(most, RAREST) for _, compound, held in known]
    cursor = connection.execute(SEQUENCE, (MOST,))
    sequence = np.fromiter(cursor, dtype=PAIR).reshape(-1, 2)
    starts, terms, weights = vectors(sequence[content[sequence[:, 1]]], len(known))
    save(connection, "near_starts", starts)
    save(connection, "near_terms", terms.astype(np.int32))
    save(connection, "near_weights", weights.astype(np.float32))
    save(connection, "proposed", (content & np.array(proposed, dtype=bool)).astype(np.int8))


def plain(word: str) -> bool:
    return word not in STOP and word.isalpha() and len(word) > 2


def vectors(sequence: NDArray, size: int) -> tuple[NDArray, NDArray, NDArray]:
    """Unit vectors as rows of a sparse matrix: where each row starts, the columns, the values."""
    rows, columns, counts = company(sequence, size)
    totals = np.bincount(rows, weights=counts, minlength=size)
    context = totals**SMOOTHING / max(float((totals**SMOOTHING).sum()), 1.0)
    information = np.log(counts / (totals[rows] * context[columns]))
    kept = information > 0
    rows, columns, information = rows[kept], columns[kept], information[kept]
    norms = np.sqrt(np.bincount(rows, weights=information**2, minlength=size))
    return np.searchsorted(rows, np.arange(size + 1)), columns, information / norms[rows]


def company(sequence: NDArray, size: int) -> tuple[NDArray, NDArray, NDArray]:
    """How often two terms stand within the window of one document, both ways, by row and column."""
    codes = []
    for distance in range(1, WINDOW + 1):
        left, right = sequence[:-distance], sequence[distance:]
        near = (left[:, 0] == right[:, 0]) & (left[:, 1] != right[:, 1])
        one, other = left[near, 1], right[near, 1]
        codes += [one * size + other, other * size + one]
    found, counts = np.unique(np.concatenate(codes), return_counts=True)
    return found // max(size, 1), found % max(size, 1), counts
