"""An error on its way to a person: one sentence that says what, where and what to do next, whoever raised it."""

import re
import traceback
from pathlib import Path

from looper.catalogue import folders, nearest, options
from looper.console.screen import brief, plain
from looper.errors import ConfigError, LooperError
from looper.redact import redact

OWN = Path(__file__).parent
MOST = 8
"""Names that a sentence lists at most."""


def complaint(error: BaseException) -> str:
    """The sentence, on one line and harmless; a fault that nobody foresaw goes to a file, with its traceback."""
    return " ".join(plain(redact(_sentence(error))).split())


def _sentence(error: BaseException) -> str:
    if isinstance(error, LooperError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return (
            f"{brief(error.filename, 300)}: {error.strerror}. What was journalled is whole; give another folder with "
            "outputs=DIR, or mend this one and go on with `looper resume`."
        )
    return _report(error)


def _report(error: BaseException) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile("w", prefix="looper-crash-", suffix=".txt", delete=False) as file:
        file.write(redact("".join(traceback.format_exception(error))))
    return (
        f"a fault of {_origin(error)} ({type(error).__name__}); the details are in {file.name}. What was journalled is "
        "whole: `looper resume` goes on from it."
    )


def _origin(error: BaseException) -> str:
    """Whose fault it is: looper's, or the file's that looper called last."""
    frames = traceback.extract_tb(error.__traceback__)
    last = Path(frames[-1].filename) if frames else OWN
    return "looper itself" if OWN in last.parents or last == OWN else f"{last.name}, line {frames[-1].lineno}"


def hydra_complaint(error: BaseException) -> ConfigError:
    """What Hydra has against a command line or a YAML file."""
    return ConfigError(_explain(error))


def _explain(error: BaseException) -> str:
    text, kind = str(error).strip(), type(error).__name__
    full = getattr(error, "full_key", None)
    if kind == "MissingMandatoryValue" and full:
        return f"{full}: this setting must be given: {full}=..."
    if kind.startswith("Interpolation") or kind == "UnsupportedInterpolationType":
        return f"{full or 'a setting'}: its value refers to something that does not exist: {_first(text)}."
    if override := getattr(error, "override", None):
        key = str(override).partition("=")[0]
        return f"{brief(override)}: this value cannot be read ({_first(text)}); put quotes around it: {key}=\"'...'\"."
    if group := re.search(r"Could not find '([^']+)/([^'/]*)'", text):
        return _no_such_option(group[1], group[2], text)
    key = re.search(r"Could not (?:override|delete) '([^']+)'|full_key: (\S+)|Key '([^']+)' is not in struct", text)
    if key:
        name = next(part for part in key.groups() if part)
        return f"{name}: there is no such setting; {_near_key(name)}"
    if kind == "GrammarParseException" or "while parsing" in text or kind.endswith(("ScannerError", "ParserError")):
        return f"a YAML file cannot be read: {brief(text, 300)}; the folders are {_places()}."
    if isinstance(error, OSError):
        return f"{error.filename or 'a folder'}: {error.strerror}; give another folder with outputs=DIR."
    return f"{_first(text) or kind}; `python -m looper --help` shows how to ask."


def _no_such_option(path: str, name: str, text: str) -> str:
    group, _, folder = path.partition("/")
    known = list(options(group))
    if not known:
        group, folder = path, ""
        known = re.findall(r"^\t(\w+)$", text, re.MULTILINE)
    word = f"{folder}/{name}" if folder else name
    some = ", ".join(known[:MOST]) + (", ..." if len(known) > MOST else "")
    hint = (nearest(word, known) or f"there are: {some}.") if known else "see `python -m looper --help`."
    return f"{group}={word}: there is no such {group}; {hint}"


def _first(text: str) -> str:
    return brief(text.split("\n")[0].rstrip("."), 240)


def _places() -> str:
    return " and ".join(str(folder) for folder in folders())


def _near_key(name: str) -> str:
    known = [key for key in known_keys() if key != name]
    return nearest(name, known) or "`python -m looper +task=NAME --cfg job` shows every setting; a new one needs `+`."


def known_keys() -> list[str]:
    """Every dotted setting that some shipped or own YAML file sets; a file that cannot be read sets none."""
    import yaml

    found: set[str] = set()
    for folder in folders():
        for file in folder.rglob("*.yaml"):
            group = file.parent.relative_to(folder).as_posix().split("/")[0]
            try:
                data = yaml.safe_load(file.read_text(errors="replace"))
            except (OSError, yaml.YAMLError):
                continue
            _walk(data, "" if group in (".", "experiment") else group, found)
    return sorted(found)


def _walk(node: object, path: str, found: set[str]) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(key, str) and key not in ("defaults", "_target_"):
                name = f"{path}.{key}" if path else key
                found.add(name)
                _walk(value, name, found)
