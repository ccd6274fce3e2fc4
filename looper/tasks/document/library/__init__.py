"""Material of the shipped documents: a folder each with sources, hidden tests, a recording, a reference."""

from pathlib import Path

from looper.errors import ConfigError

HERE = Path(__file__).parent


def place(name: str) -> Path:
    """The file behind `@NAME/FILE` (shipped) or `@PATH` (the user's own). Raises ConfigError if there is none."""
    path = name.removeprefix("@")
    for file in (HERE / path, Path(path)):
        if file.is_file():
            return file
    raise ConfigError(f"{name}: there is no such file, neither shipped with looper nor from this folder.")


def source(text: str) -> str:
    """A text, or what is in the file that it names with @."""
    return place(text).read_text(encoding="utf-8", errors="replace") if text.startswith("@") else text
