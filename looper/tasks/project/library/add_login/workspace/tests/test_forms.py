"""What a body must look like."""

import pytest

from notebook.forms import Invalid, read_note, read_revision
from notebook.settings import Settings


def faults(data):
    with pytest.raises(Invalid) as caught:
        read_note(data, Settings())
    return caught.value.fields


def test_titles_are_trimmed_and_texts_are_not():
    form = read_note({"title": "  Milk ", "body": " a\n\tb "}, Settings())
    assert (form.title, form.body, form.tags) == ("Milk", " a\n\tb ", ())


def test_tags_are_lower_case_sorted_and_there_once():
    assert read_note({"title": "x", "tags": ["B", "a ", "b"]}, Settings()).tags == ("a", "b")


def test_every_fault_is_told():
    assert set(faults({"title": "", "body": 5, "tags": "home"})) == {"title", "body", "tags"}


@pytest.mark.parametrize("title", ["a\nb", "\ud800", "x" * 121, 7])
def test_a_title_is_one_line_of_bounded_length(title):
    assert set(faults({"title": title})) == {"title"}


@pytest.mark.parametrize("revision", ["1", 0, True])
def test_a_revision_is_a_whole_number(revision):
    with pytest.raises(Invalid):
        read_revision({"revision": revision})
