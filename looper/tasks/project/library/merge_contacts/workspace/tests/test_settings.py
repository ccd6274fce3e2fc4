import pytest

from addressbook import settings


def test_without_a_file_the_defaults_hold(tmp_path):
    assert settings.load(tmp_path / "settings.toml") == settings.Settings()


def test_a_file_names_what_is_decided(tmp_path):
    (tmp_path / "settings.toml").write_text('[phone]\ncountry_code = "45"\n', encoding="utf-8")
    assert settings.load(tmp_path / "settings.toml").country_code == "45"
    assert settings.load(tmp_path / "settings.toml").file == "contacts.json"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[phone]\nprefix = "45"\n', "settings.toml: phone.prefix is not a setting"),
        ("[phone]\ncountry_code = 45\n", "settings.toml: phone.country_code must be a text"),
        ('file = "x"\n', "settings.toml: file belongs into a table"),
        ("[phone\n", "settings.toml: cannot be read"),
    ],
)
def test_what_is_no_setting_is_refused(tmp_path, text, said):
    (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
    with pytest.raises(settings.SettingsError, match=said):
        settings.load(tmp_path / "settings.toml")
