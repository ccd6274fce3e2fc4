from decimal import Decimal

import pytest

from expenses import money


@pytest.mark.parametrize(("given", "amount"), [("84.20", "84.20"), ("12", "12.00"), (" 3.5 ", "3.50")])
def test_an_amount_is_read_exactly(given, amount):
    assert str(money.parse(given)) == amount


@pytest.mark.parametrize("given", ["", "-3.00", "1,200.00", "84,20", "1.005", "1e3", "NaN"])
def test_what_is_no_amount_is_refused(given):
    with pytest.raises(ValueError, match="is not an amount"):
        money.parse(given)


def test_half_a_cent_is_rounded_up():
    assert money.rounded(Decimal("0.125")) == Decimal("0.13")
    assert money.rounded(Decimal("0.124999")) == Decimal("0.12")


def test_people_see_thousands_separated():
    assert money.show(Decimal("1284.2")) == "1,284.20"
