import pytest

from addressbook import normal
from addressbook.contact import Entry


@pytest.mark.parametrize("number", ["020 7946 0018", "+44 20 7946-0018", "0044 20 79460018", "+44 (0)20 7946 0018"])
def test_a_number_has_one_international_form(number):
    assert normal.phone(number, "44") == "+442079460018"


def test_a_number_of_another_country_keeps_it():
    assert normal.phone("+45 33 12 34 56", "44") == "+4533123456"


def test_addresses_are_compared_without_case():
    assert normal.entry_value(Entry("email", "work", " Ann@Example.org"), "44") == "ann@example.org"
