"""Copies of the user's folder for their own test command, and what that command is."""

import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from looper.errors import ConfigError
from looper.tasks.repair.problem import Command

SKIPPED = frozenset([
    ".git", ".hg", ".svn", ".venv", "venv", "env", ".tox", ".nox", "node_modules", "__pycache__",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "outputs", "mlruns", "build", "dist",
    ".eggs",
])  # fmt: skip
"""Folders that tests do not need."""
MAX_MB = 100
"""The largest folder that is copied, MiB, without what is skipped."""
MAX_FILES = 5000
SHELL = set("|&;<>$`*?~#\n")
TESTS = ("test_*.py", "*_test.py", "tests.py", "conftest.py")


@dataclass
class Size:
    """What a copy holds."""

    mb: float
    files: int


def copied(command: Command, *, tests: bool = True) -> tuple[Path, Size]:
    """A new private copy of the folder, without test files if `tests` is false. Raises ConfigError if it is too large
    or the program is not in it."""
    folder = Path(command.folder)
    if not (folder / command.program).is_file():
        raise ConfigError(f"{command.program} is not a file in {folder}; give the program's path inside that folder.")
    chosen = wanted(folder, tests) if tests else apart(command)
    place = Path(tempfile.mkdtemp(prefix="looper-repair-"))
    place.chmod(0o755)
    try:
        for source in chosen:
            target = place / source.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise ConfigError(f"{folder} cannot be copied for the tests: {error}.") from error
    return place, Size(sum(path.stat().st_size for path in chosen) / 2**20, len(chosen))


def wanted(folder: Path, tests: bool) -> list[Path]:
    """The regular files to copy; links that lead to files are followed."""
    found: list[Path] = []
    total = 0
    for where, folders, files in os.walk(folder):
        folders[:] = [n for n in folders if n not in SKIPPED and (tests or n not in ("test", "tests", "testing"))]
        for path in (Path(where, name) for name in files):
            if not path.is_file() or path.suffix == ".pyc" or (not tests and any(map(path.match, TESTS))):
                continue
            total += path.stat().st_size
            found.append(path)
            if total > MAX_MB * 2**20 or len(found) > MAX_FILES:
                raise ConfigError(
                    f"{folder} is too large to copy for every worker (limit {MAX_MB} MiB and {MAX_FILES} files); "
                    "move program and tests into a folder of their own."
                )
    return found


def apart(command: Command) -> list[Path]:
    """The files that an untrusted candidate may see: no tests by name or place, and none that the command names."""
    folder, program = Path(command.folder), Path(command.folder) / command.program
    named = [folder / word.partition("::")[0] for word in shlex.split(command.command) if not word.startswith("-")]
    hidden = [path for path in named if path.exists() and path != folder and not program.is_relative_to(path)]
    files = wanted(folder, tests=False)
    shown = [path for path in files if not any(path.is_relative_to(place) for place in hidden)]
    return shown if program in shown else [*shown, program]


def pytest_arguments(command: Command) -> tuple[list[str], str | None] | None:
    """Arguments of a plain pytest command and the interpreter it names, None for any other command."""
    if set(command.command) & SHELL or not command.command.strip():
        return None
    words = shlex.split(command.command)
    if Path(words[0]).name in ("pytest", "py.test"):
        return words[1:], interpreter(command, Path(words[0]).with_name("python")) if os.sep in words[0] else None
    if words[1:3] == ["-m", "pytest"] and Path(words[0]).name.startswith("python"):
        return words[3:], interpreter(command, Path(words[0])) if os.sep in words[0] else None
    return None


def interpreter(command: Command, path: Path) -> str:
    """A named interpreter, relative to the user's folder."""
    return str((Path(command.folder) / path).absolute())


def module_name(command: Command) -> tuple[str, str]:
    """Import name of the program and the folder (inside the user's) from which it is imported."""
    path = Path(command.program)
    parts = [] if path.name == "__init__.py" else [path.stem]
    parent = path.parent
    while parent != Path() and (Path(command.folder) / parent / "__init__.py").is_file():
        parts.insert(0, parent.name)
        parent = parent.parent
    return ".".join(parts), str(parent)
