"""An expense has a currency, and different currencies are never added."""

from datetime import date
from decimal import Decimal

import pytest

from expenses import ledger, report
from expenses.__main__ import main

HEADER = "day,person,what,category,amount,currency\n"


def written(tmp_path, text):
    path = tmp_path / "ledger.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_currency_is_read_from_its_column(tmp_path):
    path = written(tmp_path, HEADER + "2024-05-02,Ines,taxi,travel,40,usd\n2024-05-03,Tom,lunch,meals,12, CHF \n")
    assert [one.currency for one in ledger.read(path)] == ["USD", "CHF"]


def test_an_empty_currency_is_euro(tmp_path):
    assert ledger.read(written(tmp_path, HEADER + "2024-05-02,Ines,taxi,travel,40,\n"))[0].currency == "EUR"


def test_a_ledger_without_the_column_is_in_euro(tmp_path):
    path = written(tmp_path, "day,person,what,category,amount\n2024-05-02,Ines,taxi,travel,40\n")
    assert ledger.read(path)[0].currency == "EUR"


def test_an_expense_is_in_euro_unless_said_otherwise():
    one = ledger.Expense(date(2024, 5, 2), "Ines", "taxi", "travel", Decimal("40.00"))
    assert one.currency == "EUR"
    other = ledger.Expense(date(2024, 5, 2), "Ines", "taxi", "travel", Decimal("40.00"), "USD")
    assert other.currency == "USD"


@pytest.mark.parametrize("code", ["EURO", "E1R", "$", "EU"])
def test_what_is_no_currency_is_refused_with_its_line(tmp_path, code):
    path = written(tmp_path, HEADER + f"2024-05-02,Ines,taxi,travel,40,USD\n2024-05-02,Ines,taxi,travel,40,{code}\n")
    with pytest.raises(ledger.LedgerError, match=r"ledger\.csv:3: "):
        ledger.read(path)


def test_different_currencies_are_never_added():
    day = date(2024, 5, 2)
    mixed = [ledger.Expense(day, "Ines", "taxi", "travel", Decimal("40.00"), code) for code in ("USD", "CHF", "USD")]
    with pytest.raises(report.MixedCurrencies, match="CHF, USD") as caught:
        report.totals(mixed)
    assert isinstance(caught.value, ValueError)


def test_expenses_of_one_foreign_currency_are_added():
    one = ledger.Expense(date(2024, 5, 2), "Ines", "taxi", "travel", Decimal("40.00"), "USD")
    assert report.totals([one, one]) == {"travel": Decimal("80.00")}


def test_the_command_refuses_mixed_currencies(tmp_path, capsys):
    path = written(tmp_path, HEADER + "2024-05-02,Ines,taxi,travel,40,USD\n2024-05-03,Tom,lunch,meals,12,EUR\n")
    assert main([str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("expenses: ")
    assert "EUR, USD" in printed.err
    assert printed.err.count("\n") == 1
