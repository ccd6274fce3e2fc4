"""Users, logins and owned notes at their limits."""

import ast
import hashlib
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import notebook
from notebook.app import App
from notebook.cli import main
from notebook.settings import Settings
from notebook.store import MIGRATIONS, Store
from notebook.web import Request
from tests.acceptance import PASSWORD, Browser, header, session_cookie

SOURCES = Path(notebook.__file__).parent
WRONG = "not this one"


def settings(**changes):
    return Settings(**{"login": True, "hash_cost": 4} | changes)


@pytest.fixture
def app(store, clock):
    return App(store, clock, settings())


@pytest.fixture
def ada(app):
    return entered(app, "Ada")


@pytest.fixture
def bob(app):
    return entered(app, "Bob")


def entered(app, name, password=PASSWORD):
    browser = Browser(app)
    assert browser.register(name, password).status == 201
    assert browser.login(name, password).status == 200
    return browser


def inside(browser):
    return browser("GET", "/notes").status == 200


def old_file(path, version):
    with closing(sqlite3.connect(path)) as old:
        for statement in (statement for statements in MIGRATIONS[:version] for statement in statements):
            old.execute(statement)
        old.execute("INSERT INTO notes (title, body, created, changed) VALUES ('Old', 'text', 5, 6)")
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()
    return path


# Sessions


def test_a_session_id_that_was_brought_along_is_not_taken(app):
    chosen = "x" * 43
    browser = Browser(app, chosen)
    browser.register("Ada")
    browser.login("Ada")
    assert browser.session != chosen
    assert inside(browser)
    assert not inside(Browser(app, chosen))


def test_a_login_within_a_session_ends_the_old_one(app, ada):
    before = ada.session
    ada.login("Ada")
    assert ada.session != before
    assert inside(ada)
    assert not inside(Browser(app, before))


def test_sessions_of_two_browsers_are_apart(app, ada):
    phone = Browser(app)
    phone.login("Ada")
    ada("POST", "/logout")
    assert inside(phone)


def test_a_session_is_over_at_its_last_second_and_use_does_not_prolong_it(store, clock):
    browser = entered(App(store, clock, settings(session_seconds=60)), "Ada")
    clock.advance(59)
    assert inside(browser)
    clock.advance(1)
    assert not inside(browser)


def test_the_settings_for_sessions_are_in_answer_and_cookie(store, clock):
    browser = Browser(App(store, clock, settings(session_seconds=60)))
    browser.register("Ada")
    done = browser.login("Ada")
    assert done.json()["expires"] == clock.now() + 60
    assert session_cookie(done)["max-age"] == "60"


def test_one_can_log_out_twice_and_without_a_session(app, ada):
    session = ada.session
    assert ada("POST", "/logout").status == 204
    assert Browser(app, session)("POST", "/logout").status == 204
    assert Browser(app)("POST", "/logout").status == 204


def test_sessions_and_failures_survive_a_restart(tmp_path, clock):
    with closing(Store(tmp_path / "notes.db")) as first:
        app = App(first, clock, settings())
        session = entered(app, "Ada").session
        for _ in range(5):
            Browser(app).login("Bob", WRONG)
    with closing(Store(tmp_path / "notes.db")) as second:
        app = App(second, clock, settings())
        assert inside(Browser(app, session))
        assert Browser(app).login("Bob", WRONG).status == 429


# Failures


def test_the_lock_counts_from_the_fifth_failure_and_attempts_do_not_prolong_it(app, clock):
    browser = Browser(app)
    browser.register("Ada")
    for _ in range(5):
        clock.advance(100)
        browser.login("Ada", WRONG)
    clock.advance(300)
    assert header(browser.login("Ada", WRONG), "Retry-After") == "600"
    clock.advance(600)
    assert browser.login("Ada").status == 200


def test_after_the_lock_counting_starts_anew(app, clock):
    browser = Browser(app)
    browser.register("Ada")
    for _ in range(5):
        browser.login("Ada", WRONG)
    clock.advance(900)
    assert [browser.login("Ada", WRONG).status for _ in range(6)] == [401] * 5 + [429]


def test_unknown_names_are_locked_as_known_ones(app):
    browser = Browser(app)
    assert [browser.login("Nobody", WRONG).status for _ in range(6)] == [401] * 5 + [429]


def test_a_name_in_another_case_is_under_the_same_lock(app):
    browser = Browser(app)
    browser.register("Ada")
    for name in ("Ada", "ADA", "ada", "aDA", "adA"):
        browser.login(name, WRONG)
    assert browser.login("Ada").status == 429


def test_the_settings_for_failures_hold(store, clock):
    browser = Browser(App(store, clock, settings(max_failures=2, lock_seconds=30)))
    browser.register("Ada")
    assert [browser.login("Ada", WRONG).status for _ in range(3)] == [401, 401, 429]
    clock.advance(30)
    assert browser.login("Ada").status == 200


# Passwords


def test_hashes_are_compared_in_constant_time():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    assert "compare_digest" in names


def test_an_unknown_name_costs_as_much_as_a_wrong_password(app, monkeypatch):
    calls, scrypt = [], hashlib.scrypt
    Browser(app).register("Ada")
    monkeypatch.setattr(hashlib, "scrypt", lambda *given, **named: calls.append(named) or scrypt(*given, **named))
    Browser(app).login("Ada", WRONG)
    wrong = len(calls)
    Browser(app).login("Bob", WRONG)
    assert len(calls) == 2 * wrong


def test_users_with_the_same_password_have_different_hashes(store, ada, bob):
    hashes = {store.users.password_hash(store.users.by_name(name).id) for name in ("Ada", "Bob")}
    assert len(hashes) == 2


def test_users_stay_when_the_cost_is_raised(store, clock, app, ada):
    raised = App(store, clock, settings(hash_cost=6))
    assert Browser(raised).login("Ada").status == 200


def test_passwords_are_bounded_in_characters_and_may_be_of_any_script(app):
    for number, password in enumerate(["пароль" + "ж" * 4, "\N{GRINNING FACE}" * 10, "x" * 200]):
        assert inside(entered(app, f"user{number}", password))
    assert Browser(app).register("Eve", "\N{LATIN SMALL LETTER U WITH DIAERESIS}" * 9).status == 422


def test_the_rules_for_passwords_are_not_told_at_login(app):
    Browser(app).register("Ada")
    assert Browser(app).login("Ada", "short").status == 401
    assert Browser(app).login("x" * 41, WRONG).status == 401


def test_the_file_holds_neither_passwords_nor_session_ids(tmp_path, clock):
    path = tmp_path / "notes.db"
    with closing(Store(path)) as store:
        browser = entered(App(store, clock, settings()), "Ada")
        browser.login("Ada", WRONG)
        session = browser.session
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"Ada" in data
    assert not [secret for secret in (PASSWORD, WRONG, session) if secret.encode() in data]


def test_secrets_are_neither_in_responses_nor_in_the_log(app, caplog):
    browser = Browser(app)
    with caplog.at_level(logging.DEBUG):
        answers = [browser.register("Ada"), browser.register("Ada"), browser.login("Ada", WRONG), browser.login("Ada")]
        session = browser.session
        answers += [browser("GET", "/notes"), browser("POST", "/logout")]
    told = [answer.body.decode() for answer in answers]
    assert "POST /login 200" in caplog.text
    for secret in (PASSWORD, WRONG, session, "scrypt"):
        assert secret not in caplog.text
        assert not [text for text in told if secret in text]


# Names


def test_names_may_hold_sql(app, store):
    name = "x'); DROP TABLE users; --"
    browser = entered(app, name)
    assert browser.login(name).json()["name"] == name
    assert Browser(app).login("' OR '1'='1", PASSWORD).status == 401
    assert store.users.by_name("' OR '1'='1") is None


def test_names_are_one_in_case_and_form_and_shown_as_typed(app):
    entered(app, "Stra\N{LATIN SMALL LETTER SHARP S}e")
    assert Browser(app).register("STRASSE").status == 409
    entered(app, "Zoe\N{COMBINING DIAERESIS}")
    done = Browser(app).login("ZO\N{LATIN CAPITAL LETTER E WITH DIAERESIS}")
    assert (done.status, done.json()["name"]) == (200, "Zoe\N{COMBINING DIAERESIS}")


def test_who_tries_to_register_a_taken_name_changes_nothing(app):
    Browser(app).register("x" * 40)
    Browser(app).register("X" * 40, "another password")
    assert Browser(app).login("x" * 40, "another password").status == 401
    assert Browser(app).login("x" * 40).status == 200


# Notes


def test_no_session_comes_before_every_other_fault(app):
    browser = Browser(app)
    assert app.handle(Request("POST", "/notes", b"{")).status == 401
    assert browser("GET", "/notes?page=0").status == 401
    assert browser("GET", "/notes/999").status == browser("DELETE", "/notes/999").status == 401
    assert browser("GET", "/nothing").status == 404


def test_a_stale_change_of_somebody_elses_note_is_not_found(ada, bob):
    place = ada("POST", "/notes", {"title": "Milk"}).headers["Location"]
    ada("PUT", place, {"title": "Cream", "revision": 1})
    assert bob("PUT", place, {"title": "Mine", "revision": 1}).status == 404
    assert ada("PUT", place, {"title": "Butter", "revision": 1}).status == 409


def test_pages_and_counts_are_of_ones_own_notes(store, clock):
    app = App(store, clock, settings(page_size=2))
    ada, bob = entered(app, "Ada"), entered(app, "Bob")
    for number in range(3):
        ada("POST", "/notes", {"title": f"a{number}", "tags": ["home"]})
        bob("POST", "/notes", {"title": f"b{number}", "tags": ["home"]})
    second = ada("GET", "/notes?page=2&tag=home").json()
    assert ([note["title"] for note in second["notes"]], second["total"]) == (["a0"], 3)
    assert bob("GET", "/tags").json() == {"tags": {"home": 3}}


def test_the_json_of_a_note_is_as_it_was(ada):
    note = ada("POST", "/notes", {"title": "Milk"}).json()
    assert set(note) == {"id", "title", "body", "tags", "revision", "created", "changed"}
    assert set(ada("GET", "/notes").json()) == {"notes", "total", "page"}


def test_without_the_setting_everybody_sees_owned_notes_too(store, clock, ada):
    ada("POST", "/notes", {"title": "Milk", "tags": ["home"]})
    everybody = Browser(App(store, clock))
    assert everybody("GET", "/notes").json()["total"] == 1
    assert everybody("GET", "/tags").json() == {"tags": {"home": 1}}


@pytest.mark.parametrize("version", [1, 2])
def test_notes_of_an_old_file_stay_and_are_nobodys(tmp_path, clock, capsys, version):
    path = old_file(tmp_path / "old.db", version)
    with closing(Store(path)) as store:
        ada = entered(App(store, clock, settings()), "Ada")
        assert ada("GET", "/notes").json()["notes"] == []
        assert ada("DELETE", "/notes/1").status == 404
        assert Browser(App(store, clock))("GET", "/notes/1").json()["title"] == "Old"
    assert main([str(path), "show", "1"], clock) == 0
    assert "Old" in capsys.readouterr().out
