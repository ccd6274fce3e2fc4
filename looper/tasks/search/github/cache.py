"""Pages that were read before, on disk: sweeps do not ask twice, and an aged page is confirmed by its ETag.

Several runs may share the folder: every file is written whole. A page is kept per server, query and page, apart for
signed and anonymous requests. What is kept is the checked page, never the reply, and so never a token.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from looper.errors import ConfigError
from looper.journal import write_whole
from looper.redact import redact
from looper.tasks.search.github.reply import Page

FORM = 1
"""Goes up when what is kept changes its form; older files are asked anew."""
LARGEST = 4_000_000
"""Bytes; no page is larger, as its texts are cut."""
_ETAG = re.compile(r'(?:W/)?"[!#-~]{1,200}"')


class Entry(BaseModel):
    """One page as it is kept."""

    asked: dict[str, str | int | bool]
    etag: str
    """Empty if the server gave none."""
    at: float
    """When the server last said that it is so; seconds since 1970."""
    page: Page


class Cache:
    """A folder of pages. An empty path keeps nothing."""

    def __init__(self, folder: str, base_url: str, anonymous: bool):
        self.folder = Path(folder).expanduser() if folder else None
        self.base_url, self.anonymous = base_url, anonymous
        self.damaged = 0
        """Files that could not be used and are asked anew."""

    def load(self, asked: dict[str, str | int]) -> Entry | None:
        """What is kept for the question. Raises ConfigError if the folder cannot be read."""
        path = self._path(asked)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                raw = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(f"the cache {path} cannot be read ({reason}); make it readable, or delete it.") from error
        entry = _opened(raw)
        if entry is None or entry.asked != self._key(asked):
            self.damaged += 1
            return None
        return entry

    def save(self, asked: dict[str, str | int], etag: str, at: float, page: Page) -> None:
        """Keeps a page. Raises Paused if the disk is full or read-only."""
        path = self._path(asked)
        if path is not None:
            etag = etag if _ETAG.fullmatch(etag) and redact(etag) == etag else ""
            entry = Entry(asked=self._key(asked), etag=etag, at=at, page=page)
            write_whole(path, _closed(entry))

    def _key(self, asked: dict[str, str | int]) -> dict[str, str | int | bool]:
        return {"form": FORM, "base_url": self.base_url, "anonymous": self.anonymous, **asked}

    def _path(self, asked: dict[str, str | int]) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / f"{_digest(self._key(asked))[:40]}.json"


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _closed(entry: Entry) -> bytes:
    data = entry.model_dump(mode="json")
    return json.dumps({"entry": data, "sha256": _digest(data)}).encode()


def _opened(raw: bytes) -> Entry | None:
    """The entry; None if a single byte of it was changed or lost."""
    try:
        data = json.loads(raw)
        if not isinstance(data, dict) or _digest(data.get("entry")) != data.get("sha256"):
            return None
        return Entry.model_validate(data["entry"])
    except (ValueError, RecursionError, ValidationError):
        return None
