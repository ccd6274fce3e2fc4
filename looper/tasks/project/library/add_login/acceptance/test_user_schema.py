"""The migration, and users in the file."""

import sqlite3

import pytest

from notebook import store as stores
from notebook.store import MIGRATIONS, Store


def columns(path, table):
    connection = sqlite3.connect(path)
    found = {row[1]: row for row in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    return found


def file_of_version_2(path):
    old = sqlite3.connect(path)
    for statement in (statement for version in MIGRATIONS[:2] for statement in version):
        old.execute(statement)
    old.execute("INSERT INTO notes (title, body, created, changed) VALUES ('Old', 'text', 5, 6)")
    old.execute("INSERT INTO tags (note, tag) VALUES (1, 'home')")
    old.execute("PRAGMA user_version = 2")
    old.commit()
    old.close()
    return path


def test_the_migration_makes_the_tables(tmp_path):
    Store(tmp_path / "new.db").close()
    for table in ("users", "sessions", "login_failures"):
        assert columns(tmp_path / "new.db", table), table
    assert {"id", "name", "created"} <= columns(tmp_path / "new.db", "users").keys()


def test_notes_have_an_owner_that_may_be_missing(tmp_path):
    Store(tmp_path / "new.db").close()
    not_null = 3
    assert columns(tmp_path / "new.db", "notes")["owner"][not_null] == 0


def test_an_old_file_keeps_its_notes_without_an_owner(tmp_path):
    path = file_of_version_2(tmp_path / "old.db")
    store = Store(path)
    assert store.version == len(MIGRATIONS) > 2
    note = store.notes.get(1)
    assert (note.title, note.body, note.tags, note.created, note.changed) == ("Old", "text", ("home",), 5, 6)
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT owner FROM notes").fetchall() == [(None,)]
    connection.close()


def test_a_user_is_added_and_found_by_name(store):
    user = store.users.add("Ada", "the hash", 10)
    assert (user.name, user.created) == ("Ada", 10)
    assert store.users.by_name("Ada") == user
    assert store.users.password_hash(user.id) == "the hash"


def test_there_is_no_user_of_an_unknown_name(store):
    store.users.add("Ada", "hash", 10)
    assert store.users.by_name("Bob") is None


def test_a_name_is_taken_in_any_case_and_form(store):
    user = store.users.add("Ada", "hash", 10)
    for other in ("Ada", "ADA", "\N{FULLWIDTH LATIN CAPITAL LETTER A}da"):
        with pytest.raises(stores.Taken):
            store.users.add(other, "another", 11)
        assert store.users.by_name(other) == user


def test_users_are_kept_across_openings(tmp_path):
    first = Store(tmp_path / "notes.db")
    user = first.users.add("Ada", "hash", 10)
    first.close()
    second = Store(tmp_path / "notes.db")
    assert second.users.by_name("Ada") == user
    second.close()
