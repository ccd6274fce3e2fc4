"""What of a project's files decides how its tests are run: settings of pytest and coverage, modules in their place."""

import configparser
import posixpath
import tomllib
from collections.abc import Collection
from typing import Any

ALWAYS = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".coveragerc", ".coveragerc.toml"}
)
"""Files that are nothing but that, in any folder."""
SECTIONS = frozenset({"tox.ini", "setup.cfg"})
CUSTOMIZE = frozenset({"sitecustomize", "usercustomize"})
"""Modules that every start of Python imports."""
SHADOWED = CUSTOMIZE | {
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "coverage", "unittest",
    "doctest", "traceback", "inspect", "linecache", "faulthandler", "importlib", "pdb", "bdb",
}  # fmt: skip
"""Modules that run tests or tell of them; one of the project with this name would be imported in their place."""
UNREADABLE = "unreadable"


def configures(path: str) -> bool:
    """Whether all of the file is about running tests."""
    return posixpath.basename(path) in ALWAYS or path.endswith(".pth")


def settings_of(path: str, text: str | None) -> Any:
    """The part of a file that is about running tests, to be compared; `UNREADABLE` if it cannot be parsed."""
    name = posixpath.basename(path)
    if text is None:
        return {}
    if name == "pyproject.toml":
        return _tables(text)
    return _sections(text) if name in SECTIONS else {}


def _tables(text: str) -> Any:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return UNREADABLE
    tool, project = data.get("tool"), data.get("project")
    kept = {key: tool[key] for key in tool if key.startswith(("pytest", "coverage"))} if isinstance(tool, dict) else {}
    points = project.get("entry-points") if isinstance(project, dict) else None
    return kept | ({"plugins": points["pytest11"]} if isinstance(points, dict) and "pytest11" in points else {})


def _sections(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return UNREADABLE
    names = [name for name in parser.sections() if name in ("pytest", "tool:pytest") or name.startswith("coverage")]
    return {name: dict(parser.items(name)) for name in names}


def namesake(path: str) -> bool:
    """Whether the file is a module with the name of one that runs tests, wherever it is."""
    return path.endswith(".py") and _module(path)[1] in SHADOWED


def shadows(path: str, files: Collection[str], test_folders: Collection[str]) -> bool:
    """Whether a namesake would be imported in place of the module that runs tests.

    `test_folders`: where tests are; pytest puts the first folder that is no package on the import path.
    """
    folder, module = _module(path)
    return module in CUSTOMIZE or folder in {"", "src", *(_root(where, files) for where in test_folders)}


def displaces(path: str, files: Collection[str], test_folders: Collection[str], own: Collection[str]) -> bool:
    """Whether a module beside the tests would be imported in place of one of the project's `own`."""
    folder, module = _module(path)
    beside = {_root(where, files) for where in test_folders} - {"", "src"}
    return folder in beside and _is_own(own, module)


def _is_own(own: Collection[str], module: str) -> bool:
    """Whether something of the project is imported by this name, from its folder or from `src`."""
    starts = tuple(f"{root}{module}{end}" for root in ("", "src/") for end in (".py", "/"))
    return any(path.endswith(".py") and path.startswith(starts) for path in own)


def _module(path: str) -> tuple[str, str]:
    """Folder and name by which it is imported."""
    folder, name = posixpath.split(path.removesuffix(".py"))
    return posixpath.split(folder) if name == "__init__" else (folder, name)


def _root(folder: str, files: Collection[str]) -> str:
    while folder and f"{folder}/__init__.py" in files:
        folder = posixpath.dirname(folder)
    return folder
