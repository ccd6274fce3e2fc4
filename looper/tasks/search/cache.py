"""Collections that were built once: found again, checked, and built anew when their source has changed."""

import fcntl
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from looper.errors import ConfigError
from looper.tasks.search import documents, stdlib
from looper.tasks.search.database import FORMAT, build
from looper.tasks.search.documents import Document

STDLIB = "stdlib"


@dataclass(frozen=True)
class Source:
    """Where documents come from."""

    name: str
    stamp: Callable[[], str]
    """Cheap: changes whenever the documents may have."""
    digest: Callable[[], str]
    """Changes exactly when the source does; asked when the stamp has changed."""
    documents: Callable[[], Iterable[Document]]


def source(named: str) -> Source:
    """The standard library, or a JSON Lines file by its path."""
    if named == STDLIB:
        return Source(STDLIB, stdlib.stamp, stdlib.stamp, stdlib.collect)
    path = Path(named).expanduser().absolute()
    return Source(str(path), lambda: file_stamp(path), lambda: file_digest(path), lambda: documents.read(path))


def file_stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); the source is `stdlib` or a JSON Lines file of documents."
        ) from error
    return f"{found.st_size} {found.st_mtime_ns}"


def file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a JSON Lines file of documents.") from error


def database(origin: Source, folder: Path) -> Path:
    """The collection's file, built if it is not there, not whole, or not of the source as it is now.

    Any number of processes may ask at once: one builds, the others wait. Raises ConfigError if the folder cannot be
    written to although something has to be.
    """
    name = f"{Path(origin.name).stem[:40]}-{hashlib.sha256(origin.name.encode()).hexdigest()[:12]}"
    path = folder / f"{name}.sqlite"
    if current(path, origin.stamp()):
        return path
    try:
        with locked(folder, name):
            renew(path, origin)
    except (OSError, sqlite3.OperationalError) as error:
        raise ConfigError(
            f"{folder}: the search index cannot be written there ({error}); name a folder for it that can be written."
        ) from error
    return path


def renew(path: Path, origin: Source) -> None:
    stamp = origin.stamp()
    if current(path, stamp):
        return
    digest = origin.digest()
    if not current(path, digest, key="digest"):
        replace(path, origin)
    if origin.stamp() != stamp:
        raise ConfigError(f"{origin.name}: was changed while it was read; try again when it is complete.")
    write(path.with_suffix(".json"), {"stamp": stamp, "digest": digest, "format": FORMAT, "file": file_digest(path)})


def current(path: Path, wanted: str, key: str = "stamp") -> bool:
    """Whether the file is whole and of that source."""
    try:
        known = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        with path.open("rb") as file:
            whole = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):  # is built anew, or it is said why that is impossible
        return False
    return isinstance(known, dict) and (known.get(key), known.get("format"), known.get("file")) == (
        wanted,
        FORMAT,
        whole,
    )


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Be the one process that writes this collection. The lock file stays: see `Folder.locked`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left in folder.glob(f"{name}.*.work"):  # of a process that was killed
            shutil.rmtree(left)
        yield


def replace(path: Path, origin: Source) -> None:
    """Readers of the file that was there keep what they have opened."""
    with tempfile.TemporaryDirectory(prefix=f"{path.stem}.", suffix=".work", dir=path.parent) as work:
        fresh = Path(work, path.name)
        build(fresh, origin.documents())
        fresh.replace(path)


def write(path: Path, data: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{path.stem}.", suffix=".work", dir=path.parent) as work:
        fresh = Path(work, path.name)
        fresh.write_text(json.dumps(data), encoding="utf-8")
        fresh.replace(path)
