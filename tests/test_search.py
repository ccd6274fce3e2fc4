"""Deterministic search of repairs: fixed order first, second edits where a first one came nearer."""

from looper.tasks.environment import FailureType
from looper.tasks.repair.edits import apply_edit
from looper.tasks.repair.forms import normal_form
from looper.tasks.repair.search import (
    BATCH,
    PER_VARIANT,
    Climb,
    FixedOrder,
    Memory,
    Site,
    begin,
    digest,
    every,
    forms,
    left,
    pool,
    stirred,
)
from looper.tasks.repair.states import Plan, Program, Variant

SOURCE = """def count(values, limit):
    total = 0
    for value in values:
        if value > limit:
            total += 2
    return total
"""
NEARER = SOURCE.replace("+= 2", "+= 1")


def state(**changes: object) -> Program:
    start = Program(source=SOURCE, results={"a": False}, share=0.0, distance=1.0, suspicion={4: 1.0, 5: 0.8})
    return start.model_copy(update=changes)


def variant(source: str, share: float, *path: str) -> Variant:
    return Variant(source=source, share=share, distance=0.1, suspicion={4: 1.0}, path=list(path) or ["one"])


def test_the_fixed_order_goes_on_where_it_stood() -> None:
    policy, memory = FixedOrder(SOURCE), Memory()
    first = policy.decide(state(), [], memory, 0.0)
    assert first is not None
    assert len(first.edits) == BATCH
    second = policy.decide(state(cursors={digest(SOURCE): BATCH}), [], memory, 0.0)
    assert second is not None
    assert not set(first.edits) & set(second.edits)
    assert [*first.edits, *second.edits] == list(pool(Site.of(SOURCE, {4: 1.0, 5: 0.8}, [], Plan(), 0))[: 2 * BATCH])


def test_a_higher_ladder_tries_more_at_once() -> None:
    bold = FixedOrder(SOURCE).decide(state(), [], Memory(), 3.0)
    assert bold is not None
    assert len(bold.edits) == 4 * BATCH


def test_the_fixed_order_ends() -> None:
    everything = len(every(SOURCE))
    assert left(state(cursors={digest(SOURCE): everything}), SOURCE) == 0
    assert FixedOrder(SOURCE).decide(state(cursors={digest(SOURCE): everything}), [], Memory(), 0.0) is None


def test_a_new_plan_skips_what_was_tried() -> None:
    planned = state(plan=Plan(skip=10), cursors={digest(SOURCE): 5})
    assert begin(planned, SOURCE) == 15
    batch = FixedOrder(SOURCE).decide(planned, [], Memory(), 0.0)
    assert batch is not None
    assert batch.why.startswith("one-edit candidates 16 to")


def test_a_plan_narrows_the_pool_to_its_lines_and_kinds() -> None:
    narrow = pool(Site.of(SOURCE, {}, [], Plan(lines=[4], kinds=["compare"]), 0))
    assert narrow
    assert {edit.line for edit in narrow} == {4}
    assert {edit.kind.split(".")[0] for edit in narrow} == {"compare"}


def test_a_seed_stirs_the_order_a_little_and_loses_nothing() -> None:
    plain = pool(Site.of(SOURCE, {4: 1.0}, [], Plan(), 0))
    mixed = pool(Site.of(SOURCE, {4: 1.0}, [], Plan(), 7))
    assert mixed != plain
    assert set(mixed) == set(plain)
    assert set(mixed[:20]) <= set(plain[:40])
    assert stirred(list(plain), 7) == mixed


def test_climbing_edits_what_came_nearest_and_makes_no_program_of_one_edit() -> None:
    near, far = variant(NEARER, 0.5), variant(SOURCE.replace("total = 0", "total = 1"), 0.25)
    batch = Climb(SOURCE).decide(state(frontier=[near, far]), [], Memory(), 0.0)
    assert batch is not None
    assert batch.base == NEARER
    known = forms(SOURCE)
    assert all(normal_form(apply_edit(NEARER, edit)) not in known for edit in batch.edits)


def test_climbing_takes_turns_and_stops_at_a_bound() -> None:
    near, other = variant(NEARER, 0.5), variant(SOURCE.replace("total = 0", "total = 1"), 0.45)
    turn = Climb(SOURCE).decide(state(frontier=[near, other], cursors={digest(NEARER): 4 * BATCH}), [], Memory(), 0.0)
    assert turn is not None
    assert turn.base == other.source
    spent = {digest(v.source): PER_VARIANT for v in (near, other)}
    assert Climb(SOURCE).decide(state(frontier=[near, other], cursors=spent), [], Memory(), 0.0) is None
    assert Climb(SOURCE).decide(state(), [], Memory(), 0.0) is None


def test_climbing_leaves_a_variant_that_does_the_same_as_a_better_one_for_later() -> None:
    near, twin = variant(NEARER, 0.5), variant(NEARER.replace(">", "> 0 +"), 0.5)
    other = variant(SOURCE.replace("total = 0", "total = 1"), 0.45)
    tried = {digest(NEARER): 2 * BATCH}
    turn = Climb(SOURCE).decide(state(frontier=[near, twin, other], cursors=tried), [], Memory(), 0.0)
    assert turn is not None
    assert turn.base == other.source


def test_policies_answer_to_different_failures() -> None:
    assert FailureType.UNKNOWN in FixedOrder.handles
    assert FailureType.TOO_NARROW in Climb.handles
    assert not FixedOrder.handles & Climb.handles
