"""The endpoints, as they are with everybody seeing everything."""

import ast
import logging
from dataclasses import fields
from pathlib import Path

import notebook
from notebook.app import App
from notebook.routes import Context
from notebook.web import Request

SOURCES = Path(notebook.__file__).parent


def test_a_note_is_made_and_shown(client, clock):
    made = client("POST", "/notes", {"title": "Milk", "body": "two", "tags": ["home"]})
    assert made.status == 201
    assert made.headers["Location"] == "/notes/1"
    now = clock.now()
    assert made.json() == {
        "id": 1, "title": "Milk", "body": "two", "tags": ["home"], "revision": 1, "created": now, "changed": now,
    }  # fmt: skip
    assert client("GET", "/notes/1").json() == made.json()


def test_listings_are_newest_first_and_paged(client, clock):
    for title in "abcde":
        client("POST", "/notes", {"title": title})
        clock.advance(1)
    first, second = client("GET", "/notes").json(), client("GET", "/notes?page=2").json()
    assert [note["title"] for note in first["notes"]] == ["e", "d", "c"]
    assert [note["title"] for note in second["notes"]] == ["b", "a"]
    assert first["total"] == second["total"] == 5
    assert client("GET", "/notes?page=0").status == 422


def test_listings_by_tag_and_the_tags(client):
    client("POST", "/notes", {"title": "a", "tags": ["home"]})
    client("POST", "/notes", {"title": "b", "tags": ["home", "work"]})
    assert [note["title"] for note in client("GET", "/notes?tag=Work").json()["notes"]] == ["b"]
    assert client("GET", "/tags").json() == {"tags": {"home": 2, "work": 1}}


def test_a_change_needs_the_latest_revision(client, clock):
    client("POST", "/notes", {"title": "a"})
    clock.advance(5)
    changed = client("PUT", "/notes/1", {"title": "b", "revision": 1})
    assert (changed.status, changed.json()["revision"], changed.json()["changed"]) == (200, 2, clock.now())
    assert client("PUT", "/notes/1", {"title": "c", "revision": 1}).status == 409
    assert client("PUT", "/notes/9", {"title": "c", "revision": 1}).status == 404


def test_a_removed_note_is_gone(client):
    client("POST", "/notes", {"title": "a"})
    assert client("DELETE", "/notes/1").status == 204
    assert client("DELETE", "/notes/1").status == client("GET", "/notes/1").status == 404


def test_faults_of_the_body(client):
    assert client.app.handle(Request("POST", "/notes", b"{")).status == 400
    assert client("POST", "/notes", ["a"]).status == 400
    refused = client("POST", "/notes", {"title": " "})
    assert (refused.status, refused.json()["fields"]) == (422, {"title": "is missing"})


def test_unknown_paths_and_methods(client):
    assert client("GET", "/nothing").status == 404
    assert client("GET", "/notes/one").status == 404
    refused = client("PATCH", "/notes")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET, POST")


def test_health(client):
    assert client("GET", "/health").json() == {"status": "ok"}


def test_a_fault_inside_is_logged_and_not_told(store, clock, caplog):
    client = App(store, clock)
    store.close()
    with caplog.at_level(logging.INFO, logger="notebook"):
        response = client.handle(Request("GET", "/notes"))
    assert (response.status, response.json()) == (500, {"error": "internal error"})
    assert "closed database" in caplog.text


def test_the_log_has_one_line_per_request_and_no_contents(client, caplog):
    with caplog.at_level(logging.INFO, logger="notebook"):
        client("POST", "/notes?tag=private", {"title": "a secret title"})
    assert [record.getMessage() for record in caplog.records] == ["POST /notes 201"]


def test_sql_stands_in_the_store_only():
    for path in SOURCES.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert "sqlite3" not in found or path.name == "store.py", path.name


def test_handlers_do_not_see_the_connection():
    assert not {"connection", "store"} & {field.name for field in fields(Context)}


def test_time_comes_from_the_clock_only():
    for path in SOURCES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert path.name == "clock.py" or ("import time" not in text and ".now(UTC)" not in text), path.name
