"""Edits of a coder, applied strictly: all of them or none, and never where it would have to be guessed.

Line ends: a file keeps its own. What is given with line feeds alone is matched against a file of CRLF line ends, and
written into it, as if it had been given with CRLF, and the other way round. A file of mixed line ends is matched to the
letter, and a new file gets what was given.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from looper.tasks.project.editing.hunks import NOTHING, Misfit, apply_hunks, read_diff
from looper.tasks.project.editing.patch import header_name
from looper.tasks.project.editing.paths import Layout, Refusal, safe
from looper.tasks.project.editing.texts import line_end, similar, split_lines, unusable, with_end
from looper.tasks.project.reading.source import Source
from looper.tasks.project.states import Diff, Edit, Passage, Removal, WholeFile
from looper.types import STRICT

MOST_PLACES = 20
"""Places of a passage that are counted before it is said that there are more."""


@settings(frozen=True, kw_only=True, config=STRICT)
class EditLimits:
    """How much may differ from the project as it was given, in all and by file."""

    max_files: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Files that differ. A feature touches a dozen; more is a rewrite."""
    max_file_bytes: Annotated[int, Field(ge=1)] = 200_000
    """Bytes of one file. A file that is larger as given may be changed, but not grow."""
    max_total_bytes: Annotated[int, Field(ge=1)] = 2_000_000
    """Bytes of all files that differ."""


@dataclass(frozen=True)
class Applied:
    """What became of some edits."""

    changed: dict[str, str | None]
    """Text by path where it differs from the project as given; None: removed. As before if there is a problem."""
    touched: list[str]
    """Files that these edits changed, in their order."""
    problem: str = ""
    """Why no edit was applied: the first that does not fit, and why; empty if all were."""


def applied(source: Source, changed: Mapping[str, str | None], edits: Sequence[Edit], limits: EditLimits) -> Applied:
    """The workspace after the edits, one after the other, or as it was with the first reason against them."""
    draft = _Draft(source, changed)
    for number, edit in enumerate(edits, 1):
        try:
            draft.take(edit)
        except Misfit as misfit:
            return Applied(dict(changed), [], f"edit {number} of {len(edits)} ({edit.kind}, {edit.path!r}): {misfit}")
    problem = draft.beyond(limits)
    touched = [path for path in draft.touched if source.text(path, changed) != source.text(path, draft.changed)]
    if not problem and not touched:
        problem = "the edits change nothing"
    return Applied(dict(changed), [], problem) if problem else Applied(draft.changed, touched)


class _Draft:
    """A workspace while edits are made."""

    def __init__(self, source: Source, changed: Mapping[str, str | None]):
        self.source = source
        self.changed = dict(changed)
        self.touched: dict[str, None] = {}
        self._layout: Layout | None = None

    def take(self, edit: Edit) -> None:
        path = safe(edit.path)
        if isinstance(path, Refusal):
            raise Misfit(f"the path {path.reason}")
        if path in self.source.others:
            raise Misfit("the file is no text that can be edited: binary, a link or too large")
        before = self.source.text(path, self.changed)
        after = self._result(edit, path, before)
        if after == before:
            raise Misfit("it changes nothing; the file is like that already")
        if before is None:
            self._fit(path)
        self._put(path, after)

    def _result(self, edit: Edit, path: str, before: str | None) -> str | None:
        if isinstance(edit, Diff):
            after = _patched(edit, path, before)
            if before is None and after is None:
                raise Misfit(self._missing(path))
        elif isinstance(edit, WholeFile):
            after = with_end(edit.text, line_end(before or ""))
        elif before is None:
            raise Misfit(self._missing(path))
        else:
            after = None if isinstance(edit, Removal) else _replaced(edit, before)
        wrong = unusable(after or "")
        if wrong:
            raise Misfit(wrong)
        return after

    def _missing(self, path: str) -> str:
        near = difflib.get_close_matches(path, self.source.files(self.changed), n=1, cutoff=0.8)
        return "the file does not exist" + (f"; nearest to it is {near[0]}" if near else "")

    def _fit(self, path: str) -> None:
        self._layout = self._layout or Layout(self.source.files(self.changed))
        refusal = self._layout.refusal(path)
        if refusal:
            raise Misfit(f"the path {refusal.reason}")

    def _put(self, path: str, text: str | None) -> None:
        if (text is None) != (self.source.text(path, self.changed) is None):
            self._layout = None
        if self.source.texts.get(path) == text:
            self.changed.pop(path, None)
        else:
            self.changed[path] = text
        self.touched[path] = None

    def beyond(self, limits: EditLimits) -> str:
        """Which limit these changes break; empty if none."""
        if len(self.changed) > limits.max_files:
            return f"{len(self.changed)} files would differ from the project as given; the limit is {limits.max_files}"
        sizes = {path: len((text or "").encode()) for path, text in self.changed.items()}
        for path, size in sizes.items():
            most = max(limits.max_file_bytes, len(self.source.texts.get(path, "").encode()))
            if path in self.touched and size > most:
                return f"{path} would have {size} bytes; the limit is {most}"
        if sum(sizes.values()) > limits.max_total_bytes:
            return f"changed files would have {sum(sizes.values())} bytes; the limit is {limits.max_total_bytes}"
        return ""


def _replaced(edit: Passage, text: str) -> str:
    end = line_end(text)
    find, replace = with_end(edit.find, end), with_end(edit.replace, end)
    places = _places(text, find)
    if len(places) == 1:
        return text[: places[0]] + replace + text[places[0] + len(find) :]
    if places:
        more = " or more" if len(places) > MOST_PLACES else ""
        lines = ", ".join(dict.fromkeys(str(text.count("\n", 0, place) + 1) for place in places))
        raise Misfit(
            f"the passage occurs {len(places)} times{more} (lines {lines}); give more of what stands around it"
        )
    raise Misfit(f"the passage is not in the file{_hint(find, text)}")


def _places(text: str, find: str) -> list[int]:
    """Where the passage begins, overlaps included."""
    places: list[int] = []
    at = text.find(find)
    while at >= 0 and len(places) <= MOST_PLACES:
        places.append(at)
        at = text.find(find, at + 1)
    return places


def _hint(find: str, text: str) -> str:
    lines = split_lines(text)
    wanted = split_lines(find)
    bare = {line.rstrip("\r\n") for line in lines}
    absent = [line for line in wanted if line.strip() and line.rstrip("\r\n") not in bare]
    near = next(filter(None, (similar(line, lines) for line in absent[:1])), "")
    if near:
        return f"; {near}"
    return "; its lines are, but not one after the other like this" if len(wanted) > 1 and not absent else ""


def _patched(edit: Diff, path: str, before: str | None) -> str | None:
    """The file after a diff; None: it is gone."""
    end = line_end(before or "")
    diff = read_diff(with_end(edit.diff, "\n" if end else ""))
    for name in filter(None, (diff.old, diff.new)):
        if header_name(name) != NOTHING and path not in _meant(header_name(name)):
            raise Misfit(f"the diff is of {header_name(name)!r}; give one edit for each file, with its path")
    if before is None and not diff.created and not (diff.hunks and not any(hunk.old for hunk in diff.hunks)):
        return None
    if diff.created and before is not None:
        raise Misfit("the diff makes a new file, and there is one already")
    after = apply_hunks(with_end(before or "", "\n" if end else ""), diff.hunks)
    if diff.removed and after:
        raise Misfit("the diff removes the file, but not all of its lines")
    return None if diff.removed else after.replace("\n", end or "\n")


def _meant(name: str) -> set[str]:
    """Paths that a name in a diff's header can mean: with and without the a/ or b/ of git."""
    names = [name, name[2:]] if name.startswith(("a/", "b/")) else [name]
    return {path for path in map(safe, names) if isinstance(path, str)}
