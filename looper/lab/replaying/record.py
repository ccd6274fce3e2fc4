"""A run as its journal tells it, for replaying and forking: read once, checked, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.errors import ConfigError, JournalDamaged
from looper.folder import Folder, check_head
from looper.journal import Event, load_payload, read
from looper.state import ENDINGS

QUIET = ("call_started", "call_done")
"""Lines of an attempt; the step that it belongs to has a line of its own."""


@dataclass
class Record:
    """The journal of one run."""

    folder: Path
    events: list[Event]
    hashes: list[str]
    steps: dict[str, Event] = field(default_factory=dict)
    """By key, in the order in which they were finished."""

    def __post_init__(self) -> None:
        self.steps = {event.key: event for event in self.events if event.key and event.event not in QUIET}

    @classmethod
    def of(cls, folder: Folder, *, torn: bool = False) -> "Record":
        """Raises JournalDamaged for a journal that was changed, or that ends in half a line unless `torn` allows it,
        ConfigError for one without a step. The half line of a run that is under way is its next one and no damage.
        """
        if not folder.history.exists():
            folder.state()
        known, alive = folder.saved(), folder.alive()
        found = read(folder.history)
        if found.torn and not (torn or alive):
            raise JournalDamaged(
                f"{folder.path.name}: history.jsonl ends in half a line, as a kill leaves it; `looper resume "
                f"{folder.path.name}` cuts it off and goes on, then it can be replayed. Nothing was changed."
            )
        check_head(known, found.hashes)
        record = cls(folder.path, found.events, found.hashes)
        if not record.steps:
            raise ConfigError(f"{folder.path.name}: its journal has no step yet, so there is nothing to repeat.")
        return record

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def setup(self) -> Mapping[str, Any]:
        """What the run wrote down when it began."""
        first = next((event for event in self.events if event.event == "run_started"), None)
        return self.payload(first) if first else {}

    @property
    def ending(self) -> Event | None:
        """The event with the outcome, if the run has ended or waits; None if it was broken off or is under way."""
        last = self.events[-1]
        return last if last.event in ENDINGS and not last.key else None

    @property
    def outcome(self) -> Mapping[str, Any]:
        return self.payload(self.ending) if self.ending else {}

    @property
    def resumed(self) -> int:
        """Number of the line from which on the settings in config.yaml held: that of the last resume, else 0."""
        return max((event.seq for event in self.events if event.event == "resumed"), default=0)

    def payload(self, event: Event) -> Any:
        """Raises JournalDamaged if it lies in a file that was changed."""
        return load_payload(self.folder, event)
