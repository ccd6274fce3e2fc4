"""Deterministic policies of the repair search: one-edit candidates in a fixed order first, then climbing on signals."""

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel

from looper.tasks.environment import FailureType
from looper.tasks.repair.edits import Edit, apply_edit, enumerate_edits
from looper.tasks.repair.forms import normal_form
from looper.tasks.repair.rank import ranked
from looper.tasks.repair.states import Batch, Plan, Program, Variant
from looper.types import Signal

BATCH = 32
"""Candidates per inner step at ladder level 0; a full ladder quadruples it."""
FIRST_SHARE = 200
"""One-edit candidates tried before climbing starts, if there is anything to climb on."""
STIR = 0.3
"""How far a seed moves a candidate in the order, as a share of its rank."""
BEHIND = 8.0
"""Turns that a variant waits for each unit of share it is behind the best."""
DEEPER = 4.0
"""Turns that a variant waits for each edit beyond its first: few faults need three."""
TWIN = 3.0
"""Turns that a variant waits for each better one with the same results: most likely the same program in other words."""
CLIMBS = 1
"""Candidates of a further edit for each one of the fixed order, once some edit passes more tests."""
PER_VARIANT = 400
"""Candidates tried around one promising variant at most."""


class Memory(BaseModel):
    """What a policy learns: how often steps in a row brought nothing new."""

    idle: int = 0


def digest(source: str) -> str:
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class Site(BaseModel, frozen=True):
    """A program and what its tests say of it: all that the order of its candidates depends on."""

    source: str
    suspicion: tuple[tuple[int, float], ...] = ()
    errors: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, source: str, suspicion: dict[int, float], errors: Sequence[str], plan: Plan, seed: int) -> "Site":
        blamed = tuple(sorted(suspicion.items()))
        return cls(
            source=source, suspicion=blamed, errors=tuple(errors), lines=tuple(plan.lines), kinds=tuple(plan.kinds),
            seed=seed,
        )  # fmt: skip


@lru_cache(maxsize=64)
def every(source: str) -> tuple[Edit, ...]:
    """All typed edits of a program; enumerating them costs as much as trying some fifty."""
    return tuple(enumerate_edits(source))


@lru_cache(maxsize=64)
def pool(site: Site) -> tuple[Edit, ...]:
    """Candidates of one edit, most promising first; a seed above 0 stirs the order a little."""
    edits = [
        e for e in every(site.source)
        if (not site.lines or e.line in site.lines) and (not site.kinds or of_kind(e, site.kinds))
    ]  # fmt: skip
    return stirred(ranked(site.source, edits, dict(site.suspicion), errors=site.errors), site.seed)


def stirred(edits: list[Edit], seed: int) -> tuple[Edit, ...]:
    """The order with each rank multiplied by up to 1 +- STIR: runs over seeds show what part of a result is luck."""
    if not seed:
        return tuple(edits)
    dice = random.Random(seed)
    ranks = [(rank + 1) * dice.uniform(1 - STIR, 1 + STIR) for rank in range(len(edits))]
    return tuple(edits[i] for i in sorted(range(len(edits)), key=lambda i: ranks[i]))


def of_kind(edit: Edit, kinds: tuple[str, ...]) -> bool:
    """Whether the edit is of one of these kinds or families."""
    return edit.kind in kinds or edit.kind.split(".")[0] in kinds


@lru_cache(maxsize=8)
def one_edit(source: str) -> frozenset[str]:
    """All that one typed edit makes of a program, to the letter."""
    return frozenset(apply_edit(source, edit) for edit in every(source))


@lru_cache(maxsize=8)
def forms(source: str) -> frozenset[str]:
    """Normal forms of a program and of all that one typed edit makes of it."""
    return frozenset({normal_form(source), *(normal_form(apply_edit(source, edit)) for edit in every(source))})


def site(state: Program, original: str, seed: int) -> Site:
    """The original as the plan and its tests show it."""
    return Site.of(original, state.suspicion, state.errors, state.plan, seed)


def left(state: Program, original: str, seed: int = 0) -> int:
    """One-edit candidates of the original that were not tried yet."""
    return max(0, len(pool(site(state, original, seed))) - begin(state, original))


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
        edits = pool(site(state, self.original, self.seed))
        first = begin(state, self.original)
        batch = edits[first : first + size(level)]
        why = f"one-edit candidates {first + 1} to {first + len(batch)} of {len(edits)}"
        return Batch(base=self.original, edits=list(batch), why=why) if batch else None


class Climb(_Search):
    """A second edit on the variants that the tests say came nearer; the best variant most often."""

    name = "climb"
    handles = frozenset({FailureType.TOO_NARROW, FailureType.INFEASIBLE})

    def decide(self, state: Program, signals: Sequence[Signal], memory: Memory, level: float) -> Batch | None:
        turns = sorted(range(len(state.frontier)), key=lambda i: (self.visits(state, i) + self.lag(state, i), i))
        for index in turns:
            variant = state.frontier[index]
            first = state.cursors.get(digest(variant.source), 0)
            batch = self.beyond(state, variant)[first : first + size(level)]
            if batch and first < PER_VARIANT:
                why = f"a further edit on: {'; '.join(variant.path)} (passes {variant.share:.0%})"
                return Batch(base=variant.source, edits=batch, why=why)
        return None

    @staticmethod
    def lag(state: Program, index: int) -> float:
        """Turns that a variant waits for better ones: by its place, its like, the tests it is behind, its edits."""
        variant = state.frontier[index]
        twins = sum(alike(variant, other) for other in state.frontier[:index])
        nearest = max(v.share for v in state.frontier if len(v.path) == len(variant.path))
        return 0.5 * index + TWIN * twins + BEHIND * (nearest - variant.share) + DEEPER * (len(variant.path) - 1)

    def visits(self, state: Program, index: int) -> float:
        return state.cursors.get(digest(state.frontier[index].source), 0) / BATCH

    def beyond(self, state: Program, variant: Variant) -> list[Edit]:
        """Edits of the variant that lead to programs which one edit of the original does not reach."""
        plan = state.plan.model_copy(update={"lines": []})
        return _beyond(Site.of(variant.source, variant.suspicion, variant.errors, plan, self.seed), self.original)


def alike(one: Variant, other: Variant) -> bool:
    """Whether two variants of as many edits do the same, as far as the tests tell."""
    marks = [(v.share, round(v.distance, 9), len(v.path)) for v in (one, other)]
    return marks[0] == marks[1]


@lru_cache(maxsize=64)
def _beyond(there: Site, original: str) -> list[Edit]:
    known = forms(original)
    edits = pool(there)[: PER_VARIANT * 2]
    return [edit for edit in edits if normal_form(apply_edit(there.source, edit)) not in known]
