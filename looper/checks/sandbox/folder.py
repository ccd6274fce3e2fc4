"""Work folders: putting files in without being led astray, handing them to another user, measuring them."""

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from looper.errors import ConfigError

FILES_LIMIT = 500
"""Files, or entries beside them, that one start may lay over a folder: each costs a descriptor or a mount."""


def encoded(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    """The files by normalised relative path, as bytes. Raises ConfigError for a path that leaves the work folder."""
    if len(files) > FILES_LIMIT:
        raise ConfigError(f"{len(files)} files for one sandbox are too many (limit {FILES_LIMIT}); pass a workspace.")
    done = {}
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise ConfigError(f"{name!r} is not a path inside the work folder; use a relative path without '..'.")
        done[str(path)] = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return done


def write_inside(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes below `folder`, where untrusted code may have left links: none is followed, all are replaced.

    Raises OSError when a folder on the way is a link or a file.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    for name, data in files.items():
        *folders, last = PurePosixPath(name).parts
        with ExitStack() as opened:
            where = os.open(folder, flags)
            opened.callback(os.close, where)
            for part in folders:
                if not _there(where, part):
                    os.mkdir(part, dir_fd=where)
                where = os.open(part, flags | os.O_NOFOLLOW, dir_fd=where)
                opened.callback(os.close, where)
            _replace(where, last, data)


def _there(where: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=where, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _replace(where: int, name: str, data: bytes) -> None:
    if _there(where, name):
        os.unlink(name, dir_fd=where)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o644, dir_fd=where), "wb") as file:
        file.write(data)


def private_folder(workspace: Path | None = None) -> Path:
    """A new folder for one box, with a copy of `workspace` if one is given; links are copied as links."""
    top = Path(tempfile.mkdtemp(prefix="looper-box-"))
    if workspace is not None:
        shutil.copytree(workspace, top, symlinks=True, dirs_exist_ok=True, ignore=_special)
        top.chmod(0o700)
    return top


def _special(folder: str, names: list[str]) -> set[str]:
    """Pipes, sockets and devices: copying one would wait for ever."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return {name for name in names if not any(kind(os.lstat(Path(folder, name)).st_mode) for kind in kinds)}


def hand_over(folder: Path, uid: int) -> None:
    """Makes `uid` the owner of everything in `folder`; follows no link."""
    os.chown(folder, uid, uid, follow_symlinks=False)
    for _, folders, files, where in os.fwalk(folder, follow_symlinks=False):
        for name in folders + files:
            os.chown(name, uid, uid, dir_fd=where, follow_symlinks=False)


def open_to_all(folder: Path) -> bool:
    """Whether a user without rights of his own could read everything in `folder`."""
    for _, _, files, where in os.fwalk(folder, follow_symlinks=False):
        if os.fstat(where).st_mode & 0o005 != 0o005:
            return False
        for name in files:
            mode = os.stat(name, dir_fd=where, follow_symlinks=False).st_mode
            if not stat.S_ISLNK(mode) and not mode & 0o004:
                return False
    return True


def measure(folder: Path, most: int) -> tuple[int, int]:
    """Bytes on disk and entries in `folder`, looking at few more than `most`; what vanishes meanwhile is not there."""
    size = count = 0
    pending = [str(folder)]
    while pending and count <= most:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    count += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    if count > most:
                        break
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return size, count
