"""Records of one person that contradict each other: what the office decided in settings.toml holds.

Table `merge`, `conflict`: "newer" (what the newest record says counts) or "both" (all that is said is kept).
"""

import tomllib
from datetime import date
from pathlib import Path

import pytest

from addressbook import settings
from addressbook.contact import Contact, Entry

SETTINGS = Path(__file__).resolve().parents[2] / "settings.toml"
CHOICES = ("newer", "both")
OLD, NEW = "07700 900111", "07700 900222"


def decision():
    """What the office decided; nothing can be tested before that."""
    tables = tomllib.loads(SETTINGS.read_text(encoding="utf-8")) if SETTINGS.exists() else {}
    decided = tables.get("merge", {}).get("conflict")
    if decided is None:
        pytest.fail("settings.toml: merge.conflict is not decided", pytrace=False)
    if decided not in CHOICES:
        pytest.fail(f"settings.toml: merge.conflict is {decided!r}; it must be one of {CHOICES}", pytrace=False)
    return decided


def ann(day, *entries):
    return Contact("Ann Lee", date(2024, 1, day), tuple(Entry(*one) for one in entries))


def merged(path, *contacts):
    from addressbook import merge

    (one,) = merge.merged(list(contacts), settings.load(path))
    return {(entry.kind, entry.label, entry.value) for entry in one.entries}


def choose(tmp_path, choice):
    """Settings of the test with this choice, once the office has made its own."""
    decision()
    path = tmp_path / "settings.toml"
    path.write_text(f'[merge]\nconflict = "{choice}"\n', encoding="utf-8")
    return path


def test_the_decision_of_the_office_holds():
    decided = decision()
    found = merged(SETTINGS, ann(1, ("phone", "mobile", OLD)), ann(2, ("phone", "mobile", NEW)))
    both = {("phone", "mobile", OLD), ("phone", "mobile", NEW)}
    assert found == (both if decided == "both" else {("phone", "mobile", NEW)})


def test_the_newer_number_wins_where_that_is_decided(tmp_path):
    path = choose(tmp_path, "newer")
    old, new = ann(1, ("phone", "mobile", OLD)), ann(2, ("phone", "mobile", NEW))
    assert merged(path, old, new) == merged(path, new, old) == {("phone", "mobile", NEW)}


def test_both_numbers_are_kept_where_that_is_decided(tmp_path):
    path = choose(tmp_path, "both")
    old, new = ann(1, ("phone", "mobile", OLD)), ann(2, ("phone", "mobile", NEW))
    both = {("phone", "mobile", OLD), ("phone", "mobile", NEW)}
    assert merged(path, old, new) == merged(path, new, old) == both


@pytest.mark.parametrize(
    ("choice", "kept"), [("newer", {"ann@example.org"}), ("both", {"al@example.org", "ann@example.org"})]
)
def test_addresses_are_decided_in_the_same_way(tmp_path, choice, kept):
    old, new = ann(1, ("email", "work", "al@example.org")), ann(2, ("email", "work", "ann@example.org"))
    assert {value for _, _, value in merged(choose(tmp_path, choice), old, new)} == kept


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_not_contradicted_is_kept_in_any_case(tmp_path, choice):
    old = ann(1, ("phone", "mobile", OLD), ("phone", "home", "020 7946 0018"))
    new = ann(2, ("phone", "mobile", NEW), ("email", "work", "ann@example.org"))
    found = merged(choose(tmp_path, choice), old, new)
    assert {("phone", "home", "020 7946 0018"), ("email", "work", "ann@example.org"), ("phone", "mobile", NEW)} <= found


@pytest.mark.parametrize("value", ["older", "Newer", ""])
def test_another_choice_is_refused(tmp_path, value):
    with pytest.raises(settings.SettingsError, match=r"settings\.toml: merge\.conflict"):
        settings.load(choose(tmp_path, value))
