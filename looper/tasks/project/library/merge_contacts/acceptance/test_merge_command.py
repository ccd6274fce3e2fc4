"""The command that merges a book."""

from datetime import date
from pathlib import Path

import pytest

from addressbook import book, settings
from addressbook.__main__ import main
from addressbook.contact import Contact

PROJECT = Path(__file__).resolve().parents[2]
DAY = date(2024, 1, 1)
ANN = [Contact("Ann Lee", DAY, notes=(note,)) for note in ("a", "b", "c")]
BO = [Contact("Bo Dahl", DAY, notes=(note,)) for note in ("a", "b")]
CY = Contact("Cy Orr", DAY)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the project's own settings."""
    monkeypatch.chdir(tmp_path)
    decided = PROJECT / settings.FILE
    if decided.exists():
        (tmp_path / settings.FILE).write_text(decided.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def put(folder, *contacts):
    """The book, where the settings say that it is."""
    path = folder / settings.load(folder / settings.FILE).file
    book.write(path, contacts)
    return path


def test_the_book_is_merged(folder, capsys):
    path = put(folder, *ANN, *BO, CY)
    assert main(["merge"]) == 0
    assert capsys.readouterr().out == "3 records became 1: Ann Lee\n2 records became 1: Bo Dahl\n"
    assert [(one.name, one.notes) for one in book.read(path)] == [
        ("Ann Lee", ("a", "b", "c")), ("Bo Dahl", ("a", "b")), ("Cy Orr", ()),
    ]  # fmt: skip


def test_the_old_book_is_kept(folder):
    path = put(folder, *ANN, CY)
    before = path.read_bytes()
    assert main(["merge"]) == 0
    assert path.with_name(f"{path.name}.before-merge").read_bytes() == before


def test_a_dry_run_only_prints(folder, capsys):
    path = put(folder, *ANN)
    before = path.read_bytes()
    assert main(["merge", "--dry-run"]) == 0
    assert capsys.readouterr().out == "3 records became 1: Ann Lee\n"
    assert path.read_bytes() == before
    assert not path.with_name(f"{path.name}.before-merge").exists()


def test_without_duplicates_nothing_is_written(folder, capsys):
    path = put(folder, CY, ANN[0])
    path.write_bytes(path.read_bytes().rstrip())
    before = path.read_bytes()
    assert main(["merge"]) == 0
    assert capsys.readouterr().out == "no duplicates\n"
    assert path.read_bytes() == before
    assert not path.with_name(f"{path.name}.before-merge").exists()


def test_a_book_that_cannot_be_read_is_an_error_for_people(folder, capsys):
    assert main(["merge"]) == 2
    assert capsys.readouterr().err.startswith("addressbook: ")
