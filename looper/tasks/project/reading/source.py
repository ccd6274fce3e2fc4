"""The user's project folder, read once."""

import hashlib
import os
import posixpath
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from looper.errors import ConfigError
from looper.tasks.project.editing.paths import Refusal, safe
from looper.tasks.project.reading.listing import listed, too_many
from looper.types import STRICT


@settings(frozen=True, kw_only=True, config=STRICT)
class Limits:
    """How large a project may be."""

    max_files: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    """Files in all. More is a monorepo: point at one package of it."""
    max_bytes: Annotated[int, Field(ge=1)] = 50_000_000
    """Bytes of all files. Each run keeps a copy."""
    max_file_bytes: Annotated[int, Field(ge=1)] = 400_000
    """Bytes of a text file that is read; a larger one is listed, and neither shown nor edited."""


@dataclass(frozen=True)
class Source:
    """A project as it was given.

    Links are never followed. One to a place inside the project is listed among `others`, the file itself is there under
    its own name; one that leads outside, or is absolute, is left out.
    """

    folder: Path
    texts: Mapping[str, str]
    """Text by path, to the letter (line ends, byte order mark), UTF-8."""
    others: Mapping[str, int]
    """Bytes by path of what is binary, too large or a link: listed, never shown or edited."""
    left_out: tuple[str, ...] = ()
    """What is not taken, and why; for people."""
    digest: str = ""
    """SHA-256 over paths and contents of all files: the same project."""
    git: bool = False
    """Whether the folder is the top of a git work tree."""

    def text(self, path: str, changed: Mapping[str, str | None]) -> str | None:
        """A file's text with these changes; None if there is no such text file."""
        return changed[path] if path in changed else self.texts.get(path)

    def files(self, changed: Mapping[str, str | None]) -> list[str]:
        """All paths with these changes, in order."""
        gone = {path for path, text in changed.items() if text is None}
        return sorted((self.texts.keys() | self.others.keys() | changed.keys()) - gone)


def read_source(folder: Path, limits: Limits) -> Source:
    """Reads the project once.

    In a git repository it is what git tracks, and what it neither tracks nor ignores; elsewhere everything but caches,
    environments and outputs. Raises ConfigError if the folder cannot be used.
    """
    top = _folder(folder)
    listing = listed(top, limits.max_files)
    if len(listing.paths) > limits.max_files:
        raise too_many(top, str(len(listing.paths)), limits.max_files)
    reader = _Reader(top, limits, listing.left_out)
    for path in listing.paths:
        reader.take(path)
    if not reader.texts and not reader.others:
        raise ConfigError(f"{folder} holds no file of a project; give a folder with sources in it.")
    return Source(top, reader.texts, reader.others, tuple(reader.left_out), reader.digest.hexdigest(), listing.git)


def _folder(folder: Path) -> Path:
    try:
        top = folder.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"There is no project folder {str(folder)!r}; give an existing one.") from error
    if not top.is_dir():
        raise ConfigError(f"{folder} is a file; give the folder of the project.")
    return top


class _Reader:
    """Reads files in the order of their paths, within the limits."""

    def __init__(self, top: Path, limits: Limits, left_out: list[str]):
        self.top, self.limits = top, limits
        self.texts: dict[str, str] = {}
        self.others: dict[str, int] = {}
        self.left_out = list(left_out)
        self.digest = hashlib.sha256()
        self.bytes = 0

    def take(self, path: str) -> None:
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"The file name {path!a} in {self.top} is not UTF-8; rename the file.") from error
        try:
            kind = os.lstat(self.top / path)
        except FileNotFoundError:
            return  # tracked by git, and removed by the user: it is not there
        except OSError as error:
            raise self._unreadable(path, error) from error
        reason = self._reason(path, kind.st_mode)
        if reason:
            self.left_out.append(f"{path!r} {reason}")
        elif stat.S_ISLNK(kind.st_mode):
            self._link(path)
        else:
            self._file(path)

    def _reason(self, path: str, mode: int) -> str:
        """Why the file is left out; empty if it is not."""
        name = safe(path.rstrip("/"))
        if stat.S_ISDIR(mode):
            return "is a repository of its own"
        if isinstance(name, Refusal):
            return name.reason
        if stat.S_ISLNK(mode):
            return "" if self._inside(path) else "is a link that leads outside or nowhere"
        return "" if stat.S_ISREG(mode) else "is a pipe, a socket or a device"

    def _inside(self, path: str) -> bool:
        """Whether the link leads to the same place in every copy of the project."""
        target = str((self.top / path).readlink())
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if named != "." and isinstance(safe(named), Refusal):
            return False
        try:
            real = (self.top / path).resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        return real.is_relative_to(self.top) and ".git" not in real.relative_to(self.top).parts

    def _link(self, path: str) -> None:
        target = os.fsencode((self.top / path).readlink())
        self._count(path, "link", target)
        self.others[path] = len(target)

    def _file(self, path: str) -> None:
        data = self._read(path)
        self._count(path, "file", data)
        text = None if len(data) > self.limits.max_file_bytes or b"\0" in data else _decoded(data)
        if text is None:
            self.others[path] = len(data)
        else:
            self.texts[path] = text

    def _read(self, path: str) -> bytes:
        """At most one byte more than the project may still have; a file that became a pipe is never waited for."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(self.top / path, flags), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise ConfigError(f"{path} in {self.top} changed while it was read; try again.")
                return file.read(self.limits.max_bytes - self.bytes + 1)
        except OSError as error:
            raise self._unreadable(path, error) from error

    def _count(self, path: str, kind: str, data: bytes) -> None:
        self.bytes += len(data)
        if self.bytes > self.limits.max_bytes:
            raise ConfigError(
                f"{self.top} has more than max_bytes={self.limits.max_bytes} bytes ({path} is beyond it); point at a "
                "smaller folder, ignore what is no source, or raise max_bytes."
            )
        self.digest.update(f"{kind}\0{path}\0{len(data)}\0".encode() + data)

    def _unreadable(self, path: str, error: OSError) -> ConfigError:
        return ConfigError(f"{path} in {self.top} cannot be read ({error.strerror}); make it readable or ignore it.")


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
