"""The command line."""

from notebook.cli import main
from notebook.clock import StoppedClock


def test_notes_are_added_listed_and_shown(tmp_path, capsys):
    file, clock = str(tmp_path / "notes.db"), StoppedClock(86_400)
    assert main([file, "add", "Milk", "--body", "two litres", "--tag", "Home"], clock) == 0
    assert main([file, "add", "Rent"], clock) == 0
    capsys.readouterr()
    assert main([file, "list"], clock) == 0
    assert capsys.readouterr().out == "   2  1970-01-02  Rent\n   1  1970-01-02  Milk #home\n"
    assert main([file, "show", "1"], clock) == 0
    assert capsys.readouterr().out.endswith("\n\ntwo litres\n")


def test_what_cannot_be_done_is_said(tmp_path, capsys):
    file = str(tmp_path / "notes.db")
    assert main([file, "show", "7"]) == 1
    assert main([file, "add", " "]) == 1
    assert capsys.readouterr().err == "notebook: there is no note 7\nnotebook: title is missing\n"
