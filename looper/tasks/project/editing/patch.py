"""A changed workspace as a patch that `git apply` takes, and back."""

import difflib
import re
from collections.abc import Iterator, Mapping

from looper.errors import ConfigError
from looper.tasks.project.editing.hunks import NO_END, NOTHING, FileDiff, Misfit, apply_hunks, read_diff
from looper.tasks.project.editing.paths import Layout, Refusal, safe
from looper.tasks.project.editing.texts import shown, split_lines, unusable
from looper.tasks.project.reading.source import Source

FILE = "diff --git "
MODE = "100644"
ESCAPES = {"\\": "\\", '"': '"', "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def render(source: Source, changed: Mapping[str, str | None]) -> str:
    """The changes as git writes them, ordered by path; empty if there are none."""
    return "".join(_file(path, source.texts.get(path), changed[path]) for path in sorted(changed))


def _file(path: str, before: str | None, after: str | None) -> str:
    if before == after:
        return ""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    parts = [f"{FILE}{old} {new}\n"]
    if before is None or after is None:
        parts.append(f"{'new' if before is None else 'deleted'} file mode {MODE}\n")
    if before or after:
        parts += [f"--- {_label(NOTHING if before is None else old)}\n"]
        parts += [f"+++ {_label(NOTHING if after is None else new)}\n", *_hunks(before or "", after or "")]
    return "".join(parts)


def _hunks(before: str, after: str) -> Iterator[str]:
    diff = difflib.unified_diff(split_lines(before), split_lines(after), n=3)
    for line in list(diff)[2:]:
        yield line if line.endswith("\n") else f"{line}\n{NO_END}\n"


def _label(name: str) -> str:
    """As git writes it below `diff --git`: a tab after a name with spaces, so that its end is known."""
    return f"{name}\t" if " " in name else name


def _quoted(name: str) -> str:
    """The name as git writes it: in quotes, with octal bytes, if it holds more than plain ASCII."""
    data = name.encode()
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in data):
        return name
    return '"' + "".join(_escaped(byte) for byte in data) + '"'


def _escaped(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def header_name(name: str) -> str:
    """The name behind `---` or `+++`, without quotes, time stamp and line end."""
    name = name.rstrip("\r")
    return _unquoted(name[: name.rindex('"') + 1]) if name.startswith('"') else name.split("\t")[0]


def _unquoted(name: str) -> str:
    def byte(found: re.Match[bytes]) -> bytes:
        token = found[1].decode("latin-1")
        return bytes([int(token, 8) & 255]) if token.isdigit() else ESCAPES.get(token, token).encode("latin-1")

    return re.sub(rb"\\([0-7]{1,3}|.)", byte, name[1:-1].encode()).decode(errors="replace")


def parse(source: Source, text: str) -> dict[str, str | None]:
    """The changes that a patch makes to the project as given: the inverse of `render`.

    Raises ConfigError if it does not apply exactly: at the lines it states, to text files only.
    """
    changed: dict[str, str | None] = {}
    for head, body in _sections(text):
        path = "?"
        try:
            path = _path(head)
            if path in changed:
                raise Misfit("it is in the patch twice")
            changed[path] = _changed(source, path, read_diff(body))
        except Misfit as misfit:
            raise ConfigError(f"The patch does not apply to this project: {path}: {misfit}.") from misfit
    _check_layout(source, changed)
    return changed


def _sections(text: str) -> list[tuple[str, str]]:
    """By file its `diff --git` line and what follows; no line of a hunk can begin so."""
    sections: list[tuple[str, list[str]]] = []
    for line in split_lines(text):
        if line.startswith(FILE):
            sections.append((line.removeprefix(FILE).rstrip("\n"), []))
        elif sections:
            sections[-1][1].append(line)
        else:
            raise ConfigError(
                f"This is no patch of git, it begins with {shown(line)}; give one that `git diff` writes."
            )
    return [(head, "".join(lines)) for head, lines in sections]


def _path(head: str) -> str:
    """The path from `a/x b/x`; either both names are quoted or none is."""
    half = len(head) // 2
    old, new = header_name(head[:half]), header_name(head[half + 1 :])
    if old[:2] != "a/" or new[:2] != "b/" or old[2:] != new[2:]:
        raise Misfit(f"renames cannot be taken, nor names like {shown(head)}")
    path = safe(old[2:])
    if isinstance(path, Refusal):
        raise Misfit(f"the path {path.reason}")
    return path


def _changed(source: Source, path: str, diff: FileDiff) -> str | None:
    before = source.texts.get(path)
    if path in source.others:
        raise Misfit("the file is no text that can be edited")
    if diff.created != (before is None):
        raise Misfit("there is no such file" if before is None else "the file is there already")
    _check_names(path, diff)
    after = apply_hunks(before or "", diff.hunks, exact=True)
    if diff.removed and after:
        raise Misfit("it is removed, but not all of its lines are")
    if unusable(after):
        raise Misfit(unusable(after))
    return None if diff.removed else after


def _check_names(path: str, diff: FileDiff) -> None:
    wanted = {diff.old: NOTHING if diff.created else f"a/{path}", diff.new: NOTHING if diff.removed else f"b/{path}"}
    for name, right in wanted.items():
        if name and header_name(name) != right:
            raise Misfit(f"its header names {shown(name)}")


def _check_layout(source: Source, changed: Mapping[str, str | None]) -> None:
    """New files must fit among those that stay and among each other."""
    layout = Layout(source.files(changed))
    for path, text in changed.items():
        refusal = layout.refusal(path) if text is not None and path not in source.texts else None
        if refusal:
            raise ConfigError(f"The patch does not apply to this project: {path} {refusal.reason}.")
