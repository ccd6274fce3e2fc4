"""A map of a project for those who work on it: as much of what its files define as a limit of tokens allows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from looper.tasks.project.desk.outline import outline
from looper.tasks.project.editing.paths import matches

CHARACTERS_PER_TOKEN = 4
"""What a token of a program's text is counted as; tokenizers of 2024 and later take 3.3 to 4.2."""
MISSES = 25
"""Files in a row without room for a finer level after which no further ones are tried."""
Form = Callable[[str, str | int], str]
"""How a file is shown: its path, and its text or, for a file that is not a text, its bytes."""


def repo_map(source_texts: Mapping[str, str], others: Mapping[str, int], tokens: int, hide: Sequence[str] = ()) -> str:
    """The files of a project, within `tokens`: signatures with docstrings, signatures, names, paths, or folders.

    All files are shown at the finest of these levels at which they all have room, then some one level finer while
    there is room. What is left out is counted. `hide` are globs of paths, or folders, that are not told at all.
    Only as many files are parsed as there is room for.
    """
    files: dict[str, str | int] = {**others, **source_texts}
    shown = {path: files[path] for path in sorted(files) if not hidden(path, hide)}
    if not shown:
        return "no files"
    room = tokens * CHARACTERS_PER_TOKEN
    everything = _blocks(shown, _full, room)
    if everything is not None:
        return "".join(everything.values())
    for level in range(1, len(LEVELS)):
        blocks = _blocks(shown, LEVELS[level][0], room - len(_remark(len(shown), len(shown), level)))
        if blocks is not None:
            finer = _refine(shown, blocks, LEVELS[level - 1][0], room - len(_remark(len(shown), len(shown), level)))
            return "".join(blocks.values()) + _remark(len(shown) - finer, len(shown), level)
    return _folders(list(shown), room)


def hidden(path: str, hide: Sequence[str]) -> bool:
    """Whether a glob (see `paths.matches`) matches the path or a folder that holds it."""
    return any(matches(str(part), hide) for part in (path, *PurePosixPath(path).parents)) if hide else False


# Levels of detail, the finest first


def _full(path: str, file: str | int) -> str:
    return _block(path, file, outline(path, file).full if isinstance(file, str) else ())


def _bare(path: str, file: str | int) -> str:
    return _block(path, file, outline(path, file).bare if isinstance(file, str) else ())


def _names(path: str, file: str | int) -> str:
    names = outline(path, file).names if isinstance(file, str) else ()
    return f"{_head(path, file)}: {', '.join(names)}\n" if names else f"{_head(path, file)}\n"


def _path(path: str, file: str | int) -> str:
    return f"{path}\n"


LEVELS: tuple[tuple[Form, str, str], ...] = (
    (_full, "signatures and documentation", "nothing"),
    (_bare, "signatures only", "their documentation"),
    (_names, "names only", "their signatures"),
    (_path, "their path only", "what they define"),
)
"""How a file is shown, what that is called, and what it leaves out of the level before."""


def _block(path: str, file: str | int, lines: Sequence[str]) -> str:
    return _head(path, file) + "\n" + "".join(f"  {line}\n" for line in lines)


def _head(path: str, file: str | int) -> str:
    if isinstance(file, int):
        return f"{path} ({file:,} bytes, not a text)"
    found = outline(path, file)
    return f"{path} ({found.lines:,} line{'s' * (found.lines != 1)}{', ' * bool(found.problem)}{found.problem})"


def _blocks(files: Mapping[str, str | int], form: Form, room: int) -> dict[str, str] | None:
    """All files in this form, or None as soon as it is clear that they have no room."""
    blocks = {}
    left = room - sum(len(path) + 1 for path in files)
    for path, file in files.items():
        if left < 0:
            return None
        blocks[path] = form(path, file)
        left -= len(blocks[path]) - len(path) - 1
    return blocks if left >= 0 else None


def _refine(files: Mapping[str, str | int], blocks: dict[str, str], form: Form, room: int) -> int:
    """Puts finer blocks in place while there is room, the project's own code before its tests; how many it were."""
    left = room - sum(map(len, blocks.values()))
    done = misses = 0
    for path in sorted(files, key=lambda path: ("test" in path.lower(), path)):
        finer = form(path, files[path])
        more = len(finer) - len(blocks[path])
        if more <= left:
            left, done, misses = left - more, done + 1, 0
            blocks[path] = finer
        elif (misses := misses + 1) == MISSES:
            break
    return done


def _remark(coarse: int, every: int, level: int) -> str:
    _, shown, lost = LEVELS[level]
    return f"({coarse:,} of {every:,} files with {shown}, without {lost}: there is no room for more)\n"


def _folders(paths: Sequence[str], room: int) -> str:
    """Folders with the number of files in them, at the finest depth that has room."""
    deepest = max(len(PurePosixPath(path).parts) for path in paths)
    for depth in range(max(deepest - 1, 1), 0, -1):
        text = _counted(paths, depth)
        if len(text) <= room:
            return text
    lines = _counted(paths, 1).splitlines(keepends=True)[:-1]
    while lines:
        shown, remark = "".join(lines), f"(and more folders, {len(paths):,} files in all: there is no room for more)\n"
        if len(shown) + len(remark) <= room:
            return shown + remark
        lines.pop()
    return f"({len(paths):,} files)\n"


def _counted(paths: Sequence[str], depth: int) -> str:
    """Each folder down to a depth with what lies in it and, at that depth, below it."""
    found = Counter("/".join(PurePosixPath(path).parts[:-1][:depth]) for path in paths)
    lines = [f"{folder or '.'}/ {number:,} file{'s' * (number != 1)}\n" for folder, number in sorted(found.items())]
    return "".join(lines) + f"({len(paths):,} files, not named: there is no room for more)\n"
