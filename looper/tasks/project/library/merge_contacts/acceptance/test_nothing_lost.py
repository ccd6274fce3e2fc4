"""What a merged record holds where its records do not contradict each other."""

from datetime import date
from pathlib import Path

from addressbook import settings
from addressbook.contact import Contact, Entry

PROJECT = Path(__file__).resolve().parents[2]
MAY = date(1980, 5, 17)


def merged(*contacts):
    from addressbook import merge

    return list(merge.merged(list(contacts), settings.load(PROJECT / settings.FILE)))


def ann(day, *entries, name="Ann Lee", birthday=None, groups=(), notes=()):
    return Contact(name, date(2024, 1, day), tuple(Entry(*one) for one in entries), birthday, groups, notes)


def test_one_record_stands_where_the_first_one_stood():
    before, between = Contact("Bo Dahl", MAY), Contact("Cy Orr", MAY)
    book = merged(before, ann(1), between, ann(2))
    assert [one.name for one in book] == ["Bo Dahl", "Ann Lee", "Cy Orr"]


def test_the_name_is_that_of_the_first_record_in_order():
    assert merged(ann(1, name="Lée,  Ann"), ann(2, name="ann lee"))[0].name == "Ann Lée"


def test_the_latest_day_counts():
    assert merged(ann(1), ann(9), ann(3))[0].updated == date(2024, 1, 9)


def test_the_birthday_that_is_known_is_kept():
    assert merged(ann(1), ann(2, birthday=MAY), ann(3))[0].birthday == MAY


def test_groups_and_notes_are_kept_once_each_in_order():
    first = ann(1, groups=("suppliers", "north"), notes=("calls back",))
    second = ann(2, groups=("north", "press"), notes=("on leave in May", "calls back"))
    one = merged(first, second)[0]
    assert one.groups == ("suppliers", "north", "press")
    assert one.notes == ("calls back", "on leave in May")


def test_entries_with_different_labels_are_all_kept_in_order():
    first = ann(1, ("phone", "mobile", "07700 900123"), ("email", "work", "ann@example.org"))
    second = ann(2, ("phone", "work", "020 7946 0018"), ("email", "home", "lee@example.org"))
    assert merged(first, second)[0].entries == first.entries + second.entries


def test_a_phone_and_an_address_may_have_the_same_label():
    first, second = ann(1, ("phone", "work", "020 7946 0018")), ann(2, ("email", "work", "ann@example.org"))
    assert merged(first, second)[0].entries == first.entries + second.entries


def test_the_same_number_is_kept_once_as_the_first_wrote_it():
    first = ann(1, ("phone", "mobile", "07700 900123"), ("email", "work", "Ann@example.org"))
    second = ann(2, ("phone", "mobile", "+44 7700 900123"), ("email", "work", "ann@EXAMPLE.org"))
    assert merged(first, second)[0].entries == first.entries


def test_the_same_number_under_two_labels_is_kept_under_both():
    first, second = ann(1, ("phone", "mobile", "07700 900123")), ann(2, ("phone", "private", "07700 900123"))
    assert merged(first, second)[0].entries == first.entries + second.entries


def test_records_without_a_duplicate_stay_to_the_letter():
    alone = Contact("Dahl,  Bo", MAY, (Entry("phone", "mobile", "07700 900123"),) * 2, MAY, ("a", "a"), ("b", "b"))
    assert merged(alone, ann(1)) == [alone, ann(1)]


def test_merging_again_changes_nothing():
    first = ann(1, ("phone", "mobile", "07700 900123"), name="Lee, Ann")
    once = merged(first, Contact("Bo", MAY), ann(2, notes=("x",)))
    assert merged(*once) == once
    assert len(once) == 2


def test_what_was_given_is_not_changed():
    from addressbook import merge

    given = [ann(1, notes=("x",)), ann(2, notes=("y",))]
    merge.merged(given, settings.load(PROJECT / settings.FILE))
    assert given == [ann(1, notes=("x",)), ann(2, notes=("y",))]
