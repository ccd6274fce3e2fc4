"""The user, and what is kept of a password."""

import dataclasses
import importlib

import pytest

from notebook import models
from notebook.settings import Settings
from tests.acceptance import PASSWORD

COST = 4


@pytest.fixture
def passwords():
    return importlib.import_module("notebook.passwords")


def test_a_user_has_id_name_and_creation_and_does_not_change():
    user = models.User(id=1, name="Ada", created=10)
    assert (user.id, user.name, user.created) == (1, "Ada", 10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        user.name = "Bob"


def test_a_user_carries_no_password():
    assert {field.name for field in dataclasses.fields(models.User)} == {"id", "name", "created"}


def test_the_right_password_is_verified(passwords):
    assert passwords.verify_password(PASSWORD, passwords.hash_password(PASSWORD, COST)) is True


def test_any_other_password_is_not(passwords):
    encoded = passwords.hash_password(PASSWORD, COST)
    for wrong in ("", "correct hors", "Correct horse", PASSWORD + " "):
        assert passwords.verify_password(wrong, encoded) is False


def test_the_hash_does_not_hold_the_password(passwords):
    encoded = passwords.hash_password(PASSWORD, COST)
    assert PASSWORD not in encoded
    assert PASSWORD.encode().hex() not in encoded


def test_every_hash_has_its_own_salt(passwords):
    assert len({passwords.hash_password(PASSWORD, COST) for _ in range(5)}) == 5


def test_hashes_of_another_cost_are_verified(passwords):
    assert passwords.verify_password(PASSWORD, passwords.hash_password(PASSWORD, COST + 1))


def test_the_settings_are_sound_as_they_come():
    settings = Settings()
    assert (settings.login, settings.hash_cost, settings.session_seconds) == (False, 15, 43_200)
    assert (settings.max_failures, settings.lock_seconds) == (5, 900)
