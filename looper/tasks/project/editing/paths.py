"""Paths as a coder gives them, and globs over them: relative to the project's folder, with forward slashes."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from looper.errors import ConfigError

MOST_CHARACTERS = 300
MOST_BYTES_OF_A_PART = 255
"""What common file systems take as one name."""
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control, format (zero width, direction), surrogate, line and paragraph separator."""
DRIVE = re.compile(r"[A-Za-z]:(/|$)")
TOKEN = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]/]+\]|.", re.DOTALL)


@dataclass(frozen=True)
class Refusal:
    """Why a path cannot be used; the reason goes on from the path: 'x' + ' is absolute; ...'."""

    reason: str
    outside: bool = False
    """Whether it leads out of the project or into git's own files."""


def safe(path: str) -> str | Refusal:
    """The path without `.` and doubled slashes, or why it cannot name a file of a project. Looks at no disk."""
    outside = _outside(path.replace("\\", "/"))
    if outside:
        return Refusal(outside, outside=True)
    reason = _unfit(path)
    return Refusal(reason) if reason else "/".join(_parts(path))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _outside(path: str) -> str:
    parts = _parts(path)
    if path.startswith("/") or DRIVE.match(path) or parts[:1] == ["~"]:
        return "is absolute; give a path relative to the project's folder"
    if ".." in parts:
        return "holds '..'; give a path inside the project's folder"
    return "belongs to git; leave it alone" if any(map(_of_git, parts)) else ""


def _of_git(part: str) -> bool:
    """Whether some file system takes it for `.git`: letter case, ignored characters, trailing dots, short names."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", part) if unicodedata.category(c) not in INVISIBLE)
    return visible.casefold().split(":")[0].rstrip(". ") in (".git", "git~1")


def _unfit(path: str) -> str:
    parts = _parts(path)
    if not parts:
        return "is empty; give the path of a file"
    if path.rsplit("/", 1)[-1] in ("", "."):
        return "names a folder; give the path of a file"
    if "\\" in path:
        return "holds a backslash; use forward slashes"
    if any(unicodedata.category(character) in INVISIBLE for character in path):
        return "holds a control character or an invisible one; leave it out"
    if len(path) > MOST_CHARACTERS or any(len(part.encode()) > MOST_BYTES_OF_A_PART for part in parts):
        return f"is too long; {MOST_CHARACTERS} characters and {MOST_BYTES_OF_A_PART} bytes per name are the limit"
    return ""


class Layout:
    """Files and folders that are there, to be asked whether a new file fits among them on any file system."""

    def __init__(self, files: Iterable[str]):
        self._files = {_folded(file): file for file in files}
        folders = {folder for file in self._files.values() for folder in _folders(file)}
        self._folders = {_folded(folder): folder for folder in folders}
        self._spelled = folders

    def refusal(self, path: str) -> Refusal | None:
        """Why there can be no new file at this path, which is `safe`; None if there can."""
        same = self._files.get(_folded(path))
        if same is not None and same != path:
            return Refusal(f"differs from the existing file {same} only in the case of letters; use that name")
        if _folded(path) in self._folders:
            return Refusal(f"is a folder or differs from the folder {self._folders[_folded(path)]} only in case")
        return next(filter(None, map(self._blocked, _folders(path))), None)

    def _blocked(self, folder: str) -> Refusal | None:
        file = self._files.get(_folded(folder))
        if file is not None:
            return Refusal(f"needs a folder where the file {file} is")
        there = self._folders.get(_folded(folder))
        if there is None or folder in self._spelled:
            return None
        return Refusal(f"differs from the existing folder {there} only in the case of letters; use that folder")


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs matches: `*` and `?` within a name, `**` over folders; without a slash any folder.

    Raises ConfigError for a glob that cannot be read.
    """
    return any(_pattern(glob).fullmatch(path) for glob in globs)


@lru_cache(maxsize=512)
def _pattern(glob: str) -> re.Pattern[str]:
    whole = f"{glob}**" if glob.endswith("/") else glob
    start = "" if "/" in glob else "(?:.*/)?"
    try:
        return re.compile(start + "".join(map(_token, TOKEN.findall(whole.removeprefix("./")))), re.DOTALL)
    except re.error as error:
        raise ConfigError(f"{glob!r} is not a pattern for paths ({error}); use *, ?, [abc] and **.") from error


def _token(token: str) -> str:
    fixed = {"**/": "(?:.*/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if token in fixed:
        return fixed[token]
    if len(token) > 1:
        inner = token[1:-1].replace("\\", r"\\")
        return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(token)
