import json
from datetime import date

import pytest

from addressbook import book
from addressbook.contact import Contact, Entry

ANN = Contact(
    name="Ann Lee",
    updated=date(2024, 3, 1),
    entries=(Entry("phone", "mobile", "07700 900123"), Entry("email", "work", "Ann@example.org")),
    birthday=date(1980, 5, 17),
    groups=("suppliers",),
    notes=("prefers to be called",),
)
BO = Contact(name="Bø Dahl", updated=date(2023, 1, 9))


def test_a_book_is_read_as_it_was_written(tmp_path):
    book.write(tmp_path / "contacts.json", [ANN, BO])
    assert book.read(tmp_path / "contacts.json") == [ANN, BO]
    assert [path.name for path in tmp_path.iterdir()] == ["contacts.json"]


def test_letters_stay_readable_in_the_file(tmp_path):
    book.write(tmp_path / "contacts.json", [BO])
    assert "Bø Dahl" in (tmp_path / "contacts.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fax": "1"}, "record 1: unknown fields: fax"),
        ({"updated": "1 May"}, "record 1: Invalid isoformat"),
        ({"name": " "}, "record 1: ' ' is not a text"),
        ({"entries": [["fax", "work", "1"]]}, "'fax' is no kind of entry; there are phone, email"),
    ],
)
def test_a_wrong_record_is_named(tmp_path, change, said):
    path = tmp_path / "contacts.json"
    path.write_text(json.dumps([{"name": "Ann", "updated": "2024-03-01"} | change]), encoding="utf-8")
    with pytest.raises(book.BookError, match=said):
        book.read(path)


def test_a_missing_field_is_named(tmp_path):
    (tmp_path / "contacts.json").write_text('[{"name": "Ann"}]', encoding="utf-8")
    with pytest.raises(book.BookError, match="record 1: field 'updated' is missing"):
        book.read(tmp_path / "contacts.json")


@pytest.mark.parametrize("text", ["{}", "[1]", "["])
def test_what_is_no_book_is_refused(tmp_path, text):
    (tmp_path / "contacts.json").write_text(text, encoding="utf-8")
    with pytest.raises(book.BookError):
        book.read(tmp_path / "contacts.json")


def test_the_newest_is_the_last_changed_and_then_the_later_one():
    same_day = Contact(name="Cy", updated=ANN.updated)
    assert book.newest_first([BO, ANN, same_day]) == [same_day, ANN, BO]


def test_names_and_entries_are_searched_in_any_case():
    assert book.find([ANN, BO], "ANN@") == [ANN]
    assert book.find([ANN, BO], "dahl") == [BO]
