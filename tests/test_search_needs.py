"""The needs with known answers: each answer is an entry of the collection, the halves follow their README's rule."""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from looper.tasks.search import needs, stdlib

FOLDER = Path(needs.__file__).parent
ORDINARY = {"code", "collections", "copy", "numbers", "random", "site", "time"}
"""Words of the needs that happen to be names of modules too."""


def read(half: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]


HALVES = {half: read(half) for half in needs.HALVES}
NEEDS = [need for half in HALVES.values() for need in half]


@pytest.fixture(scope="module")
def entries() -> dict[str, str]:
    """Kind by id."""
    return {document.id: document.kind for document in stdlib.collect()}


def test_each_half_holds_26_needs() -> None:
    assert [len(half) for half in HALVES.values()] == [26, 26]


def test_no_need_and_no_text_occurs_twice() -> None:
    assert len({need["id"] for need in NEEDS}) == len(NEEDS)
    assert len({need["need"].casefold() for need in NEEDS}) == len(NEEDS)


def test_the_halves_follow_from_the_rule_in_the_readme() -> None:
    order = sorted(NEEDS, key=lambda need: (need["difficulty"], hashlib.sha256(need["id"].encode()).hexdigest()))
    assert {need["id"] for need in order[0::2]} == {need["id"] for need in HALVES["building"]}


@pytest.mark.parametrize("half", needs.HALVES)
def test_a_half_holds_needs_of_every_difficulty(half: str) -> None:
    counts = {level: [need["difficulty"] for need in HALVES[half]].count(level) for level in ("easy", "middle", "hard")}
    assert sum(counts.values()) == 26
    assert min(counts.values()) >= 7


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need["id"])
def test_a_need_is_complete_and_in_words(need: dict[str, Any]) -> None:
    assert list(need) == ["id", "need", "relevant", "why", "difficulty"]
    assert re.fullmatch("[a-z]+(_[a-z]+)*", need["id"])
    assert re.fullmatch(r"[A-Za-z ,'-]+", need["need"])  # nothing that looks like a name with dots or underscores
    spoken = set(re.findall("[a-z]+", need["need"].lower()))
    assert not spoken & (set(sys.stdlib_module_names) - ORDINARY)
    assert re.search(r"[;,.] ?[Nn]ot ", need["why"])  # the border is drawn


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need["id"])
def test_a_need_has_6_to_25_answers_in_order(need: dict[str, Any]) -> None:
    assert 6 <= len(need["relevant"]) <= 25
    assert need["relevant"] == sorted(set(need["relevant"]))


def test_no_entry_answers_two_needs() -> None:
    answers = [name for need in NEEDS for name in need["relevant"]]
    assert len(answers) == len(set(answers))


LATER = {"asyncio.taskgroups.TaskGroup"}
"""Classes that Python 3.11 documents from a later patch release on."""


@pytest.mark.skipif(sys.platform != "linux", reason="some answers exist on Linux only")
@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need["id"])
def test_every_answer_is_an_entry_of_the_collection(need: dict[str, Any], entries: dict[str, str]) -> None:
    assert [name for name in need["relevant"] if name not in entries and name not in LATER] == []


def test_the_shipped_needs_are_those_of_the_files() -> None:
    shipped = needs.shipped()
    assert {each.id: (each.half, each.need, each.relevant) for each in shipped.values()} == {
        need["id"]: (half, need["need"], frozenset(need["relevant"])) for half in HALVES for need in HALVES[half]
    }
