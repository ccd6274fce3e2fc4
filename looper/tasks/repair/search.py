"""Deterministic policies of the repair search: one-edit candidates in a fixed order first, then climbing on the signals."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel

from looper.tasks.environment import FailureType
from looper.tasks.repair.edits import Edit, apply_edit, enumerate_edits, normal_form
from looper.tasks.repair.rank import ranked
from looper.tasks.repair.states import Batch, Plan, Program, Variant
from looper.types import Signal

BATCH = 32
"""Candidates per inner step at ladder level 0; a full ladder quadruples it."""
FIRST_SHARE = 300
"""One-edit candidates tried before climbing starts, if there is anything to climb on."""
PER_VARIANT = 400
"""Candidates tried around one promising variant at most."""


class Memory(BaseModel):
    """What a policy learns: how often steps in a row brought nothing new."""

    idle: int = 0


def digest(source: str) -> str:
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def pool(source: str, plan: Plan, suspicion: dict[int, float]) -> list[Edit]:
    """Candidates of one edit, most promising first."""
    return list(_pool(source, tuple(plan.lines), tuple(plan.kinds), tuple(sorted(suspicion.items()))))


@lru_cache(maxsize=64)
def _pool(
    source: str, lines: tuple[int, ...], kinds: tuple[str, ...], suspicion: tuple[tuple[int, float], ...]
) -> tuple[Edit, ...]:
    known = dict(suspicion)
    edits = enumerate_edits(source, lines=set(lines) or None, kinds=set(kinds) or None)
    return tuple(ranked(source, edits, known))


@lru_cache(maxsize=8)
def _forms(source: str, lines: tuple[int, ...], kinds: tuple[str, ...]) -> frozenset[str]:
    edits = enumerate_edits(source, lines=set(lines) or None, kinds=set(kinds) or None)
    return frozenset({normal_form(source), *(normal_form(apply_edit(source, edit)) for edit in edits)})


def left(state: Program, original: str) -> int:
    """One-edit candidates of the original that were not tried yet."""
    return max(0, len(pool(original, state.plan, state.suspicion)) - state.cursors.get(digest(original), 0))


def size(level: float) -> int:
    return round(BATCH * (1 + level))


class _Search:
    """What both policies share: they stop when the signals pass, and remember only whether they get anywhere."""

    levels = (0.0, 3.0)
    step = "decide"

    def __init__(self, original: str):
        self.original = original

    def initialize(self, state: Program) -> Memory:
        return Memory()

    def is_stable(self, state: Program, signals: Sequence[Signal]) -> bool:
        return all(signal.passed for signal in signals)

    def adapt(self, memory: Memory, before: Program, action: Batch, after: Program, feedback: float) -> Memory:
        return Memory(idle=0 if feedback > 0 else memory.idle + 1)


class FixedOrder(_Search):
    """One-edit candidates of the original, by suspicion of the line, prior of the edit and size."""

    name = "fixed_order"
    handles = frozenset({FailureType.UNKNOWN, FailureType.NO_DATA, FailureType.TOO_BROAD})

    def decide(self, state: Program, signals: Sequence[Signal], memory: Memory, level: float) -> Batch | None:
        edits = pool(self.original, state.plan, state.suspicion)
        begin = state.cursors.get(digest(self.original), 0)
        batch = edits[begin : begin + size(level)]
        why = f"one-edit candidates {begin + 1} to {begin + len(batch)} of {len(edits)}"
        return Batch(base=self.original, edits=batch, why=why) if batch else None


class Climb(_Search):
    """A second edit on the variants that the tests say came nearer; the best variant most often."""

    name = "climb"
    handles = frozenset({FailureType.TOO_NARROW, FailureType.INFEASIBLE})

    def decide(self, state: Program, signals: Sequence[Signal], memory: Memory, level: float) -> Batch | None:
        turns = sorted(range(len(state.frontier)), key=lambda i: (self.visits(state, i) + 0.5 * i, i))
        for index in turns:
            variant = state.frontier[index]
            begin = state.cursors.get(digest(variant.source), 0)
            batch = self.beyond(state, variant)[begin : begin + size(level)]
            if batch and begin < PER_VARIANT:
                why = f"a further edit on: {'; '.join(variant.path)} (passes {variant.share:.0%})"
                return Batch(base=variant.source, edits=batch, why=why)
        return None

    def visits(self, state: Program, index: int) -> float:
        return state.cursors.get(digest(state.frontier[index].source), 0) / BATCH

    def beyond(self, state: Program, variant: Variant) -> list[Edit]:
        """Edits of the variant that lead to programs which one edit of the original does not reach."""
        plan = state.plan.model_copy(update={"lines": []})
        key = (self.original, tuple(state.plan.lines), tuple(state.plan.kinds))
        return _beyond(variant.source, tuple(plan.kinds), tuple(sorted(variant.suspicion.items())), *key)


@lru_cache(maxsize=64)
def _beyond(
    source: str, kinds: tuple[str, ...], suspicion: tuple[tuple[int, float], ...], original: str,
    lines: tuple[int, ...], original_kinds: tuple[str, ...],
) -> list[Edit]:  # fmt: skip
    known = _forms(original, lines, original_kinds)
    edits = _pool(source, (), kinds, suspicion)[: PER_VARIANT * 2]
    return [edit for edit in edits if normal_form(apply_edit(source, edit)) not in known]
