"""Which records are the same person."""

from datetime import date

from addressbook.contact import Contact

MAY, JUNE = date(1980, 5, 17), date(1991, 6, 2)


def person(name, birthday=None, note="x"):
    return Contact(name=name, updated=date(2024, 1, 1), birthday=birthday, notes=(note,))


def duplicates(*contacts):
    from addressbook import merge

    return [list(group) for group in merge.duplicates(list(contacts))]


def test_records_of_one_name_are_one_person():
    first, other, second = person("Ann Lee"), person("Bo Dahl"), person("LEE, Ann", note="y")
    assert duplicates(first, other, second) == [[first, second]]


def test_nobody_is_a_duplicate_of_himself():
    assert duplicates(person("Ann Lee"), person("Bo Dahl")) == []
    assert duplicates() == []


def test_different_birthdays_are_different_people():
    assert duplicates(person("Ann Lee", MAY), person("Ann Lee", JUNE)) == []


def test_a_record_without_a_birthday_belongs_to_those_with_one():
    with_one, without, again = person("Ann Lee", MAY), person("Ann Lee"), person("Ann Lee", MAY, "z")
    assert duplicates(without, with_one, again) == [[without, with_one, again]]


def test_a_record_without_a_birthday_is_left_alone_among_several():
    may, june, without = person("Ann Lee", MAY), person("Ann Lee", JUNE), person("Ann Lee")
    again = person("ann lee", MAY)
    assert duplicates(may, june, without, again) == [[may, again]]


def test_people_come_in_the_order_of_the_book():
    bo, ann, ann2, bo2 = person("Bo Dahl"), person("Ann Lee"), person("Ann Lee", note="y"), person("Bo Dahl", note="y")
    assert duplicates(bo, ann, ann2, bo2) == [[bo, bo2], [ann, ann2]]


def test_two_equal_records_are_duplicates():
    assert duplicates(person("Ann Lee"), person("Ann Lee")) == [[person("Ann Lee")] * 2]
