"""Today's rates come from the bank's own package, live."""

import importlib
import importlib.metadata
from decimal import Decimal
from pathlib import Path

import pytest

from expenses.__main__ import main

PROJECT = Path(__file__).resolve().parents[2]


def the_banks_package():
    """The installed package of the bank; a file of this project, or a module put in its place, is not it."""
    bankfeed = importlib.import_module("bankfeed")
    places = [Path(bankfeed.__file__), Path(importlib.metadata.distribution("bankfeed").locate_file(""))]
    within = [place for place in places if place.resolve().is_relative_to(PROJECT)]
    assert not within, "bankfeed must be the bank's package, not a part of this project"
    return bankfeed


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text(
        "day,person,what,category,amount,currency\n"
        "2024-05-02,Ines,taxi,travel,40.00,USD\n"
        "2024-05-03,Ines,lunch,meals,12.00,EUR\n",
        encoding="utf-8",
    )
    return str(path)


def test_a_rate_is_that_of_the_bank():
    bank = the_banks_package().Client()
    from expenses import rates

    before = bank.rate("USD", "EUR")
    given = rates.today("USD", "EUR")
    assert isinstance(given, Decimal)
    assert given in (before, bank.rate("USD", "EUR"))


def test_every_rate_is_asked_of_the_client_anew(monkeypatch):
    bankfeed = the_banks_package()
    from expenses import rates

    answers, asked = [Decimal("0.5"), Decimal("0.75")], []
    monkeypatch.setattr(bankfeed.Client, "rate", lambda self, *pair: asked.append(pair) or answers[len(asked) - 1])
    assert [rates.today("USD", "EUR"), rates.today("USD", "EUR")] == answers
    assert asked == [("USD", "EUR")] * 2


def test_an_error_of_the_bank_is_said(monkeypatch):
    bankfeed = the_banks_package()
    from expenses import rates

    def refused(self, base, quote):
        raise bankfeed.Error("the account is locked")

    monkeypatch.setattr(bankfeed.Client, "rate", refused)
    with pytest.raises(rates.RatesUnavailable, match="the account is locked"):
        rates.today("USD", "EUR")


def test_the_command_reports_at_the_rates_of_the_bank(monkeypatch, capsys, ledger):
    bankfeed = the_banks_package()
    monkeypatch.setattr(bankfeed.Client, "rate", lambda self, base, quote: Decimal("0.9"))
    assert main([ledger, "--in", "EUR"]) == 0
    assert capsys.readouterr().out == "meals   12.00 EUR\ntravel  36.00 EUR\ntotal   48.00 EUR\n"


def test_the_command_names_the_reason_if_there_are_no_rates(monkeypatch, capsys, ledger):
    bankfeed = the_banks_package()

    def refused(self, base, quote):
        raise bankfeed.Error("the account is locked")

    monkeypatch.setattr(bankfeed.Client, "rate", refused)
    assert main([ledger, "--in", "EUR"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the account is locked" in printed.err
