"""The form in which names are compared."""

import pytest

from addressbook import normal


@pytest.mark.parametrize("text", ["Ann Lee", "ann lee", "ANN LEE", "  Ann   Lee ", "Lee, Ann", "LEE ,  ann", "Ánn Lée"])
def test_one_name_has_one_form(text):
    assert normal.name(text) == normal.name("Ann Lee")


def test_letters_and_their_accents_may_be_written_apart():
    assert normal.name("Zoe\u0308 Fare\u0300s") == normal.name("Zoë Farès") == normal.name("zoe fares")


def test_sharp_s_is_two():
    assert normal.name("Eva Weiß") == normal.name("EVA WEISS")


@pytest.mark.parametrize("other", ["Ann", "Ann Leigh", "Lee Ann", "Ann-Lee", "Ann B Lee"])
def test_other_names_have_another_form(other):
    assert normal.name(other) != normal.name("Ann Lee")
