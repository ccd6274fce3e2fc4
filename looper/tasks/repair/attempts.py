"""One batch of candidates of a repair, and the state that it leads to."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from looper.tasks.repair.edits import apply_edit
from looper.tasks.repair.localise import suspicion
from looper.tasks.repair.problem import Report
from looper.tasks.repair.search import digest, every
from looper.tasks.repair.states import Batch, Program, Rewrite, Variant, errors, judged

if TYPE_CHECKING:
    from looper.tasks.repair.task import Repair

FRONTIER = 8
"""Promising variants of one edit that are kept; half as many of two."""
FREE = "rewrite"
"""The kind of a change that is no typed edit; what it is part of is never trusted."""
TRACED = 4
"""Variants of one batch whose lines are traced."""


class Made(NamedTuple):
    """A candidate before it is examined."""

    source: str
    typed: bool
    words: str
    prior: float
    kind: str


class Refusal(BaseModel):
    """Why a rewrite could not be made."""

    why: str


def replaced(source: str, change: Rewrite) -> "str | Refusal":
    """The source with one passage replaced; an empty `find` stands for the whole program."""
    if not change.find:
        return change.replace if change.replace.strip() else Refusal(why="not done: the new program is empty")
    count = source.count(change.find)
    if count != 1:
        return Refusal(why=f"not done: the passage to find occurs {count} times in the program, not once")
    return source.replace(change.find, change.replace)


class Attempts:
    """One batch of candidates, examined side by side, and the state that it leads to."""

    def __init__(self, task: "Repair", state: Program, batch: Batch):
        self.task, self.state, self.batch = task, state, batch
        typed = batch.edits and task.trusts(state, batch.base)
        known = {(e.start, e.end, e.text) for e in every(batch.base)} if typed else set()
        self.made = [
            Made(apply_edit(batch.base, e), (e.start, e.end, e.text) in known, e.summary, e.prior, e.kind)
            for e in batch.edits
        ]
        self.refused: list[str] = []
        for rewrite in batch.rewrites:
            source = replaced(batch.base, rewrite)
            if isinstance(source, Refusal):
                self.refused.append(source.why)
            else:
                self.made.append(Made(source, False, str(rewrite), 1.0, FREE))

    def outcome(self) -> Program:
        reports = self.task.examine([(made.source, made.typed) for made in self.made])
        parent = next((v for v in self.state.frontier if v.source == self.batch.base), None)
        path, kinds, prior = (parent.path, parent.kinds, parent.prior) if parent else ([], [], 1.0)
        variants = [
            Variant(source=made.source, share=report.share, distance=report.distance, path=[*path, made.words],
                    kinds=[*kinds, made.kind], prior=prior * made.prior)
            for made, report in zip(self.made, reports, strict=True)
        ]  # fmt: skip
        passing = [v for v, report in zip(variants, reports, strict=True) if report.results and report.share == 1]
        return self.state.model_copy(update=self._changes(variants, reports, passing))

    def _changes(self, variants: list[Variant], reports: list[Report], passing: list[Variant]) -> dict[str, Any]:
        state, size = self.state, len(self.made)
        cursor = digest(self.batch.base)
        first = variants.index(passing[0]) if passing else size
        changes: dict[str, Any] = {
            "explored": state.explored + size,
            "cursors": {**state.cursors, cursor: state.cursors.get(cursor, 0) + max(size, len(self.batch.edits))},
            "plausible": [*state.plausible, *passing],
            "since": state.since + (size if state.plausible else size - first),
            "frontier": self._frontier(variants),
        }
        best = max(range(size), key=lambda i: (variants[i].share, -variants[i].distance), default=None)
        if best is not None and not state.plausible and self._nearer(variants[best], state.share, state.distance):
            changes |= judged(variants[best].source, reports[best])
        near = f"nearest passes {variants[best].share:.0%}" if best is not None else "none could be made"
        words = [f"{self.batch.why or 'batch'}: {size} tried, {len(passing)} pass all tests, {near}", *self.refused[:5]]
        return {**changes, "last": "; ".join(words)}

    def _frontier(self, variants: list[Variant]) -> list[Variant]:
        """Variants that came nearer than the original did, with their own suspicion; the best are kept."""
        start = self.task.first
        nearer = [v for v in variants if v.share < 1 and self._nearer(v, start.share, start.distance)]
        nearer.sort(key=lambda v: (-v.share, v.distance))
        known = {v.source for v in self.state.frontier}
        fresh = [v for v in nearer if v.source not in known][:TRACED]
        reports = self.task.examine([(v.source, self._trusted(v)) for v in fresh], trace=True)
        traced = [
            v.model_copy(update={"suspicion": suspicion(v.source, r), "errors": errors(r)[:40]})
            for v, r in zip(fresh, reports, strict=True)
        ]
        kept = sorted([*self.state.frontier, *traced], key=lambda v: (-v.share, v.distance))
        shallow = [v for v in kept if len(v.path) == 1][:FRONTIER]
        return [*shallow, *[v for v in kept if len(v.path) == 2][: FRONTIER // 2]]

    def _trusted(self, variant: Variant) -> bool:
        return any(made.source == variant.source and made.typed for made in self.made)

    @staticmethod
    def _nearer(variant: Variant, share: float, distance: float) -> bool:
        return (variant.share, -variant.distance) > (share, -distance + 1e-9)
