"""The append-only record of a run: one JSON line per event, `history.jsonl`. Resuming is re-reading it.

Line format of document 003 (ts, run_id, iteration, phase, step, event, status, payload) plus the step's key, the
fingerprint of its inputs, cost, calls and seconds, a sequence number and a hash chain. The chain tells a torn tail (cut
when the journal is opened for writing) from damage (refused, SAFETY P4).
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from looper.errors import JournalDamaged, Paused, PhaseError, ReplayMismatch
from looper.redact import redact, redact_data
from looper.types import Call

LARGE = 64 * 1024
"""Bytes of JSON above which a payload goes to a content-addressed file beside the journal."""
DIGEST = 32
"""Hex digits of a line's hash."""


class Event(BaseModel):
    """One line of `history.jsonl`."""

    seq: int = 0
    ts: str = ""
    run_id: str = ""
    iteration: int = 0
    phase: str = ""
    step: str = ""
    event: str
    status: str = "ok"
    payload: Any = None
    key: str = ""
    """Structural key of the step, e.g. `iteration.2/decide.1`; empty for events that are not steps."""
    inputs: str = ""
    """Fingerprint of what the step was given; empty for an answer that a person filed."""
    by: str = ""
    cost: dict[str, float] = {}
    """What was charged, by account (inner, outer, usd, tokens, calls)."""
    calls: list[Call] = []
    seconds: float = 0.0
    """How long the step took, by the monotonic clock."""
    elapsed: float = 0.0
    """Working time of this process on this run so far; waiting for a server's Retry-After is not in it."""
    said: str = ""


def fingerprint(inputs: Any) -> str:
    """Twelve hex digits that change when the inputs do."""
    text = json.dumps(to_jsonable_python(inputs, serialize_unknown=True), sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def seal(body: bytes, previous: str) -> tuple[bytes, str]:
    """A line with its link of the chain as last field."""
    digest = hashlib.blake2b(previous.encode() + body, digest_size=DIGEST // 2).hexdigest()
    return b'%s,"hash":"%s"}\n' % (body[:-1], digest.encode()), digest


def unseal(line: bytes, previous: str) -> tuple[bytes, str] | None:
    """The body and hash of a line without its newline, or None if it is not what was written."""
    tail = len(b',"hash":""}') + DIGEST
    body, digest = line[:-tail] + b"}", line[-DIGEST - 2 : -2].decode("ascii", "replace")
    return (body, digest) if seal(body, previous) == (line + b"\n", digest) else None


class Read(BaseModel):
    """What a look at a journal file gave."""

    events: list[Event]
    hashes: list[str]
    good: int
    """Bytes up to the end of the last whole line."""
    torn: bool
    """Whether an unfinished line follows."""


def read(path: Path) -> Read:
    """All events of a journal, without changing it. Raises JournalDamaged for anything but a torn tail."""
    data = path.read_bytes() if path.exists() else b""
    *lines, tail = data.split(b"\n")
    events: list[Event] = []
    hashes: list[str] = []
    for number, line in enumerate(lines, 1):
        opened = unseal(line, hashes[-1] if hashes else "")
        if opened is None:
            raise JournalDamaged(
                f"{path.name}: line {number} is not what was written; nothing was run. Restore the file from a backup, "
                "or start a new run."
            )
        # json, not pydantic's parser, which refuses the lone surrogates that texts may hold
        events.append(Event.model_validate(json.loads(opened[0])))
        hashes.append(opened[1])
    if tail and unseal(tail[:-1], hashes[-1] if hashes else ""):
        raise JournalDamaged(f"{path.name}: the end of line {len(lines) + 1} was changed after it was written.")
    return Read(events=events, hashes=hashes, good=len(data) - len(tail), torn=bool(tail))


class Journal:
    """Steps by key, and the file they are appended to. Without a path it lives in memory only.

    Safe for threads. With `sync` every event is on disk (fdatasync) before `append` returns, except those marked
    `lazy`, which the next synced event takes along.
    """

    def __init__(self, path: Path | None = None, *, run_id: str = "", sync: bool = True):
        self.path, self.run_id, self.sync = path, run_id, sync
        self.events: list[Event] = []
        self.steps: dict[str, Event] = {}
        self.tries: dict[str, list[Event]] = {}
        self.hashes: list[str] = []
        self.listeners: list[Callable[[Event], None]] = []
        self._lock = threading.Lock()
        self._file: int | None = None
        self._size = 0
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        found = read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if self.sync and not found.events:
            sync_folder(path.parent)  # or a loss of power could take the whole new file
        if found.torn:
            os.ftruncate(self._file, found.good)
            os.fsync(self._file)
        self._size, self.hashes = found.good, found.hashes
        for event in found.events:
            self._index(event)

    def _index(self, event: Event) -> None:
        self.events.append(event)
        if event.event in ("call_started", "call_done"):
            self.tries.setdefault(event.key, []).append(event)
        elif event.key:
            self.steps[event.key] = event
            self.tries.pop(event.key, None)

    def find(self, key: str, inputs: str) -> Event | None:
        """The finished step under this key; raises ReplayMismatch if it was given other inputs."""
        event = self.steps.get(key)
        if event and event.inputs and event.inputs != inputs:
            raise ReplayMismatch(
                f"{key}: its inputs differ from those in the journal (settings or code changed since). "
                "Restore them, or start a new run."
            )
        return event

    def append(self, event: Event, *, lazy: bool = False) -> Event:
        """Write one event; returns it as a reader would see it (redacted, decoded from JSON)."""
        payload = self._stow(event)
        with self._lock:
            if self.path is not None and self._file is None:
                raise RuntimeError(f"{event.event}: the journal is closed; nothing may happen after it")
            event = event.model_copy(
                update={
                    "seq": len(self.events) + 1,
                    "ts": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                    "run_id": self.run_id,
                    "payload": payload,
                    "said": redact(event.said),
                }
            )
            self._write(event)
            self._index(event)
        if self._file is not None and self.sync and not lazy:
            self._flush(self._file)
        for listener in self.listeners:
            listener(event)
        return event

    def _write(self, event: Event) -> None:
        body = json.dumps(event.model_dump(mode="json"), separators=(",", ":"), allow_nan=False).encode()
        line, digest = seal(body, self.hashes[-1] if self.hashes else "")
        if self._file is not None:
            try:
                written = os.write(self._file, line)
                if written != len(line):
                    raise OSError(f"only {written} of {len(line)} bytes could be written")
            except OSError as error:
                os.ftruncate(self._file, self._size)
                raise self._full(error) from error
            self._size += len(line)
        self.hashes.append(digest)

    def _flush(self, file: int) -> None:
        try:
            os.fdatasync(file)
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> Paused:
        return Paused(
            f"history.jsonl cannot be written ({error.strerror or error}); what was written is whole. Free some space "
            "or make the folder writable, then `resume`.",
            "storage",
        )

    def _stow(self, event: Event) -> Any:
        """The payload as JSON data, free of secrets; a large one becomes a reference to a file."""
        data = to_jsonable_python(event.payload)
        try:
            text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        except ValueError as error:
            raise PhaseError(f"{event.key or event.event}: its value cannot be kept ({error}).") from error
        if redact(text) != text:
            data = redact_data(data)
            text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        if self.path is None or (len(text) <= LARGE and not is_reference(data)):
            return json.loads(text)
        name = hashlib.sha256(text.encode()).hexdigest()
        target = self.path.parent / "blobs" / name
        if not target.exists():
            write_whole(target, text.encode())
        return {"$blob": name}

    def payload(self, event: Event) -> Any:
        """The payload itself, read from its file if it was large. Raises JournalDamaged if that file was changed."""
        return load_payload(self.path.parent, event) if self.path else event.payload

    def close(self) -> None:
        """Release the file; the journal can still be read."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)


def is_reference(data: Any) -> bool:
    """Whether this stands for a file; data that only looks so is kept in a file itself."""
    return isinstance(data, dict) and data.keys() == {"$blob"}


def load_payload(folder: Path, event: Event) -> Any:
    """The payload of an event of the journal in `folder`."""
    if not is_reference(event.payload):
        return event.payload
    name = event.payload["$blob"]
    file = folder / "blobs" / Path(name).name
    data = file.read_bytes() if file.exists() else b""
    if hashlib.sha256(data).hexdigest() != name:
        raise JournalDamaged(f"blobs/{name[:12]}...: missing or changed after it was written; nothing was run.")
    return json.loads(data)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old or the new one, never a part (SAFETY P3).

    Raises Paused if it cannot be written: the disk is full, or the folder read-only.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise Paused(
            f"{path.name} cannot be written ({error.strerror or error}); what was written is whole. Free some space or "
            "make the folder writable, then `resume`.",
            "storage",
        ) from error


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
