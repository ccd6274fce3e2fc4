"""The shipped project add_login: green as given, its acceptance tests red, all green with the reference."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from looper.tasks.project import library

HERE = Path(library.__file__).parent / "add_login"
ACCEPTANCE = ("test_login.py", "test_protected.py", "test_user_model.py", "test_user_schema.py")
BAD = {"failure", "error"}


def laid(folder: Path, *overlays: str) -> Path:
    """A copy of the project with these tests laid over it."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(HERE / "workspace", folder, ignore=ignored)
    for name in overlays:
        shutil.copytree(HERE / name, folder / "tests" / name, ignore=ignored)
    return folder


def outcomes(folder: Path) -> dict[str, list[bool]]:
    """Whether each test passed, by its file; read from the report."""
    report = folder / "report.xml"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", f"--junitxml={report}"]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[bool]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.attrib["classname"].rpartition(".")[2] + ".py"
        found.setdefault(file, []).append(not BAD & {child.tag for child in case})
    return found


def test_as_given_the_projects_own_tests_pass_and_every_acceptance_test_fails(tmp_path: Path):
    found = outcomes(laid(tmp_path / "given", "acceptance"))
    asked = [passed for file in ACCEPTANCE for passed in found.pop(file)]
    own = [passed for results in found.values() for passed in results]
    assert 25 <= len(asked) <= 40
    assert not any(asked)
    assert 20 <= len(own) <= 35
    assert all(own)


def test_with_the_reference_all_tests_pass(tmp_path: Path):
    folder = laid(tmp_path / "solved", "acceptance", "hidden")
    subprocess.run(
        ["git", "apply", str(HERE / "reference.patch")], cwd=folder, check=True,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.resolve())},
    )  # fmt: skip
    found = outcomes(folder)
    assert {*ACCEPTANCE, "test_hidden.py"} <= found.keys()
    assert 20 <= len(found["test_hidden.py"]) <= 30
    assert [file for file, results in found.items() if not all(results)] == []


def test_the_reference_leaves_the_tests_and_their_settings_alone():
    lines = (HERE / "reference.patch").read_text(encoding="utf-8").splitlines()
    touched = [line.split(" b/")[1] for line in lines if line.startswith("diff --git ")]
    assert "notebook/store.py" in touched
    assert [path for path in touched if not path.startswith("notebook/")] == ["README.md"]


@pytest.mark.parametrize("name", ["workspace", "acceptance", "hidden"])
def test_no_caches_are_shipped(name: str):
    assert (HERE / name).is_dir()
    found = [path for path in (HERE / name).rglob("*") if path.name.startswith(".") or path.name == "__pycache__"]
    assert found == []
