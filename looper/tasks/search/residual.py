"""Scores of a ranking on what is left when labelled documents are taken out (residual collection, Chang 1971)."""

from collections.abc import Collection, Sequence


def average_precision(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Mean over all relevant documents of the precision at their rank, 0 to 1; one that is not ranked counts 0.

    Raises ValueError without relevant documents: the score is not defined then.
    """
    if not relevant:
        raise ValueError("average precision is not defined without relevant documents")
    found, gathered = 0, 0.0
    for rank, name in enumerate(dict.fromkeys(ranking), 1):
        if name in relevant:
            found += 1
            gathered += found / rank
    return gathered / len(set(relevant))
