"""Planted faults: many kinds, the same for the same seed, always a program that compiles and differs."""

import ast

import pytest
from repair_pairs import PAIRS

from looper.errors import ConfigError
from looper.tasks.repair.forms import normal_form
from looper.tasks.repair.inject import FAULTS, MAKERS, Fault, inject_fault


def faults(seeds: int) -> list[tuple[str, Fault]]:
    return [(pair.fixed, inject_fault(pair.fixed, seed)) for pair in PAIRS for seed in range(seeds)]


def test_every_fault_compiles_and_changes_the_program() -> None:
    for source, fault in faults(8):
        compile(fault.source, fault.summary, "exec")
        assert normal_form(fault.source) != normal_form(source)
        assert source.splitlines()[: fault.line - 1] == fault.source.splitlines()[: fault.line - 1]


def test_many_kinds_of_fault_occur() -> None:
    assert len({fault.kind for _, fault in faults(12)}) >= 12
    assert FAULTS.keys() == MAKERS.keys()


def test_the_same_seed_plants_the_same_fault() -> None:
    source = PAIRS[0].fixed
    assert inject_fault(source, 3) == inject_fault(source, 3)
    assert len({inject_fault(source, seed).source for seed in range(20)}) > 5


def test_a_fault_stays_inside_the_named_function() -> None:
    source = next(pair.fixed for pair in PAIRS if pair.name == "argument order")
    for seed in range(10):
        kept = [ast.dump(node) for node in ast.parse(inject_fault(source, seed, "table").source).body]
        assert kept[0] == ast.dump(ast.parse(source).body[0])


def test_what_cannot_be_damaged_is_refused() -> None:
    with pytest.raises(ConfigError, match="no function 'g'"):
        inject_fault("def f():\n    return 1\n", 1, "g")
    with pytest.raises(ConfigError, match="no statement to damage"):
        inject_fault("def f():\n    return 1\n", 1)
    with pytest.raises(ConfigError, match="not valid Python"):
        inject_fault("def f(:\n", 1)
