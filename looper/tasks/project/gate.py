"""The gate of a project: its tests by file, that they were left alone, and what that says of single tests."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from looper.checks.suite.reports import SuiteReport
from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule

MOST_RULES = 40
"""Rules for files of tests; a project with more of them has a rule for each folder."""
SUITE = "suite"
"""Name of the check that the tests ran to their end at all."""
INTACT = "a.security.tests-intact"
TESTS = "a.correctness."
TEST = re.compile(r"^\s*(?:async )?def test", re.MULTILINE)
ALTERED = "altered"
"""In what a report says when somebody changed a result."""
PATTERNS = ("test_*.py", "*_test.py")


def files_of_tests(paths: Iterable[str]) -> list[str]:
    """Files that pytest would collect."""
    return sorted(path for path in paths if any(PurePosixPath(path).match(pattern) for pattern in PATTERNS))


def below(path: str, folder: str) -> bool:
    """Whether a path, or the id of a test, is or lies in this file or folder."""
    folder = folder.rstrip("/")
    return path == folder or any(path.startswith(f"{folder}{mark}") for mark in ("/", "::", "["))


def criteria_for(given: Mapping[str, Finding]) -> Criteria:
    """A rule for each file of tests that gave a result as given (or folder, if there are many), and two for all."""
    files = list(dict.fromkeys(name.partition("::")[0] for name in given if name != SUITE))
    groups = files if len(files) <= MOST_RULES else sorted({_folder(file) for file in files})
    rules = [Rule(id=f"{TESTS}{name}", description=f"all tests of {name} pass", check="run them") for name in groups]
    suite = Rule(id=f"{TESTS}{SUITE}", description="the tests run to their end; new ones pass", check="run them")
    intact = Rule(id=INTACT, description="no test is changed or removed, nor the way they are run", check="compare")
    return Criteria(rules=[*rules, suite, intact], phases=[Phase(name="A", threshold=1.0)])


def _folder(file: str) -> str:
    above = PurePosixPath(file).parent.as_posix()
    return file if above == "." else above


def results_of(
    report: SuiteReport | None, ignored: Sequence[str] = (), given: Mapping[str, Finding] | None = None
) -> dict[str, Finding]:
    """Each test by its id, files that could not be collected by their path, and the run as a whole as `suite`.

    A test that is among the `given` ones and gives no result any more has failed: who does not run proves nothing.
    """
    if report is None:
        return {}
    found = {test.id: Finding(passed=True) for test in report.tests if test.outcome == "passed"}
    bad = [test for test in report.tests if test.outcome in ("failed", "error")]
    found |= {test.id: Finding(passed=False, note=said(test.text, test.at)) for test in bad}
    found |= {broken.file: Finding(passed=False, note=said(broken.text, broken.at)) for broken in report.broken}
    gone = [name for name in given or {} if "::" in name and name not in found] if found else []
    found |= {name: Finding(passed=False, note="ran as given, and does not run now") for name in gone}
    found = {name: finding for name, finding in found.items() if not any(below(name, one) for one in ignored)}
    if report.problem or found:
        found[SUITE] = Finding(passed=not report.problem, note=report.problem)
    return found


def said(text: str, at: str) -> str:
    return f"{text} ({at})" if at and text else text or at


def evaluated(criteria: Criteria, results: Mapping[str, Finding], tampered: Sequence[str]) -> Evaluation:
    """The gate's verdict. A file of tests passes if some of its tests did and none did not."""
    findings = {rule: together(found) for rule, found in by_rule(criteria, results).items()}
    findings[INTACT] = Finding(passed=not tampered, note=", ".join(tampered))
    return criteria.evaluate(findings)


def by_rule(criteria: Criteria, results: Mapping[str, Finding]) -> dict[str, dict[str, Finding]]:
    """The results that each rule is about; what no file's rule is about belongs to that of the whole suite."""
    names = [rule.id.removeprefix(TESTS) for rule in criteria.rules if rule.id != INTACT]
    files = [name for name in names if name != SUITE]
    found = {f"{TESTS}{file}": {n: f for n, f in results.items() if below(n, file)} for file in files}
    rest = {n: f for n, f in results.items() if not any(below(n, file) for file in files)}
    return {**found, f"{TESTS}{SUITE}": rest}


def hidden_verdict(report: SuiteReport, texts: Mapping[str, str], tampered: Sequence[str]) -> Evaluation:
    """The share of hidden tests that pass. `texts` are their files: one that broke weighs as many tests as it has.

    A skipped test has not passed; none counts if tests were tampered with or results altered.
    """
    weights = {test.id: 1.0 for test in report.tests}
    weights |= {one.file: float(max(1, len(TEST.findall(texts.get(one.file, ""))))) for one in report.broken}
    rules = [Rule(id=f"{TESTS}{name}", description=f"{name} passes", weight=weight) for name, weight in weights.items()]
    suite = Rule(id=f"{TESTS}{SUITE}", description="the tests run to their end", weight=0.0 if rules else 1.0)
    criteria = Criteria(rules=[*rules, suite], phases=[Phase(name="A", threshold=1.0)])
    passed = {f"{TESTS}{test.id}": test.outcome == "passed" for test in report.tests}
    fair = not tampered and ALTERED not in report.problem
    return criteria.evaluate({**passed, suite.id: bool(rules) and not report.problem} if fair else {})


def together(found: Mapping[str, Finding]) -> Finding:
    failed = [f"{name}: {finding.note}" for name, finding in found.items() if not finding.passed]
    if not found:
        return Finding(passed=False, note="no test of it ran")
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    return Finding(passed=not failed, note="; ".join(failed[:3]) + more)


def grouped(results: Mapping[str, Finding]) -> list[dict[str, Any]]:
    """Failing tests by file: most likely one cause, one task."""
    found: dict[str, list[str]] = {}
    for name, finding in results.items():
        if not finding.passed:
            found.setdefault(name.partition("::")[0], []).append(name)
    return [
        {"name": file, "checks": names, "note": "\n".join(f"{name}: {results[name].note}" for name in names[:8])}
        for file, names in found.items()
    ]
