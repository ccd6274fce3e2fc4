"""What is asked of a collection, and what comes back: the same for every backend."""

import json
from typing import Annotated, Protocol

from pydantic import BaseModel, Field

LONGEST_EXCERPT = 240
"""Characters of a hit's text that a state keeps."""


class Query(BaseModel, frozen=True):
    """All keywords must occur, each in one of its alternatives; no exclusion may; the filters hold."""

    keywords: list[str] = []
    alternatives: dict[str, list[str]] = {}
    """By keyword: words that will do in its place."""
    exclusions: list[str] = []
    filters: dict[str, str | int] = {}
    """By name; the names are the backend's own (`Backend.filters`)."""

    def key(self) -> str:
        """Equal for queries that ask the same: order and doublets do not matter."""
        groups = sorted(sorted({word, *self.alternatives.get(word, [])}) for word in set(self.keywords))
        return json.dumps([groups, sorted(set(self.exclusions)), sorted(self.filters.items())], ensure_ascii=False)

    def __str__(self) -> str:
        groups = ["|".join([word, *self.alternatives.get(word, [])]) for word in self.keywords]
        without = [f"-{word}" for word in self.exclusions]
        return " ".join([*groups, *without, *(f"{name}:{value}" for name, value in self.filters.items())]) or "(empty)"


class Hit(BaseModel):
    """A document that was found."""

    id: str
    score: float
    """The backend's own; higher is better."""
    title: str
    excerpt: str = ""
    """At most LONGEST_EXCERPT characters."""
    fields: dict[str, str | int] = {}
    """What filters and people look at, such as module, kind, stars."""


class Found(BaseModel):
    """What came back."""

    total: Annotated[int, Field(ge=0)]
    """Documents that match, not only those returned."""
    hits: list[Hit] = []
    """Best first, as many as were asked for at most."""
    waited: float = 0.0
    """Seconds that the server said to wait before; not working time."""
    note: str = ""
    """What the reader should know of the result: incomplete, shortened, left out."""


class Backend(Protocol):
    """A collection that can be searched. A function of its source: the same query finds the same, or it says so."""

    @property
    def name(self) -> str: ...

    @property
    def filters(self) -> dict[str, str]:
        """Names of the filters it knows, each with what it means."""
        ...

    @property
    def widest(self) -> int:
        """Words, alternatives and exclusions included, that a query may hold."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when the collection does; empty where nobody can know (a server's)."""
        ...

    def search(self, query: Query, limit: int) -> Found:
        """The best `limit` matches and how many there are. An empty query finds nothing.

        Raises ConfigError for a filter it does not know or a value that does not fit.
        """
        ...

    def words(self, text: str) -> list[str]:
        """The content words of a text as this collection knows them, in order, without doublets and stop words."""
        ...

    def related(self, word: str, hits: list[Hit], limit: int) -> list[str]:
        """Words of the collection that stand where this one stands, most related first; never the word itself.

        `hits` is what is known of the collection where it is not at hand as a whole.
        """
        ...

    def frequency(self, word: str) -> int | None:
        """Documents that hold the word; None where it is not known without asking."""
        ...
