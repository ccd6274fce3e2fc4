"""Material of the shipped projects: a folder each with the workspace, tests, hidden tests, a recording, a reference."""

from pathlib import Path

from looper.errors import ConfigError

HERE = Path(__file__).parent


def place(name: str) -> Path:
    """The file or folder behind `@NAME/...` (shipped), `@PATH` or a path of the user's. Raises ConfigError."""
    bare = name.removeprefix("@")
    for path in (HERE / bare, Path(bare)) if name.startswith("@") else (Path(name),):
        if path.exists():
            return path
    where = "neither shipped with looper nor from this folder" if name.startswith("@") else "from this folder"
    raise ConfigError(f"{name}: there is no such file or folder, {where}.")


def text_of(name: str) -> str:
    """What is in a file that is named so."""
    try:
        return place(name).read_bytes().decode("utf-8")  # to the letter, line ends too
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read as a text ({error}); give a text file.") from error
