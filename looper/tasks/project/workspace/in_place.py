"""Handing a finished change over to the user's own folder: all of it or nothing, and never through a link."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from looper.errors import PhaseError
from looper.tasks.project.reading.source import Source
from looper.tasks.project.workspace.commits import inside
from looper.tasks.project.workspace.git import cannot_write

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
SHOWN = 5
"""Names of files in one error."""


def hand_over(folder: Path, source: Source, changed: Mapping[str, str | None]) -> None:
    """Writes `changed` into the user's own folder, each file whole; done again it changes nothing.

    A file is only written if it is still as it was given or already as it shall be. Raises PhaseError naming the files
    that are not, and then writes nothing; Paused if the disk is full.
    """
    wanted = {inside(path): None if text is None else text.encode() for path, text in sorted(changed.items())}
    gone = {path for path, data in wanted.items() if data is None}
    other = [path for path, data in wanted.items() if not _may(folder, path, source.texts.get(path), data, gone)]
    if other:
        more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
        raise PhaseError(
            f"{folder}: {', '.join(other[:SHOWN])}{more} changed since the run began, so nothing was written; take the "
            "run's patch.diff."
        )
    for path, data in sorted(wanted.items(), key=lambda item: item[1] is not None):
        try:
            _remove(folder, path) if data is None else _write(folder, path, data)
        except OSError as error:
            raise cannot_write(folder / path, error) from error


def _may(folder: Path, path: str, given: str | None, wanted: bytes | None, gone: set[str]) -> bool:
    """Whether a file is as it was given or as it shall be, and can be reached without following a link."""
    try:
        with _opened(folder, path, make=False) as (where, name):
            found = _read(where, name)
    except FileNotFoundError:
        found = None
    except NotADirectoryError:
        above = {str(parent) for parent in PurePosixPath(path).parents}
        return given is None and bool(above & gone)
    except OSError:
        return False
    return found in (wanted, None if given is None else given.encode())


def _read(where: int, name: str) -> bytes:
    """Raises OSError for a link and for what is not a file."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=where)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("not a file")
        return opened.read()


@contextmanager
def _opened(folder: Path, path: str, make: bool) -> Iterator[tuple[int, str]]:
    """The folder that holds a path, opened step by step without following a link, and the path's last name."""
    *folders, last = PurePosixPath(path).parts
    where = os.open(folder, FOLDER)
    try:
        for part in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=where)
            inner = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=where)
            os.close(where)
            where = inner
        yield where, last
    finally:
        os.close(where)


def _write(folder: Path, path: str, data: bytes) -> None:
    with _opened(folder, path, make=True) as (where, name):
        mode = None
        with suppress(FileNotFoundError):
            if _read(where, name) == data:
                return
            mode = stat.S_IMODE(os.stat(name, dir_fd=where, follow_symlinks=False).st_mode)
        temporary = f".looper-{hashlib.sha256(name.encode()).hexdigest()[:12]}.tmp"
        with suppress(FileNotFoundError):  # of a try that was killed
            os.unlink(temporary, dir_fd=where)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o666, dir_fd=where), "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=where, dst_dir_fd=where)


def _remove(folder: Path, path: str) -> None:
    """Takes a file away, and the folders that are empty without it."""
    with suppress(FileNotFoundError, NotADirectoryError), _opened(folder, path, make=False) as (where, name):
        os.unlink(name, dir_fd=where)
    for above in list(PurePosixPath(path).parents)[:-1]:
        try:
            with _opened(folder, str(above), make=False) as (where, name):
                os.rmdir(name, dir_fd=where)
        except OSError:  # holds something, or is gone already
            return
