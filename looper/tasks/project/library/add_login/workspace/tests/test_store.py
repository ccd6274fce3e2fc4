"""The file: migrations, notes, tags."""

import hashlib
import sqlite3

import pytest

from notebook.store import MIGRATIONS, NotFound, Stale, Store, StoreError, transaction

RELEASED = "f1da9830009dccfe3396d35c7424a87680a476eb6b9ba13a2ccc5336c2336f3e"


def test_released_migrations_are_unchanged():
    text = "\n".join(statement for version in MIGRATIONS[:2] for statement in version)
    assert hashlib.sha256(text.encode()).hexdigest() == RELEASED


def test_a_new_file_is_up_to_date(store):
    assert store.version == len(MIGRATIONS)


def test_a_file_of_the_first_version_keeps_its_notes(tmp_path):
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.execute(MIGRATIONS[0][0])
    old.execute("INSERT INTO notes (title, body, created, changed) VALUES ('Old', 'text', 5, 6)")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    store = Store(path)
    note = store.notes.get(1)
    assert (note.title, note.body, note.tags, note.created, note.changed) == ("Old", "text", (), 5, 6)
    assert store.version == len(MIGRATIONS)
    store.close()


def test_a_file_of_a_newer_program_is_refused(tmp_path):
    path = tmp_path / "new.db"
    new = sqlite3.connect(path)
    new.execute("PRAGMA user_version = 1000")
    new.close()
    with pytest.raises(StoreError, match="version 1000"):
        Store(path)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "photo.db"
    path.write_bytes(b"not a database, but long enough to look at" * 30)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(path)


def test_a_failed_transaction_leaves_nothing():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (n)")
    with pytest.raises(ZeroDivisionError), transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError
    assert connection.execute("SELECT count(*) FROM t").fetchone()[0] == 0
    connection.close()


def test_a_note_is_kept_across_openings(tmp_path):
    first = Store(tmp_path / "notes.db")
    made = first.notes.add("Milk", "two litres", ["shopping", "home"], 10)
    first.close()
    second = Store(tmp_path / "notes.db")
    assert second.notes.get(made.id) == made
    assert made.tags == ("home", "shopping")
    second.close()


def test_a_change_on_an_old_revision_is_refused(store):
    note = store.notes.add("Milk", "", [], 10)
    store.notes.change(note.id, "Milk", "two", ["home"], note.revision, 11)
    with pytest.raises(Stale):
        store.notes.change(note.id, "Milk", "three", [], note.revision, 12)
    assert store.notes.get(note.id).body == "two"


def test_removing_a_note_removes_its_tags(store):
    note = store.notes.add("Milk", "", ["home"], 10)
    store.notes.remove(note.id)
    assert store.notes.tags() == {}
    with pytest.raises(NotFound):
        store.notes.remove(note.id)


def test_numbers_of_removed_notes_are_not_given_again(store):
    first = store.notes.add("One", "", [], 10)
    store.notes.remove(first.id)
    assert store.notes.add("Two", "", [], 11).id > first.id
