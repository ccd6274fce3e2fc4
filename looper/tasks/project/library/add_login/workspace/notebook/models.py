"""What is kept."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Note:
    """One note as it was last saved."""

    id: int
    title: str
    body: str
    tags: tuple[str, ...]
    """In alphabetical order, lower case."""
    revision: int
    """1 when it was made, one more with every change."""
    created: int
    changed: int
    """Seconds since 1970, from the clock."""

    def public(self) -> dict[str, Any]:
        """As the outside sees it."""
        return asdict(self) | {"tags": list(self.tags)}
