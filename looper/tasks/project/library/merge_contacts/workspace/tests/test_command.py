from datetime import date

import pytest

from addressbook import book
from addressbook.__main__ import main
from addressbook.contact import Contact, Entry


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ann = Contact(name="Ann Lee", updated=date(2023, 3, 1), entries=(Entry("phone", "mobile", "07700 900123"),))
    book.write(tmp_path / "contacts.json", [ann, Contact(name="Bo Dahl", updated=date(2024, 1, 9))])
    return tmp_path


def test_contacts_are_listed_in_order(folder, capsys):
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "Ann Lee  mobile: 07700 900123\nBo Dahl\n"


def test_the_newest_can_come_first(folder, capsys):
    assert main(["list", "--newest"]) == 0
    assert capsys.readouterr().out.startswith("Bo Dahl\n")


def test_finding_nobody_is_a_failure(folder, capsys):
    assert main(["find", "lee"]) == 0
    assert main(["find", "nobody"]) == 1


def test_the_settings_name_the_book(folder, capsys):
    (folder / "settings.toml").write_text('[book]\nfile = "other.json"\n', encoding="utf-8")
    assert main(["list"]) == 2
    assert capsys.readouterr().err.startswith("addressbook: other.json: cannot be read")
