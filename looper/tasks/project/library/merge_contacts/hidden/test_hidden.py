"""Merging at its limits. Holds whatever the office decided about contradictions."""

import json
import tomllib
from datetime import date
from pathlib import Path

import pytest

from addressbook import book, merge, settings
from addressbook.__main__ import main
from addressbook.contact import Contact, Entry

SETTINGS = Path(__file__).resolve().parents[2] / "settings.toml"
MAY, JUNE = date(1980, 5, 17), date(1991, 6, 2)
CHOICES = ("newer", "both")


def ann(day, *numbers, name="Ann Lee", birthday=None, notes=()):
    entries = tuple(Entry("phone", "mobile", number) for number in numbers)
    return Contact(name, date(2024, 1, day), entries, birthday, (), notes)


def decided(folder, choice, more=""):
    """Settings with this choice, in a folder of the test."""
    path = folder / "settings.toml"
    path.write_text(f'[merge]\nconflict = "{choice}"\n{more}', encoding="utf-8")
    return settings.load(path)


def numbers(contacts):
    (one,) = contacts
    return sorted(entry.value for entry in one.entries)


def test_the_office_has_decided():
    assert tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["merge"]["conflict"] in CHOICES
    settings.load(SETTINGS)


def test_the_newest_of_three_counts_wherever_it_stands(tmp_path):
    contacts = [ann(2, "02"), ann(9, "09"), ann(5, "05")]
    assert numbers(merge.merged(contacts, decided(tmp_path, "newer"))) == ["09"]


def test_a_newer_record_that_says_nothing_contradicts_nothing(tmp_path):
    contacts = [ann(2, "02"), ann(5, "05"), ann(9, notes=("no number",))]
    assert numbers(merge.merged(contacts, decided(tmp_path, "newer"))) == ["05"]


def test_of_the_same_day_the_later_record_is_the_newer(tmp_path):
    assert numbers(merge.merged([ann(2, "01"), ann(2, "02")], decided(tmp_path, "newer"))) == ["02"]


def test_all_of_three_are_kept_once_each(tmp_path):
    contacts = [ann(2, "020 1"), ann(9, "030 1"), ann(5, "+44 20 1"), ann(6, "040 1")]
    assert numbers(merge.merged(contacts, decided(tmp_path, "both"))) == ["020 1", "030 1", "040 1"]


@pytest.mark.parametrize("choice", CHOICES)
def test_merging_contradictions_again_changes_nothing(tmp_path, choice):
    chosen = decided(tmp_path, choice)
    once = merge.merged([ann(2, "02"), ann(9, "09"), ann(5, "05")], chosen)
    assert merge.merged(once, chosen) == once


@pytest.mark.parametrize("choice", CHOICES)
def test_different_people_of_one_name_keep_their_numbers(tmp_path, choice):
    people = [ann(1, "01", birthday=MAY), ann(2, "02", birthday=JUNE), ann(3, "03")]
    assert merge.merged(people, decided(tmp_path, choice)) == people


@pytest.mark.parametrize("choice", CHOICES)
def test_the_country_code_of_the_settings_tells_what_is_the_same(tmp_path, choice):
    contacts = [ann(1, "033 12 34"), ann(2, "+45 33 12 34")]
    danish = decided(tmp_path, choice, '[phone]\ncountry_code = "45"\n')
    assert numbers(merge.merged(contacts, danish)) == ["033 12 34"]


@pytest.mark.parametrize("choice", CHOICES)
def test_the_command_obeys_the_decision(tmp_path, monkeypatch, choice):
    monkeypatch.chdir(tmp_path)
    decided(tmp_path, choice, '[book]\nfile = "people.json"\n')
    book.write(tmp_path / "people.json", [ann(1, "01"), ann(2, "02")])
    assert main(["merge"]) == 0
    assert numbers(book.read(tmp_path / "people.json")) == (["02"] if choice == "newer" else ["01", "02"])
    assert numbers(book.read(tmp_path / "people.json.before-merge")[:1]) == ["01"]
    assert not (tmp_path / "contacts.json.before-merge").exists()


def test_the_form_of_the_file_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    decided(tmp_path, "both")
    book.write(tmp_path / "contacts.json", [ann(1, birthday=MAY), ann(2, "01")])
    assert main(["merge"]) == 0
    assert json.loads((tmp_path / "contacts.json").read_text(encoding="utf-8")) == [
        {"name": "Ann Lee", "updated": "2024-01-02", "entries": [["phone", "mobile", "01"]], "birthday": "1980-05-17"}
    ]


def test_two_people_of_one_name_are_merged_each_with_his_own():
    given = [ann(1, birthday=MAY), ann(2, birthday=JUNE), ann(3, birthday=MAY), ann(4, birthday=JUNE), ann(5)]
    assert [list(group) for group in merge.duplicates(given)] == [[given[0], given[2]], [given[1], given[3]]]
    after = merge.merged(given, settings.load(SETTINGS))
    assert [(one.birthday, one.updated.day) for one in after] == [(MAY, 3), (JUNE, 4), (None, 5)]


def test_people_come_in_the_order_of_the_book_whatever_their_birthdays():
    bo = [ann(day, name="Bo Dahl") for day in (1, 2)]
    given = [ann(1, birthday=MAY), *bo, ann(2, birthday=JUNE), ann(3, birthday=JUNE)]
    assert [list(group) for group in merge.duplicates(given)] == [bo, given[3:]]


def test_two_without_a_birthday_are_left_alone_among_several():
    given = [ann(1, birthday=MAY), ann(2, birthday=JUNE), ann(3), ann(4)]
    assert list(merge.duplicates(given)) == []
    assert merge.merged(given, settings.load(SETTINGS)) == given


def test_the_same_note_twice_in_one_record_is_kept_once():
    after = merge.merged([ann(1, notes=("x", "x")), ann(2, notes=("y",))], settings.load(SETTINGS))
    assert after[0].notes == ("x", "y")


def test_equal_records_become_one():
    assert merge.merged([ann(1, "01")] * 3, settings.load(SETTINGS)) == [ann(1, "01")]


def test_the_stored_name_keeps_its_letters():
    given = [ann(1, name="WEIẞ,  Zoë"), ann(2, name="zoe weiss")]
    assert [one.name for one in merge.merged(given, settings.load(SETTINGS))] == ["Zoë WEIẞ"]


def test_an_empty_book_has_no_duplicates():
    assert merge.merged([], settings.load(SETTINGS)) == []


def test_other_settings_of_merging_are_refused(tmp_path):
    with pytest.raises(settings.SettingsError, match=r"merge\.keep is not a setting"):
        decided(tmp_path, "both", 'keep = "all"\n')
