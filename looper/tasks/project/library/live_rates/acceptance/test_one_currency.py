"""A report in one currency, with rates that the caller hands in."""

from datetime import date
from decimal import Decimal

from expenses import report
from expenses.ledger import Expense


def expense(amount, currency, category="travel", person="Ines"):
    return Expense(date(2024, 5, 2), person, "x", category, Decimal(amount), currency)


class Rates:
    """Rates of a test; remembers what it was asked."""

    def __init__(self, **worth):
        self.worth, self.asked = {code: Decimal(rate) for code, rate in worth.items()}, []

    def __call__(self, base, quote):
        self.asked.append((base, quote))
        return self.worth[base]


def test_rows_are_in_the_currency_asked_for():
    rates = Rates(USD="0.5", CHF="2")
    given = [expense("40.00", "USD"), expense("10.00", "EUR"), expense("7.00", "CHF", "meals")]
    rows = report.converted(given, "EUR", rates)
    assert list(rows.items()) == [("meals", Decimal("14.00")), ("travel", Decimal("30.00"))]


def test_rows_can_be_persons():
    given = [expense("40.00", "USD", person="Tom"), expense("10.00", "EUR")]
    rows = report.converted(given, "EUR", Rates(USD="0.5"), by="person")
    assert rows == {"Ines": Decimal("10.00"), "Tom": Decimal("20.00")}


def test_each_foreign_currency_is_asked_for_once_and_its_own_never():
    rates = Rates(USD="0.5", CHF="2")
    given = [expense("1.00", code, category) for code in ("USD", "EUR", "CHF") for category in ("travel", "meals")]
    report.converted(given, "EUR", rates)
    assert sorted(rates.asked) == [("CHF", "EUR"), ("USD", "EUR")]


def test_a_row_is_rounded_once_at_the_end():
    given = [expense("0.01", "USD"), expense("0.01", "USD"), expense("0.01", "USD")]
    assert report.converted(given, "EUR", Rates(USD="0.5")) == {"travel": Decimal("0.02")}


def test_currencies_of_one_row_are_rounded_together():
    given = [expense("0.01", "USD"), expense("0.01", "CHF")]
    assert report.converted(given, "EUR", Rates(USD="0.4", CHF="0.4")) == {"travel": Decimal("0.01")}


def test_the_code_stands_behind_every_amount():
    lines = report.text({"meals": Decimal("5"), "travel": Decimal("1284.2")}, "USD").splitlines()
    assert lines == ["meals       5.00 USD", "travel  1,284.20 USD", "total   1,289.20 USD"]


def test_without_a_code_the_table_stays_as_it_is():
    assert report.text({"meals": Decimal("5")}) == "meals  5.00\ntotal  5.00"
    assert report.converted([expense("5.00", "EUR")], "EUR", Rates()) == {"travel": Decimal("5.00")}
