"""Four problems in HumanEval's layout, written for these tests, and tasks on them."""

import gzip
import json
from pathlib import Path
from typing import Any

import yaml

from looper.checks.sandbox import Sandbox
from looper.tasks.code.humaneval import HumanEval

BASE = yaml.safe_load((Path(__file__).parents[1] / "conf/task/code/_base.yaml").read_text())["prompts"]
DOUBLED = '''def doubled(number: int) -> int:
    """ Twice the number.
    >>> doubled(2)
    4
    >>> doubled(-3)
    -6
    """
'''
VOWELS = '''def vowels(text):
    """How many vowels there are, great ones too.
    vowels("bee") -> 2
    vowels("sky") -> 5
    """
'''
TAIL = '''def tail(items: list) -> list:
    """ All but the first. """
'''
ROUNDED = '''from math import ceil


def half(number: float) -> float:
    """ Half of it. """
    return number / 2


def rounded(numbers: list) -> list:
    """ Half of each, rounded up.
    >>> rounded([3, 4])
    [2, 2]
    """
'''
SECRET = "candidate(7_654)"
"""Stands in the official tests alone."""
ROWS: list[dict[str, str]] = [
    {"task_id": "Own/10", "prompt": ROUNDED, "entry_point": "rounded",
     "canonical_solution": "    return [ceil(half(number)) for number in numbers]\n",
     "test": "def check(candidate):\n    assert candidate([5]) == [3]\n    assert candidate([]) == []\n"},
    {"task_id": "Own/0", "prompt": DOUBLED, "entry_point": "doubled",
     "canonical_solution": "    return number * 2\n",
     "test": f"def check(candidate):\n    assert candidate(2) == 4\n    assert {SECRET} == 15_308\n"},
    {"task_id": "Own/1", "prompt": VOWELS, "entry_point": "vowels",
     "canonical_solution": "    return sum(letter in 'aeiou' for letter in text.lower())\n",
     "test": "def check(candidate):\n    assert candidate('AE') == 2\n    assert candidate('') == 0\n"},
    {"task_id": "Own/2", "prompt": TAIL, "entry_point": "tail", "canonical_solution": "    return items[1:]\n",
     "test": "def check(candidate):\n    assert candidate([1, 2]) == [2]\n    assert candidate([]) == []\n"},
]  # fmt: skip
"""The second example of Own/1 is wrong, as some of the benchmark are."""


def saved(folder: Path) -> Path:
    """The problems as a file of the package's own format."""
    path = folder / "own.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))
    return path


def task(folder: Path, problem: int | str = 0, **more: Any) -> HumanEval:
    settings = {"seconds": 1.0, "hidden_seconds": 5.0, "prompts": BASE, **more}
    return HumanEval(sandbox=Sandbox(), problem=problem, file=str(saved(folder)), **settings)
