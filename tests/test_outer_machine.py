"""Transitions of the outer loop (SPEC 5.1)."""

from collections.abc import Callable
from itertools import product

import pytest

from looper.errors import PhaseError
from looper.loops.gather_verify.machine import IllegalTransition, Machine, Phase

WAYS = {
    "INITIALIZED": [],
    "GATHER": ["GATHER"],
    "INTERVIEW": ["GATHER", "INTERVIEW"],
    "INNER_LOOP": ["GATHER", "INTERVIEW", "INNER_LOOP"],
    "VERIFY": ["GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY"],
    "LEARN": ["GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY", "LEARN"],
    "COMPLETED": ["GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY", "LEARN", "COMPLETED"],
}
LEGAL = {
    ("INITIALIZED", "GATHER"), ("GATHER", "INTERVIEW"), ("INTERVIEW", "INNER_LOOP"), ("INNER_LOOP", "VERIFY"),
    ("VERIFY", "INNER_LOOP"), ("VERIFY", "LEARN"), ("LEARN", "COMPLETED"),
}  # fmt: skip
PAIRS = list(product(WAYS, WAYS))


def at(phase: str, max_loops: int = 3) -> Machine:
    machine = Machine(max_loops)
    for step in WAYS[phase]:
        machine.to(Phase(step))
    return machine


def loop_back(machine: Machine) -> None:
    machine.to(Phase.INNER_LOOP)
    machine.to(Phase.VERIFY)


def test_the_pairs_are_all_49() -> None:
    assert len(set(PAIRS)) == 49
    assert {name for name, _ in PAIRS} == set(Phase)


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_each_pair_is_allowed_or_refused_as_the_table_says(here: str, there: str) -> None:
    machine = at(here)
    path = list(machine.path)
    if (here, there) in LEGAL:
        assert machine.to(Phase(there)) == there == machine.phase
        assert machine.path == [*path, there]
    else:
        with pytest.raises(IllegalTransition, match=f"from {here} to {there}"):
            machine.to(Phase(there))
        assert (machine.phase, machine.path, machine.loops) == (here, path, 0)


@pytest.mark.parametrize(("here", "there"), sorted(LEGAL))
def test_a_guard_that_does_not_hold_refuses_and_changes_nothing(here: str, there: str) -> None:
    machine = at(here)
    with pytest.raises(IllegalTransition) as raised:
        machine.to(Phase(there), guard=False, why="the ideal state is 0.8 complete, 0.95 is needed")
    assert str(raised.value) == (
        f"The outer loop cannot go from {here} to {there}: the ideal state is 0.8 complete, 0.95 is needed."
    )
    assert (machine.phase, machine.loops) == (here, 0)
    assert machine.to(Phase(there)) == there


def test_a_guard_without_words_is_still_told() -> None:
    with pytest.raises(IllegalTransition, match=r"to GATHER: its guard does not hold\.$"):
        at("INITIALIZED").to(Phase.GATHER, guard=False)


def test_a_true_guard_opens_no_transition_that_the_table_does_not_have() -> None:
    with pytest.raises(IllegalTransition):
        at("GATHER").to(Phase.COMPLETED, guard=True)


def test_the_refusal_is_a_phase_error_that_says_what_may_follow() -> None:
    with pytest.raises(PhaseError) as raised:
        at("VERIFY").to(Phase.GATHER)
    assert raised.value.reason == "phase_error"
    assert str(raised.value) == (
        "The outer loop cannot go from VERIFY to GATHER; from here INNER_LOOP or LEARN may follow."
    )
    with pytest.raises(PhaseError, match=r"from COMPLETED to LEARN; from here nothing may follow\.$"):
        at("COMPLETED").to(Phase.LEARN)


def test_the_first_inner_loop_is_no_loop_back() -> None:
    assert at("VERIFY").loops == 0


@pytest.mark.parametrize("most", [0, 1, 3])
def test_loop_backs_end_at_their_limit_and_learning_stays_possible(most: int) -> None:
    machine = at("VERIFY", most)
    for done in range(most):
        assert machine.loops == done
        loop_back(machine)
    with pytest.raises(IllegalTransition) as raised:
        machine.to(Phase.INNER_LOOP)
    assert str(raised.value) == (
        f"The outer loop cannot go from VERIFY to INNER_LOOP: all {most} loop-backs are used; "
        "from here LEARN may follow."
    )
    assert (machine.phase, machine.loops, machine.allowed) == ("VERIFY", most, (Phase.LEARN,))
    assert machine.to(Phase.LEARN) == "LEARN"


def test_a_grant_adds_loop_backs() -> None:
    machine = at("VERIFY", 1)
    machine.grant(2)
    for _ in range(3):
        loop_back(machine)
    assert machine.loops == 3
    with pytest.raises(IllegalTransition, match="all 3 loop-backs"):
        machine.to(Phase.INNER_LOOP)


@pytest.mark.parametrize("call", [lambda: Machine(-1), lambda: Machine(3).grant(-1)])
def test_negative_numbers_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        call()


def test_the_path_tells_every_phase_in_order() -> None:
    machine = at("VERIFY")
    loop_back(machine)
    machine.to(Phase.LEARN)
    machine.to(Phase.COMPLETED)
    assert machine.path == [
        "INITIALIZED", "GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY", "INNER_LOOP", "VERIFY", "LEARN", "COMPLETED",
    ]  # fmt: skip
