"""Counts what is in stock."""

import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)


class OutOfStock(ValueError):
    """There is less of an article than was asked for."""

    def __init__(self, article: str, left: int) -> None:
        super().__init__(f"only {left} of {article} left")
        self.left = left


@dataclass
class Stock:
    """Articles and how many there are."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, article: str, number: int = 1) -> int:
        """Puts articles in; the new count."""
        if number < 1:
            raise ValueError("a number above 0 is needed")
        self.counts[article] = self.counts.get(article, 0) + number
        logger.info("added %d of %s", number, article)
        return self.counts[article]

    def take(self, article: str, number: int = 1) -> int:
        """Takes articles out; the new count."""
        left = self.counts.get(article, 0)
        if left < number:
            raise OutOfStock(article, left)
        self.counts[article] = left - number
        return self.counts[article]


def total(stock: Stock) -> int:
    """All articles together."""
    return sum(stock.counts.values())
