"""The files of a project as a box of tests gets them: the folder as given, with the changed files laid over it."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from looper.errors import ConfigError

LEFT_OUT = {
    ".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
    ".venv", "node_modules",
}  # fmt: skip
"""History, caches and installed packages; no suite needs them, and they are most of what lies in a project's folder."""
ENVIRONMENT = "pyvenv.cfg"
"""A folder with this file is a virtual environment, whatever its name."""
MOST_FILES = 20_000
MOST_BYTES = 200 * 2**20
MIB = 2**20


@dataclass(frozen=True)
class Entry:
    """One file, link or empty folder."""

    kind: str
    """`file`, `link` or `folder`."""
    data: bytes = b""
    """Content of a file, target of a link."""
    mode: int = 0o644


Tree = dict[str, Entry]


def read_tree(base: Path, overlay: Mapping[str, str | None]) -> Tree:
    """What is in `base` without `LEFT_OUT`, with `overlay` over it; pipes, sockets and devices are not opened.

    A link is handed over as a link. Raises ConfigError for a folder that cannot be read or is too large, and for a path
    of the overlay that leaves it.
    """
    if not base.is_dir():
        raise ConfigError(f"There is no project folder {base}; name an existing folder.")
    tree: Tree = {}
    left = MOST_BYTES
    try:
        for name, entry in _walk(str(base), ""):
            tree[name] = entry
            left -= len(entry.data)
            if len(tree) > MOST_FILES or left < 0:
                raise ConfigError(
                    f"The project {base} has more than {MOST_FILES} files or {MOST_BYTES // MIB} MiB; "
                    "name the folder that holds the code and its tests alone."
                )
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read ({error.strerror}); make it readable.") from error
    for name, text in overlay.items():
        _lay(tree, inside(name), text)
    return tree


def inside(name: str) -> str:
    """A relative path with forward slashes. Raises ConfigError if it is not one inside the project."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or name.startswith("-"):
        raise ConfigError(f"{name!r} is not a path inside the project; use a relative path without '..'.")
    return str(path)


def size(tree: Tree) -> int:
    """MiB, rounded up, with a page for each file."""
    return sum(len(entry.data) + 4096 for entry in tree.values()) // MIB + 1


def holds(tree: Tree, name: str) -> bool:
    """Whether there is such a file, or anything below such a folder."""
    return name in tree or name == "." or any(other.startswith(f"{name}/") for other in tree)


def _lay(tree: Tree, name: str, text: str | None) -> None:
    """One changed file; whatever of the given project is in its way goes."""
    if text is None:
        tree.pop(name, None)
        return
    for parent in PurePosixPath(name).parents:
        tree.pop(str(parent), None)  # a link there would lead the new file elsewhere
    for other in [other for other in tree if other.startswith(f"{name}/")]:
        del tree[other]
    mode = tree[name].mode if name in tree else 0o644
    tree[name] = Entry("file", text.encode("utf-8", "surrogatepass"), mode)


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, Entry]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    if prefix and any(entry.name == ENVIRONMENT for entry in listed):
        return
    if prefix and not listed:
        yield prefix[:-1], Entry("folder")
    for entry in listed:
        if entry.name in LEFT_OUT:
            continue
        if entry.is_symlink():
            yield prefix + entry.name, Entry("link", os.fsencode(Path(entry.path).readlink()))
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield prefix + entry.name, _file(entry.path)


def _file(path: str) -> Entry:
    """Read without waiting, should a pipe have taken its place meanwhile."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        runs = os.fstat(stream.fileno()).st_mode & stat.S_IXUSR
        return Entry("file", stream.read(MOST_BYTES + 1), 0o755 if runs else 0o644)
