"""POST /register, /login and /logout."""

import pytest

from notebook.app import App
from notebook.settings import Settings
from tests.acceptance import PASSWORD, Browser, header, session_cookie


@pytest.fixture
def browser(store, clock):
    return Browser(App(store, clock, Settings(login=True, hash_cost=4)))


def inside(browser):
    return browser("GET", "/notes").status == 200


def test_registering_makes_a_user_and_does_not_log_in(browser, store):
    made = browser.register("  Ada ")
    assert (made.status, made.json()) == (201, {"id": 1, "name": "Ada"})
    assert session_cookie(made) is None
    assert PASSWORD not in store.users.password_hash(1)


def test_a_name_is_taken_once(browser):
    browser.register("Ada")
    refused = browser.register("ADA", "another password")
    assert (refused.status, refused.json()) == (409, {"error": "name is taken"})


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        ({"name": "Ada", "password": "too short"}, {"password"}),
        ({"name": " ", "password": "x" * 201}, {"name", "password"}),
        ({"name": "x" * 41, "password": PASSWORD}, {"name"}),
        ({"name": 5}, {"name", "password"}),
    ],
)
def test_a_registration_with_faults_is_refused(browser, data, fields):
    refused = browser("POST", "/register", data)
    assert (refused.status, set(refused.json()["fields"])) == (422, fields)


def test_a_login_opens_a_session(browser, clock):
    browser.register("Ada")
    assert not inside(browser)
    done = browser.login("ada")
    assert (done.status, done.json()) == (200, {"name": "Ada", "expires": clock.now() + 43_200})
    assert inside(browser)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(browser):
    browser.register("Ada")
    cookie = session_cookie(browser.login("Ada"))
    assert cookie["httponly"]
    assert (cookie["samesite"], cookie["path"], cookie["max-age"]) == ("Lax", "/", "43200")
    assert len(cookie.value) >= 32


def test_wrong_password_and_unknown_name_cannot_be_told_apart(browser):
    browser.register("Ada")
    wrong, unknown = browser.login("Ada", "not this one"), browser.login("Bob", "not this one")
    assert (wrong.status, wrong.json()) == (401, {"error": "wrong name or password"})
    assert (unknown.status, unknown.body, dict(unknown.headers)) == (401, wrong.body, dict(wrong.headers))


def test_a_login_without_a_field_is_refused(browser):
    refused = browser("POST", "/login", {"name": "Ada"})
    assert (refused.status, set(refused.json()["fields"])) == (422, {"password"})


def test_a_session_ends_by_the_clock(browser, clock):
    browser.register("Ada")
    browser.login("Ada")
    clock.advance(43_199)
    assert inside(browser)
    clock.advance(2)
    assert not inside(browser)


def test_a_logout_ends_the_session_and_clears_the_cookie(browser):
    browser.register("Ada")
    browser.login("Ada")
    session = browser.session
    done = browser("POST", "/logout")
    assert (done.status, done.body, session_cookie(done)["max-age"]) == (204, b"", "0")
    assert not inside(Browser(browser.app, session))


def test_five_failures_lock_a_name(browser):
    browser.register("Ada")
    assert [browser.login("Ada", "not this one").status for _ in range(6)] == [401] * 5 + [429]
    refused = browser.login("Ada")
    assert (refused.status, refused.json()) == (429, {"error": "too many attempts"})
    assert header(refused, "Retry-After") == "900"
    assert not inside(browser)


def test_a_locked_name_is_open_again_after_a_time(browser, clock):
    browser.register("Ada")
    for _ in range(5):
        browser.login("Ada", "not this one")
    clock.advance(899)
    assert header(browser.login("Ada"), "Retry-After") == "1"
    clock.advance(1)
    assert browser.login("Ada").status == 200


def test_a_success_ends_the_row_of_failures(browser):
    browser.register("Ada")
    for password in (*["not this one"] * 4, PASSWORD, *["not this one"] * 4):
        browser.login("Ada", password)
    assert browser.login("Ada").status == 200


def test_a_lock_is_for_one_name_only(browser):
    browser.register("Ada")
    browser.register("Bob")
    for _ in range(5):
        browser.login("Ada", "not this one")
    assert browser.login("Bob").status == 200
