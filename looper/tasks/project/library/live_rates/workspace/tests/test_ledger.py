from datetime import date
from decimal import Decimal

import pytest

from expenses import ledger

HEADER = "day,person,what,category,amount\n"


def written(tmp_path, text):
    path = tmp_path / "ledger.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_line_is_an_expense_in_order(tmp_path):
    path = written(tmp_path, HEADER + "2024-05-02,Ines,train,Travel,84.20\n2024-05-03,Tom,lunch,meals,12\n")
    first, second = ledger.read(path)
    assert (first.day, first.person, first.what) == (date(2024, 5, 2), "Ines", "train")
    assert (first.category, first.amount) == ("travel", Decimal("84.20"))
    assert second.person == "Tom"


def test_a_byte_order_mark_does_no_harm(tmp_path):
    assert len(ledger.read(written(tmp_path, "\ufeff" + HEADER + "2024-05-02,Ines,train,travel,84.20\n"))) == 1


def test_a_wrong_line_is_named(tmp_path):
    path = written(tmp_path, HEADER + "2024-05-02,Ines,train,travel,84.20\n2024-05-03,Tom,lunch,meals,12 EUR\n")
    with pytest.raises(ledger.LedgerError, match=r"ledger\.csv:3: '12 EUR' is not an amount"):
        ledger.read(path)


def test_an_empty_field_is_refused(tmp_path):
    with pytest.raises(ledger.LedgerError, match="person is empty"):
        ledger.read(written(tmp_path, HEADER + "2024-05-02,,train,travel,84.20\n"))


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ledger.LedgerError, match=r":1: the header lacks category, amount"):
        ledger.read(written(tmp_path, "day,person,what\n"))


def test_a_missing_file_is_an_error_for_people(tmp_path):
    with pytest.raises(ledger.LedgerError, match="cannot be read"):
        ledger.read(tmp_path / "none.csv")


def test_a_month_is_chosen(tmp_path):
    path = written(tmp_path, HEADER + "2024-04-30,Ines,train,travel,84.20\n2024-05-01,Tom,lunch,meals,12\n")
    assert [one.person for one in ledger.of_month(ledger.read(path), "2024-05")] == ["Tom"]
