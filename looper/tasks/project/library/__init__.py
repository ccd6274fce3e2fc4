"""Material of the shipped projects: a folder each with the workspace, tests, hidden tests, a recording, a reference."""

from pathlib import Path

from looper.errors import ConfigError

HERE = Path(__file__).parent


def place(name: str) -> Path:
    """The file or folder behind `@NAME/...` (shipped), or a path of the user's. Raises ConfigError if there is none."""
    path = HERE / name.removeprefix("@") if name.startswith("@") else Path(name)
    if not path.exists():
        where = "shipped with looper" if name.startswith("@") else f"at {path}"
        raise ConfigError(f"{name}: there is no such file or folder {where}.")
    return path


def text_of(name: str) -> str:
    """What is in a file that is named so."""
    return place(name).read_text(encoding="utf-8")
