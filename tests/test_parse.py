"""From a model's words to an answer, without a server: what would pass if the parser were only a little lenient."""

import time
import timeit
from typing import Any

import pytest
from pydantic import BaseModel, RootModel

from looper.agents.parse import Unparsable, Words, answer, extract


class Loose(BaseModel):
    """Takes whatever it is given, so that only the parser stands in the way."""

    score: float = 0.0
    more: Any = None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"score": 1e999}', "beyond every number"),
        ('{"score": -1e999}', "beyond every number"),
        ('{"score": Infinity}', "not a number of JSON"),
        ('{"score": NaN}', "not a number of JSON"),
        ('{"score": 0.1, "score": 1.0}', "twice"),
        ('{"more": ' + "[" * 101 + "]" * 101 + "}", "nested"),
        ("so: " + '{"more": ' + "[" * 101 + "]" * 101 + "}", "nested"),
        ("[" * 50_000 + "]" * 50_000, "nested"),
        ('{"more": ' + "9" * 5_000 + "}", "cannot be read"),
    ],
)
def test_json_that_a_lenient_parser_takes_is_invalid(text: str, said: str) -> None:
    with pytest.raises(Unparsable, match=said) as caught:
        answer(Words(text), Loose)
    assert caught.value.ended == "invalid"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "}{"}', {"a": "}{"}),
        ('{"a": "\\"}"} and so on', {"a": '"}'}),
        ('[1, {"a": 2}]', [1, {"a": 2}]),
        ('Set {x | x > 0}: {"a": {"b": {}}} - done {', {"a": {"b": {}}}),
        ('{"a": 1} {"a": 1}', {"a": 1}),
        ("{}", {}),
        ('{"more": ' + "[" * 99 + "]" * 99 + "}", None),
    ],
)
def test_the_one_value_is_found(text: str, value: Any) -> None:
    found = extract(text)
    assert value is None or found == value


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ('{"a": 1} {"a": 2}', "ambiguous"),
        ("{a: 1}", "no_json"),
        ("{b}" * 300 + '{"a": 2}', "ambiguous"),
        ('{"a": 1', "no_json"),
    ],
)
def test_what_is_not_one_object_is_named(text: str, ended: str) -> None:
    with pytest.raises(Unparsable) as caught:
        extract(text)
    assert caught.value.ended == ended


def test_an_answer_may_be_a_list() -> None:
    assert answer(Words("[1, 2]"), RootModel[list[int]]).root == [1, 2]


@pytest.mark.parametrize("piece", ["{", '{"a":', '"', '{"', "[{", "\\"])
def test_a_hostile_reply_is_read_in_bounded_time(piece: str) -> None:
    def read() -> None:
        with pytest.raises(Unparsable):
            extract("x" + piece * (1_000_000 // len(piece)))

    assert timeit.timeit(read, timer=time.process_time, number=1) < 5.0
