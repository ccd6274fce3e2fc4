"""Notes belong to users."""

import pytest

from notebook.app import App
from notebook.settings import Settings
from tests.acceptance import Browser


@pytest.fixture
def app(store, clock):
    store.notes.add("from before", "", ["old"], 1)
    return App(store, clock, Settings(login=True, hash_cost=4))


@pytest.fixture
def ada(app):
    return entered(app, "Ada")


@pytest.fixture
def bob(app):
    return entered(app, "Bob")


def entered(app, name):
    browser = Browser(app)
    browser.register(name)
    browser.login(name)
    return browser


def test_without_a_session_nothing_is_to_be_had(app):
    asked = [("GET", "/notes"), ("POST", "/notes"), ("GET", "/notes/1"), ("PUT", "/notes/1"), ("DELETE", "/notes/1")]
    for method, path in [*asked, ("GET", "/tags")]:
        refused = Browser(app)(method, path)
        assert (refused.status, refused.json()) == (401, {"error": "login required"}), (method, path)
        assert Browser(app, "made-up")(method, path).status == 401


def test_one_works_on_ones_own_notes(ada):
    made = ada("POST", "/notes", {"title": "Milk"})
    place = made.headers["Location"]
    assert made.status == 201
    assert ada("GET", place).json() == made.json()
    assert ada("PUT", place, {"title": "Cream", "revision": 1}).json()["title"] == "Cream"
    assert ada("DELETE", place).status == 204


def test_somebody_elses_note_is_not_there(ada, bob):
    place = ada("POST", "/notes", {"title": "Milk"}).headers["Location"]
    assert bob("GET", place).status == 404
    assert bob("PUT", place, {"title": "Mine", "revision": 1}).status == 404
    assert bob("DELETE", place).status == 404
    assert ada("GET", place).json()["title"] == "Milk"


def test_listings_and_tags_show_ones_own_notes_only(ada, bob):
    ada("POST", "/notes", {"title": "Milk", "tags": ["home"]})
    bob("POST", "/notes", {"title": "Rent", "tags": ["home", "money"]})
    listing = ada("GET", "/notes").json()
    assert ([note["title"] for note in listing["notes"]], listing["total"]) == (["Milk"], 1)
    assert ada("GET", "/notes?tag=money").json()["total"] == 0
    assert ada("GET", "/tags").json() == {"tags": {"home": 1}}


def test_notes_from_before_are_nobodys(ada):
    assert ada("GET", "/notes").json()["total"] == 0
    assert ada("GET", "/notes/1").status == 404
    assert ada("GET", "/tags").json() == {"tags": {}}


def test_health_stays_open(app):
    assert Browser(app)("GET", "/health").status == 200


def test_without_the_setting_all_is_as_before(store, clock):
    open_to_all = Browser(App(store, clock, Settings(hash_cost=4)))
    assert open_to_all.register("Ada").status == 404
    assert open_to_all.login("Ada").status == open_to_all("POST", "/logout").status == 404
    assert open_to_all("POST", "/notes", {"title": "Milk"}).status == 201
    assert open_to_all("GET", "/notes").json()["total"] == 1
