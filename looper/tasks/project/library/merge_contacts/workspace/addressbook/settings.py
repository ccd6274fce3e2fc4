"""What the owners of a book have decided about it: `settings.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "settings.toml"
NAMES = {"book.file": "file", "phone.country_code": "country_code"}
"""Field of Settings by name in the file."""


class SettingsError(Exception):
    """Settings that cannot be used. The message names the file and the setting."""


@dataclass(frozen=True)
class Settings:
    """The decisions. A field without a line in the file has its default."""

    file: str = "contacts.json"
    country_code: str = "44"


def load(path: Path) -> Settings:
    """The settings of a file; the defaults if there is no such file. Raises SettingsError."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path.name}: cannot be read: {error}") from error
    return Settings(**{_field(path, name): _text(path, name, value) for name, value in _named(path, tables).items()})


def _named(path: Path, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted name."""
    loose = sorted(name for name, table in tables.items() if not isinstance(table, dict))
    if loose:
        raise SettingsError(f"{path.name}: {loose[0]} belongs into a table")
    return {f"{table}.{key}": value for table, values in tables.items() for key, value in values.items()}


def _field(path: Path, name: str) -> str:
    if name not in NAMES:
        raise SettingsError(f"{path.name}: {name} is not a setting; there are {', '.join(sorted(NAMES))}")
    return NAMES[name]


def _text(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{path.name}: {name} must be a text")
    return value
