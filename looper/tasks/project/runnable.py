"""Whether a project's tests can run at all: what no coder can mend is said before anything is spent."""

import re
from collections.abc import Iterable, Sequence

from looper.checks.suite.reports import SuiteReport
from looper.tasks.project.gate import files_of_tests

MISSING = re.compile(r"No module named '(\w+)")


def unrunnable(first: SuiteReport, paths: Iterable[str], python_path: Sequence[str]) -> str:
    """Why the tests as given leave a coder nothing to work on, and what to do about it; empty if they do not."""
    if first.problem and not first.tests and not files_of_tests(one.file for one in first.broken):
        lost = f" ({first.broken[0].file})" if first.broken else ""
        return (
            f"the tests give no verdict: {first.problem}{lost}. Check task.suite.command, task.suite.paths and that "
            f"they can run without network. {first.excerpt[-300:]}"
        )
    if "did not end within" in first.problem:
        return f"{first.problem}; raise task.suite.seconds, or name others in task.suite.paths."
    said = " ".join([one.text for one in first.broken] + [test.text for test in first.tests])
    paths = list(paths)
    for name in sorted(set(MISSING.findall(said))):
        if folder := home_of(name, paths, python_path):
            return f"the tests cannot import {name}, which is in {folder}/; give task.suite.python_path=[{folder}]."
    return ""


def home_of(module: str, paths: Iterable[str], known: Sequence[str]) -> str:
    """The folder of the project, not on the path, in which a package or module lies; empty if there is none."""
    for path in sorted(paths):
        folder, _, name = path.partition("/")
        inside = name == f"{module}.py" or name.startswith(f"{module}/")
        if inside and folder not in known and folder != module:
            return folder
    return ""
