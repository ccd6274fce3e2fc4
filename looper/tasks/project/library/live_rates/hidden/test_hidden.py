"""The part that can be done without the bank, at its limits; and that nothing stands in for the bank's rates."""

import importlib.util
from datetime import date
from decimal import Decimal

import pytest

from expenses import ledger, report
from expenses.__main__ import main

HEADER = "day,person,what,category,amount,currency\n"
without_the_bank = pytest.mark.skipif(
    importlib.util.find_spec("bankfeed") is not None, reason="the bank's package is installed"
)


def expense(amount, currency, person="Ines"):
    return ledger.Expense(date(2024, 5, 2), person, "x", "travel", Decimal(amount), currency)


def written(tmp_path, *lines):
    path = tmp_path / "ledger.csv"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_nobody_stands_in_for_the_bank():
    spec = importlib.util.find_spec("bankfeed")
    assert spec is None or "site-packages" in (spec.origin or "")


@without_the_bank
def test_no_rate_is_given_without_the_bank():
    from expenses import rates

    with pytest.raises(rates.RatesUnavailable, match="bankfeed"):
        rates.today("USD", "EUR")


@without_the_bank
def test_the_command_gives_no_table_without_the_bank(tmp_path, capsys):
    path = written(tmp_path, "2024-05-02,Ines,taxi,travel,40,USD", "2024-05-03,Tom,lunch,meals,12,EUR")
    assert main([str(path), "--in", "EUR"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("expenses: ")
    assert "bankfeed" in printed.err
    assert printed.err.count("\n") == 1


def test_a_report_in_the_ledgers_own_currency_needs_no_bank(tmp_path, capsys):
    path = written(tmp_path, "2024-05-02,Ines,taxi,travel,40,USD")
    assert main([str(path), "--in", "USD"]) == 0
    assert capsys.readouterr().out == "travel  40.00 USD\ntotal   40.00 USD\n"


def test_other_months_need_no_rate(tmp_path, capsys):
    path = written(tmp_path, "2024-04-02,Ines,taxi,travel,40,USD", "2024-05-03,Tom,lunch,meals,12,EUR")
    assert main([str(path), "--in", "EUR", "--month", "2024-05"]) == 0
    assert capsys.readouterr().out == "meals  12.00 EUR\ntotal  12.00 EUR\n"
    assert main([str(path), "--month", "2024-05"]) == 0


def test_euros_look_as_they_did(tmp_path, capsys):
    path = written(tmp_path, "2024-05-02,Ines,taxi,travel,40,")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "travel  40.00\ntotal   40.00\n"


def test_half_a_cent_of_a_row_goes_up():
    assert report.converted([expense("0.05", "USD")], "EUR", lambda base, quote: Decimal("0.1")) == {
        "travel": Decimal("0.01")
    }


def test_nothing_spent_is_an_empty_report():
    assert report.converted([], "EUR", lambda base, quote: Decimal("1")) == {}


def test_mixed_currencies_are_refused_whatever_the_rows_are():
    with pytest.raises(report.MixedCurrencies, match="EUR, USD"):
        report.totals([expense("1.00", "USD", "Tom"), expense("1.00", "EUR", "Ines")], "person")


def test_letters_of_other_scripts_are_no_currency(tmp_path):
    with pytest.raises(ledger.LedgerError, match=r":2: "):
        ledger.read(written(tmp_path, "2024-05-02,Ines,taxi,travel,40,\u0415UR"))
