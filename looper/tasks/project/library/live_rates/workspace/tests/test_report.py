from datetime import date
from decimal import Decimal

from expenses import report
from expenses.__main__ import main
from expenses.ledger import Expense


def expense(amount, category="travel", person="Ines"):
    return Expense(day=date(2024, 5, 2), person=person, what="x", category=category, amount=Decimal(amount))


def test_amounts_are_added_by_category():
    rows = report.totals([expense("1.10"), expense("5.00", "meals"), expense("2.20")])
    assert rows == {"meals": Decimal("5.00"), "travel": Decimal("3.30")}


def test_amounts_are_added_by_person():
    assert report.totals([expense("1.10"), expense("5.00", person="Tom")], "person")["Tom"] == Decimal("5.00")


def test_the_table_ends_with_the_total():
    lines = report.text({"meals": Decimal("5"), "travel": Decimal("1284.2")}).splitlines()
    assert lines == ["meals       5.00", "travel  1,284.20", "total   1,289.20"]


def test_a_report_without_expenses_is_a_total_of_nothing():
    assert report.text({}) == "total  0.00"


def test_the_command_prints_the_report(tmp_path, capsys):
    path = tmp_path / "ledger.csv"
    path.write_text("day,person,what,category,amount\n2024-05-02,Ines,train,travel,84.20\n", encoding="utf-8")
    assert main([str(path), "--by", "person"]) == 0
    assert capsys.readouterr().out == "Ines   84.20\ntotal  84.20\n"


def test_the_command_names_what_is_wrong(tmp_path, capsys):
    assert main([str(tmp_path / "none.csv")]) == 2
    assert capsys.readouterr().err.startswith("expenses: ")
