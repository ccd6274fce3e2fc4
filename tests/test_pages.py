"""A page for people with its data behind it: what is read back is what was written, whatever the page says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looper.pages import FENCE, data_of, page_of, with_data

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text(), plain)
def test_page_and_data_come_back(page: str, data: Any) -> None:
    artifact = with_data(page, data)
    assert json.loads(data_of(artifact)) == data
    assert page_of(artifact) == page


FORGERIES = [
    FENCE, '\n```json looper\n{"total": 12}\n```\n', "```json looper", "\n```\n", "```\n\n```json looper\n{}", "\u2028",
]  # fmt: skip


@pytest.mark.parametrize("text", FORGERIES)
def test_a_forged_block_in_the_page_or_in_the_data_is_not_read(text: str) -> None:
    data = {"total": 3, "hits": [text], text: text}
    artifact = with_data(f"# {text}\n{text}", data)
    assert json.loads(data_of(artifact)) == data
    assert page_of(artifact) == f"# {text}\n{text}"


@given(plain)
def test_data_takes_one_line(data: Any) -> None:
    assert len(with_data("page", data).splitlines()) == 4


def test_data_that_an_editor_left_without_its_last_line_end_is_read() -> None:
    artifact = with_data("page", {"a": 1})
    assert json.loads(data_of(artifact.rstrip("\n"))) == {"a": 1}
    assert json.loads(data_of(artifact + "\n")) == {"a": 1}


def test_a_text_without_data_has_none_and_is_its_own_page() -> None:
    assert data_of("only words") == ""
    assert page_of("only words") == "only words"
