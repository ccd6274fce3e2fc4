"""Reads what untrusted code left behind (SAFETY P11): no link is followed, no pipe waited on, nothing unpacked."""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from looper.checks.sandbox.types import Limits

NAME_LIMIT = 255
"""Length of a relative path that is still looked at, characters."""
DEPTH_LIMIT = 8
"""Folders below the collected one."""


def collect(folder: Path, names: Sequence[str], limits: Limits | None = None) -> dict[str, bytes]:
    """The regular files under `folder` whose relative path matches one of `names` (exact, or with `*` and `?`).

    Left out: links, pipes, devices, sockets, files above `limits.file_mb`, names with control or other undecodable
    characters, everything beyond `limits.workspace_mb` in sum or `limits.files` in number. A missing folder is empty.
    """
    limits = limits or Limits()
    found: dict[str, bytes] = {}
    left = limits.workspace_mb * 2**20
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return found
    try:
        for name, where in _walk(top, "", iter(range(limits.files))):
            if any(fnmatchcase(name, pattern) for pattern in names):
                data = read_regular(where, Path(name).name, min(limits.file_mb * 2**20, left))
                if data is not None:
                    found[name], left = data, left - len(data)
    finally:
        os.close(top)
    return found


def text_of(data: bytes) -> str:
    """Text whatever the bytes are: what is not UTF-8 is shown as U+FFFD."""
    return data.decode("utf-8", errors="replace")


def read_regular(where: int, name: str, limit: int) -> bytes | None:
    """The file `name` in the open folder `where`; None if it is not a regular file of at most `limit` bytes."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=where)
    except OSError:
        return None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > limit:
            return None
        with os.fdopen(os.dup(file), "rb") as stream:
            data = stream.read(limit + 1)
        return data if len(data) <= limit else None
    except OSError:
        return None
    finally:
        os.close(file)


def _walk(where: int, prefix: str, budget: Iterator[int], depth: int = 0) -> Iterator[tuple[str, int]]:
    """Relative paths of regular files, each with the open folder it is in; one of `budget` is spent per entry."""
    with os.scandir(where) as entries:
        listed = sorted((entry for entry, _ in zip(entries, budget, strict=False)), key=lambda entry: entry.name)
    for entry in listed:
        name = prefix + entry.name
        if len(name) > NAME_LIMIT or not name.isprintable():
            continue
        if entry.is_file(follow_symlinks=False):
            yield name, where
        elif entry.is_dir(follow_symlinks=False) and depth < DEPTH_LIMIT:
            yield from _below(where, entry.name, name + "/", budget, depth + 1)


def _below(where: int, folder: str, prefix: str, budget: Iterator[int], depth: int) -> Iterator[tuple[str, int]]:
    try:
        inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=where)
    except OSError:
        return
    try:
        yield from _walk(inner, prefix, budget, depth)
    finally:
        os.close(inner)
