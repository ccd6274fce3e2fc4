"""What the roles are shown of a workspace, within the tokens of a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from looper.criteria import Finding
from looper.tasks.project.desk.relevant import relevant
from looper.tasks.project.desk.repo_map import CHARACTERS_PER_TOKEN, repo_map
from looper.tasks.project.editing import patch
from looper.tasks.project.editing.changing import texts_of
from looper.tasks.project.gate import below
from looper.tasks.project.reading.source import Source
from looper.tasks.project.states import Tree

MAP, FILES, DIFF, FAILING = 0.2, 0.48, 0.2, 0.1
"""Shares of a prompt's tokens: the map, whole files, the change so far, failing tests. The rest is for words."""
ONE = 600
"""Characters of one failing test."""


@dataclass(frozen=True)
class Desk:
    """A project and how many tokens may be shown of it."""

    source: Source
    tokens: int

    def map(self, changed: Mapping[str, str | None]) -> str:
        return repo_map(texts_of(self.source, changed), self.source.others, int(self.tokens * MAP))

    def coder(self, state: Tree, results: Mapping[str, Finding], words: str, checks: Sequence[str]) -> dict[str, Any]:
        """The map, the files that matter, what fails (of the named checks, if any are named)."""
        failing = {name: one.note for name, one in results.items() if not one.passed}
        first = (
            {name: note for name, note in failing.items() if any(below(name, one) for one in checks)}
            if checks
            else failing
        )
        report = state.report
        places = [test.at for test in report.tests if test.id in first and test.at] if report else []
        files = relevant(
            texts_of(self.source, state.changed), words, [*places, *first], state.shown, int(self.tokens * FILES),
            state.changed,
        )  # fmt: skip
        return {
            "map": self.map(state.changed), "failing": self.failing(first), "files": files,
            "output": report.excerpt if report and (report.problem or report.broken) else "",
        }  # fmt: skip

    def failing(self, notes: Mapping[str, str]) -> str:
        """Failing tests with what they say, a line each, as many as there is room for."""
        room, told = int(self.tokens * FAILING) * CHARACTERS_PER_TOKEN, list[str]()
        for number, (name, note) in enumerate(notes.items()):
            line = f"{name}: {note}"[:ONE]
            room -= len(line) + 1
            if room < 0:
                return "\n".join([*told, f"... and {len(notes) - number} more"])
            told.append(line)
        return "\n".join(told)

    def evidence(self, state: Tree) -> dict[str, Any]:
        """The change as a diff, and coverage where it was asked for."""
        text = patch.render(self.source, state.changed)
        limit = int(self.tokens * DIFF) * CHARACTERS_PER_TOKEN
        shown = text if len(text) <= limit else f"{text[:limit]}\n... ({len(text) - limit} more characters)"
        covered = (state.report.coverage if state.report else None) or {}
        lines = [f"{file}: {one.share:.0%}, not run: {one.missing[:20]}" for file, one in covered.items()]
        return {"whole change so far": shown} | ({"coverage": "\n".join(lines)} if lines else {})
