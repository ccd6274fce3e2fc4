"""New weights of terms from labelled documents, over the unit vectors of their BM25 weights.

Vectors are dense and have one place for each term of the collection. Everything is deterministic: the documents that
stand for the rest of the collection are every n-th one, not drawn.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from looper.tasks.search.matrix import Matrix

Vector = NDArray[np.float64]

RARITY = 0.5
"""Exponent by which a word's rarity is taken back at the start: in a need told in one's own words the rarest word is
often the least telling one. 0 leaves BM25 as it is, 1 takes it back wholly; .5 and 1 measured alike, 0 worse."""
REST = 100
"""Unlabelled documents that stand for the rest; AutoTAR's number (Cormack and Grossman 2015)."""
RIDGE = 0.3
"""Penalty of the squared weights; a hundredth to three times of it measured alike."""
NEWTON = 15
"""Iterations of Newton's method; more change no digit that is kept."""


def unit(vector: Vector) -> Vector:
    """Of length 1; a vector of zeros stays."""
    return vector / (np.linalg.norm(vector) or 1.0)


def rarity(matrix: Matrix) -> Vector:
    """Inverse document frequency of each term, as in BM25."""
    held = np.diff(matrix.starts)
    return np.log1p((matrix.size - held + 0.5) / (held + 0.5))


def begin(matrix: Matrix, words: Mapping[int, float], near: Mapping[int, float], share: float) -> Vector:
    """Where a search begins: words and, with `share` of their length, words near them."""

    def part(terms: Mapping[int, float]) -> Vector:
        made = np.zeros(len(matrix.starts) - 1)
        places = list(terms)
        made[places] = np.fromiter(terms.values(), dtype=np.float64) / rarity(matrix)[places] ** RARITY
        return unit(made)

    return part(words) + share * part({term: weight for term, weight in near.items() if term not in words})


def rows(matrix: Matrix, documents: Sequence[int]) -> Iterator[tuple[NDArray, Vector]]:
    """Terms of each document and their weights, of length 1."""
    for document in documents:
        span = slice(matrix.row_starts[document], matrix.row_starts[document + 1])
        yield matrix.row_terms[span], unit(matrix.row_weights[span])


def mean(matrix: Matrix, documents: Sequence[int]) -> Vector:
    total = np.zeros(len(matrix.starts) - 1)
    for terms, weights in rows(matrix, documents):
        total[terms] += weights / len(documents)
    return total


def largest(vector: Vector, count: int) -> Vector:
    """The vector with zeros in all but its `count` largest places by size, ties by number."""
    order = np.lexsort((np.arange(len(vector)), -np.abs(vector)))[:count]
    kept = np.zeros_like(vector)
    kept[order] = vector[order]
    return kept


def towards(matrix: Matrix, start: Vector, good: Sequence[int], step: float, count: int) -> Vector:
    """The start, moved by `step` towards the mean of some documents in their `count` heaviest terms (Rocchio 1971)."""
    return unit(start) + step * unit(largest(mean(matrix, good), count))


def away(matrix: Matrix, weights: Vector, bad: Sequence[int], step: float) -> Vector:
    """The weights, moved by `step` away from the mean of some documents, in the terms that they have already."""
    return np.where(weights != 0, weights - step * unit(mean(matrix, bad)), 0.0)


def separate(matrix: Matrix, start: Vector, good: Sequence[int], bad: Sequence[int], trust: float) -> Vector:
    """Weights that tell the relevant documents from the others, by logistic regression with a ridge.

    The way of continuous active learning (Cormack and Grossman, "Autonomy and Reliability of Continuous Active
    Learning", 2015): the need itself is a relevant example, here of weight `trust`, and unlabelled ones are others.
    """
    labelled = {*good, *bad}
    sample = np.linspace(0, matrix.size - 1, min(REST, matrix.size)).astype(int).tolist()
    others = [*bad, *(number for number in sample if number not in labelled)]
    need = unit(start * rarity(matrix))
    held = np.flatnonzero(need)
    examples = [(held, need[held]), *rows(matrix, [*good, *others])]
    signs = np.array([1.0] * (1 + len(good)) + [-1.0] * len(others))
    costs = np.array([trust, *[1.0] * (len(good) + len(others))])
    for side in (signs > 0, signs < 0):
        costs[side] /= costs[side].sum() or 1.0
    terms = np.unique(np.concatenate([places for places, _ in examples]))
    made = np.zeros_like(start)
    made[terms] = regression(packed(examples, terms), signs, costs)[:-1]
    return made


def packed(examples: Sequence[tuple[NDArray, Vector]], terms: NDArray) -> NDArray[np.float64]:
    """Examples as rows of a matrix, with a last column of ones."""
    table = np.zeros((len(examples), len(terms) + 1))
    table[:, -1] = 1.0
    for row, (places, weights) in zip(table, examples, strict=True):
        row[np.searchsorted(terms, places)] = weights
    return table


def regression(table: NDArray[np.float64], signs: Vector, costs: Vector) -> Vector:
    """Weights of the columns by logistic regression with a ridge, by Newton's method in the space of examples."""
    gram = table @ table.T
    dual = np.zeros(len(signs))
    for _ in range(NEWTON):
        scores = gram @ dual
        wrong = 1 / (1 + np.exp(signs * scores))
        curve = np.maximum(costs * wrong * (1 - wrong), 1e-12)
        dual = np.linalg.solve(
            curve[:, None] * gram + RIDGE * np.eye(len(signs)), curve * scores + costs * wrong * signs
        )
    return table.T @ dual
