"""Deterministic policies of the repair search: one-edit candidates in a fixed order first, then climbing on the signals."""

import hashlib
import random
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
STIR = 0.3
"""How far a seed moves a candidate in the order, as a share of its rank."""
PER_VARIANT = 400
"""Candidates tried around one promising variant at most."""


class Memory(BaseModel):
    """What a policy learns: how often steps in a row brought nothing new."""

    idle: int = 0


def digest(source: str) -> str:
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def pool(source: str, plan: Plan, suspicion: dict[int, float], seed: int = 0) -> list[Edit]:
    """Candidates of one edit, most promising first; a seed above 0 stirs the order a little."""
    return list(_pool(source, tuple(plan.lines), tuple(plan.kinds), tuple(sorted(suspicion.items())), seed))


@lru_cache(maxsize=64)
def every(source: str) -> tuple[Edit, ...]:
    """All typed edits of a program; enumerating them costs as much as trying some fifty."""
    return tuple(enumerate_edits(source))


@lru_cache(maxsize=64)
def _pool(
    source: str, lines: tuple[int, ...], kinds: tuple[str, ...], suspicion: tuple[tuple[int, float], ...], seed: int
) -> tuple[Edit, ...]:
    edits = [e for e in every(source) if (not lines or e.line in lines) and (not kinds or of_kind(e, kinds))]
    return stirred(ranked(source, edits, dict(suspicion)), seed)


def stirred(edits: list[Edit], seed: int) -> tuple[Edit, ...]:
    """The order with each rank multiplied by up to 1 +- STIR, so that runs over seeds show what part of a result is luck."""
    if not seed:
        return tuple(edits)
    dice = random.Random(seed)
    ranks = [(rank + 1) * dice.uniform(1 - STIR, 1 + STIR) for rank in range(len(edits))]
    return tuple(edits[i] for i in sorted(range(len(edits)), key=lambda i: ranks[i]))


def of_kind(edit: Edit, kinds: tuple[str, ...]) -> bool:
    """Whether the edit is of one of these kinds or families."""
    return edit.kind in kinds or edit.kind.split(".")[0] in kinds


@lru_cache(maxsize=8)
def forms(source: str) -> frozenset[str]:
    """Normal forms of a program and of all that one typed edit makes of it."""
    return frozenset({normal_form(source), *(normal_form(apply_edit(source, edit)) for edit in every(source))})


def left(state: Program, original: str, seed: int = 0) -> int:
    """One-edit candidates of the original that were not tried yet."""
    return max(0, len(pool(original, state.plan, state.suspicion, seed)) - begin(state, original))


def begin(state: Program, original: str) -> int:
    """Where in the fixed order the search stands."""
    return state.plan.skip + state.cursors.get(digest(original), 0)


def size(level: float) -> int:
    return round(BATCH * (1 + level))


class _Search:
    """What both policies share: they stop when the signals pass, and remember only whether they get anywhere."""

    levels = (0.0, 3.0)
    step = "decide"

    def __init__(self, original: str, seed: int = 0):
        self.original, self.seed = original, seed

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
        edits = pool(self.original, state.plan, state.suspicion, self.seed)
        first = begin(state, self.original)
        batch = edits[first : first + size(level)]
        why = f"one-edit candidates {first + 1} to {first + len(batch)} of {len(edits)}"
        return Batch(base=self.original, edits=batch, why=why) if batch else None


class Climb(_Search):
    """A second edit on the variants that the tests say came nearer; the best variant most often."""

    name = "climb"
    handles = frozenset({FailureType.TOO_NARROW, FailureType.INFEASIBLE})

    def decide(self, state: Program, signals: Sequence[Signal], memory: Memory, level: float) -> Batch | None:
        turns = sorted(range(len(state.frontier)), key=lambda i: (self.visits(state, i) + 0.5 * i, i))
        for index in turns:
            variant = state.frontier[index]
            first = state.cursors.get(digest(variant.source), 0)
            batch = self.beyond(state, variant)[first : first + size(level)]
            if batch and first < PER_VARIANT:
                why = f"a further edit on: {'; '.join(variant.path)} (passes {variant.share:.0%})"
                return Batch(base=variant.source, edits=batch, why=why)
        return None

    def visits(self, state: Program, index: int) -> float:
        return state.cursors.get(digest(state.frontier[index].source), 0) / BATCH

    def beyond(self, state: Program, variant: Variant) -> list[Edit]:
        """Edits of the variant that lead to programs which one edit of the original does not reach."""
        kinds = tuple(state.plan.kinds)
        return _beyond(variant.source, kinds, tuple(sorted(variant.suspicion.items())), self.original, self.seed)


@lru_cache(maxsize=64)
def _beyond(
    source: str, kinds: tuple[str, ...], suspicion: tuple[tuple[int, float], ...], original: str, seed: int
) -> list[Edit]:
    known = forms(original)
    edits = _pool(source, (), kinds, suspicion, seed)[: PER_VARIANT * 2]
    return [edit for edit in edits if normal_form(apply_edit(source, edit)) not in known]
