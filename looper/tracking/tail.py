"""A journal read while it is written."""

import json
from pathlib import Path

from looper.errors import JournalDamaged
from looper.journal import Event, unseal


class Tail:
    """Reads what was appended to a journal since the last look, and checks the hash chain on the way."""

    def __init__(self, path: Path):
        self.path = path
        self.offset = 0
        self.hash = ""
        self.first = ""
        """Hash of the first line: the run's identity, for folders may be renamed and sweeps number theirs alike."""

    def read(self) -> list[Event]:
        """The whole lines that are new; an unfinished one is left for the next look. Raises JournalDamaged."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self.offset)
            *lines, _unfinished = file.read().split(b"\n")
        return [self._open(line) for line in lines]

    def _open(self, line: bytes) -> Event:
        opened = unseal(line, self.hash)
        if opened is None:
            raise JournalDamaged(f"{self.path}: byte {self.offset} and after is not what was written.")
        self.offset += len(line) + 1
        self.hash = opened[1]
        self.first = self.first or self.hash
        # json, not pydantic's parser, which refuses the lone surrogates that texts may hold
        return Event.model_validate(json.loads(opened[0]))
