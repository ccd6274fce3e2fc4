"""Which files of a folder are the project: what git lists, else what a walk finds without caches and outputs."""

import os
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from looper.errors import ConfigError

NOT_SOURCE = (
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", "*.egg-info", "build", "dist", "outputs",
)  # fmt: skip
"""Folders that a walk does not enter, and from which git's untracked files are not taken."""
SECONDS = 60.0
"""For one git command; listing 5,000 files takes 0.02."""


@dataclass(frozen=True)
class Listing:
    """Paths relative to the folder, each once, in order; not looked at yet."""

    paths: list[str]
    git: bool
    """Whether the folder is the top of a git work tree."""
    left_out: list[str]


def listed(folder: Path, most: int) -> Listing:
    """The project's files; `most`: a walk ends with ConfigError beyond it. `folder` is an existing, resolved folder."""
    top = _work_tree(folder)
    if top is None:
        return _walked(folder, most)
    done = _git(folder, "ls-files", "-cot", "--exclude-standard", "-z")
    if done.returncode:
        raise ConfigError(f"git cannot list the files of {folder} ({_last(done)}); mend the repository.")
    names, skipped = set[str](), set[str]()
    for row in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        tag, path = row[:1], row[2:]
        found = _not_source(path) if tag == "?" else ""
        (skipped.add(found) if found else names.add(path))
    return Listing(sorted(names), top == folder, _said(skipped))


def _work_tree(folder: Path) -> Path | None:
    """The top of the git work tree whose files these are; None outside one, or if the outer one ignores the folder."""
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return None
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode == 0:
        top = Path(os.fsdecode(done.stdout.rstrip(b"\n"))).resolve()
        ignored = top != folder and _git(folder, "check-ignore", "-q", ".").returncode == 0
        return None if ignored else top
    if (folder / ".git").exists():
        raise ConfigError(f"git cannot read the repository {folder} ({_last(done)}); mend it or remove its .git.")
    return None


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs git with the user's own settings (what he ignores everywhere), but with no hook of a repository."""
    names = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        return subprocess.run(
            command, env=names | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} is in a git repository, and there is no git on PATH; install git.") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"git took more than {SECONDS:g} s in {folder}; look whether it is stuck there.") from error


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
    return next((line for line in lines if line.startswith("fatal:")), lines[-1])


def _walked(folder: Path, most: int) -> Listing:
    paths: list[str] = []
    skipped = set[str]()
    for where, folders, files in os.walk(folder, onerror=_unreadable):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        skipped.update(name for name in folders if _is_not_source(name))
        folders[:] = [name for name in folders if not _is_not_source(name)]
        base = Path(where).relative_to(folder)
        paths += [(base / name).as_posix() for name in [*files, *links] if name != ".git"]
        if len(paths) > most:
            raise too_many(folder, f"more than {most}", most)
    return Listing(sorted(paths), False, _said(skipped))


def too_many(folder: Path, count: str, most: int) -> ConfigError:
    return ConfigError(
        f"{folder} has {count} files, and max_files is {most}; point at a smaller folder, ignore what is no source, "
        "or raise max_files."
    )


def _unreadable(error: OSError) -> None:
    raise ConfigError(f"{error.filename} cannot be read ({error.strerror}); make it readable or move it.") from error


def _is_not_source(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in NOT_SOURCE)


def _not_source(path: str) -> str:
    """The first folder of the path that holds no source; empty if there is none."""
    return next((part for part in path.split("/")[:-1] if _is_not_source(part)), "")


def _said(names: set[str]) -> list[str]:
    """`.git` goes without saying."""
    told = sorted(names - {".git"})
    return [f"folders that hold caches, environments or outputs by their name: {', '.join(told)}"] if told else []
