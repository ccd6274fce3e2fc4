"""Typed edits of a program: what a repair tries (SPEC 7.2).

An edit is a splice at character offsets, so lines it does not touch keep their formatting and comments.
"""

import ast
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain

from pydantic import BaseModel, Field

from looper.errors import ConfigError
from looper.tasks.quiet import quietly
from looper.tasks.repair.forms import form_of
from looper.tasks.repair.operators import (
    arithmetic,
    calls,
    conditions,
    constants,
    insertions,
    names,
    repeats,
    statements,
    subscripts,
    values,
)
from looper.tasks.repair.operators.scene import COMPOUND, FUNCTION, Draft, Scene
from looper.tasks.repair.operators.statements import row

MODULES = (conditions, arithmetic, constants, names, calls, subscripts, values, statements, insertions, repeats)
KINDS: dict[str, str] = {kind: text for module in MODULES for kind, text in module.KINDS.items()}
"""Every kind of edit with one line for people and prompts; the part before the dot is its family."""
PRONE_TO_OVERFIT = frozenset({"condition.constant", "statement.delete"})
"""Kinds that often satisfy tests by removing behaviour; their priors are low for that reason."""
SHOWN = 60
NEAR = 12
"""Lines that an edit may lie before or behind the statement it is made from (statements exchanged, `elif`)."""
UNUSED = 2.0
"""How much likelier an edit is that reads a variable which the function binds and never reads."""
WORD = re.compile(r"\w+")


class Edit(BaseModel, frozen=True):
    """One change of one contiguous piece of the source."""

    kind: str
    """Named operator, a key of KINDS."""
    line: int = Field(ge=1)
    """Line that is to blame, 1-based: where the change begins, or the statement next to an insertion."""
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    """Character offsets in the source; `start == end` inserts."""
    text: str
    """What takes the place of `source[start:end]`."""
    summary: str
    """For people: "line 7: `<` becomes `<=`"."""
    prior: float = Field(ge=0, le=1)
    """How likely such an edit is right before localisation; set by experience, only the order matters."""


def apply_edit(source: str, edit: Edit) -> str:
    """The source with the edit made; ConfigError if the edit lies outside it."""
    if not edit.start <= edit.end <= len(source):
        raise ConfigError(f"edit {edit.summary!r} lies outside the program: enumerate edits of this very source")
    return source[: edit.start] + edit.text + source[edit.end :]


def apply_pair(source: str, pair: tuple[Edit, Edit]) -> str:
    """Two edits of the same source, made together; they must not overlap."""
    first, second = sorted(pair, key=lambda edit: (edit.start, edit.end))
    if first.end > second.start:
        raise ConfigError(f"edits overlap: {first.summary!r} and {second.summary!r}; choose disjoint ones")
    return apply_edit(apply_edit(source, second), first)


def enumerate_edits(
    source: str,
    *,
    lines: Collection[int] | None = None,
    kinds: Collection[str] | None = None,
    support: Mapping[str, str] | None = None,
) -> list[Edit]:
    """All first-order edits in a fixed order, each with a result that compiles and that no other one has.

    `lines` keeps edits to blame on these lines, `kinds` keeps kinds or families (a key of KINDS or its part before
    the dot; ConfigError if unknown). `support` holds the sources of modules that the program imports from.
    """
    unknown = set(kinds or ()) - KINDS.keys() - {kind.split(".")[0] for kind in KINDS}
    if unknown:
        raise ConfigError(f"unknown kinds of edit: {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")
    try:
        scene = Scene(source, dict(support or {}))
    except SyntaxError as error:
        where = f"line {error.lineno}: {error.msg}"
        raise ConfigError(f"the program is not valid Python ({where}); correct that first") from error
    with quietly():
        return [_edit(scene, draft) for draft in _distinct(scene, lines, kinds)]


def _distinct(scene: Scene, lines: Collection[int] | None, kinds: Collection[str] | None) -> Collection[Draft]:
    """The likeliest draft of each different result, where it first came up."""
    best: dict[object, Draft] = {}
    originals, unused = _Originals(scene), scene.vocabulary.unused()
    first = list(_drafts(scene, lines))
    for draft in chain(first, repeats.everywhere(scene, first)):
        if lines is not None and draft.line not in lines:
            continue
        if kinds is not None and draft.kind not in kinds and draft.kind.split(".")[0] not in kinds:
            continue
        draft = _favoured(draft, unused)
        key = originals.key(draft)
        if key is not None and (key not in best or draft.prior > best[key].prior):
            best[key] = draft
    return best.values()


def _drafts(scene: Scene, lines: Collection[int] | None) -> Iterator[Draft]:
    table = [pair for module in MODULES for pair in module.OPERATORS]
    for node in scene.nodes:
        if lines is not None and not _near(scene, node, lines):
            continue
        for types, operator in table:
            if isinstance(node, types):
                for draft in operator(scene, node):
                    if draft is not None and scene.source[draft.start : draft.end] != draft.text:
                        yield draft


def _favoured(draft: Draft, unused: list[tuple[int, int, set[str]]]) -> Draft:
    """A draft that brings in a variable which its function never reads is likelier than its kind."""
    for first, last, unread in unused:
        if first <= draft.line <= last and unread.intersection(WORD.findall(draft.text)):
            return draft._replace(prior=min(1.0, draft.prior * UNUSED))
    return draft


def _near(scene: Scene, node: ast.AST, lines: Collection[int]) -> bool:
    """Whether edits made at the node can be to blame on one of the lines; saves most of the work on long programs."""
    unit = scene.unit(node)
    if unit is None:
        return True
    first, last = unit.lineno - NEAR, (unit.end_lineno or unit.lineno) + NEAR
    return any(first <= line <= last for line in lines)


class _Originals:
    """Keys of results: the tree of the one statement changed or added if there is one, else that of the function."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.trees: dict[ast.stmt, str | None] = {}
        self.codes: dict[tuple[int, int], str | None] = {}
        rows = [row(scene, node) for node in scene.tree.body if isinstance(node, (*FUNCTION, ast.ClassDef))]
        self.parts = [(line.start, line.end) for line in rows if line]
        self.declared = any(isinstance(n, ast.Global | ast.Nonlocal | ast.AsyncFunctionDef) for n in scene.nodes)

    def key(self, draft: Draft) -> object | None:
        """None for a draft that does not compile or changes nothing."""
        if draft.unit is not None and not isinstance(draft.unit, ast.Try | ast.Match):
            start, end = self.scene.unit_span(draft.unit)
            if start <= draft.start and draft.end <= end:
                return self._local(draft, draft.unit, start, end)
        if draft.kind.startswith(("insert.", "statement.copy")) and draft.text.endswith("\n") and not self.declared:
            # New lines cannot clash with their surroundings, except after `global x` and in generators that are async.
            added = tree_of(textwrap.dedent(draft.text))
            return None if added is None else (draft.start, len(draft.text) - len(draft.text.lstrip()), added)
        start, end = self._part(draft)
        if (start, end) not in self.codes:
            self.codes[start, end] = form_of(self.scene.source[start:end])
        form = self._code_of(draft)
        return None if form is None or form == self.codes[start, end] else (start, form)

    def _part(self, draft: Draft) -> tuple[int, int]:
        """Span of the top-level statement that the draft stays inside; else of the whole program."""
        for start, end in self.parts:
            if start <= draft.start and draft.end <= end:
                return start, end
        return 0, len(self.scene.source)

    def _code_of(self, draft: Draft) -> str | None:
        start, end = self._part(draft)
        return form_of(self.scene.source[start : draft.start] + draft.text + self.scene.source[draft.end : end])

    def _local(self, draft: Draft, unit: ast.stmt, start: int, end: int) -> object | None:
        source, tail = self.scene.source, " pass" if isinstance(unit, COMPOUND) else ""
        if unit not in self.trees:
            self.trees[unit] = tree_of(source[start:end] + tail)
        result = tree_of(source[start : draft.start] + draft.text + source[draft.end : end] + tail)
        if result is None or result == self.trees[unit] or (self.declared and self._code_of(draft) is None):
            return None
        return start, result


@lru_cache(maxsize=50_000)
def tree_of(text: str) -> str | None:
    """The tree of one statement without positions; None if it is not valid."""
    if text.startswith("elif"):
        text = text[2:]
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def _edit(scene: Scene, draft: Draft) -> Edit:
    old, new = (_shown(text) for text in (scene.source[draft.start : draft.end], draft.text))
    if not old:
        what = f"`{new}` inserted"
    elif not new or new == "pass":
        what = f"`{old}` deleted"
    else:
        what = f"`{old}` becomes `{new}`"
    summary = f"line {draft.line}: {what}"
    return Edit(kind=draft.kind, line=draft.line, start=draft.start, end=draft.end, text=draft.text,
                summary=summary, prior=round(min(1.0, draft.prior), 6))  # fmt: skip


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"
