"""Reads a JUnit XML report; the file comes from the box, so it counts as hostile."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from looper.checks.evidence import cleaned
from looper.checks.suite.record import Record
from looper.checks.suite.reports import Outcome, TestResult

MOST_ELEMENTS = 200_000
DEEPEST = 50
MOST_TEXT = 100_000
"""Characters at the end of a failure's text that are searched for its place."""
NAME = 500
_PLACES = (re.compile(r'File "([^"\n]+)", line (\d+)'), re.compile(r"^[ \t]*([^\s:]+):(\d+)(?::|$)", re.MULTILINE))
_SEVERITY: dict[Outcome, int] = {"passed": 0, "skipped": 1, "error": 2, "failed": 3}
_COLLECTION = "collection failure"


class Unreadable(ValueError):
    """The report is none; the text says why."""


def parsed(data: bytes) -> Element:
    """The root of a report. Raises Unreadable for a DTD, too many elements, and what is no XML."""
    builder, depth, count = TreeBuilder(), 0, 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise Unreadable("it is nested too deeply or has too many elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise Unreadable("it has a document type or entities, which are refused")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise Unreadable(
            f"it is no valid XML ({error})" if not isinstance(error, Unreadable) else str(error)
        ) from error


def fill(record: Record, data: bytes, there: Callable[[str], bool]) -> None:
    """Puts the results of a report into `record`; `there` says whether a relative path is a file of the project."""
    try:
        root = parsed(data)
    except Unreadable as error:
        record.stopped = f"the JUnit report cannot be read: {error}"
        return
    if root.tag not in ("testsuite", "testsuites"):
        record.stopped = f"the JUnit report cannot be read: its root is {root.tag!r}, not testsuite"
        return
    for case in root.iter("testcase"):
        _case(record, case, there)


def _case(record: Record, case: Element, there: Callable[[str], bool]) -> None:
    """One test; one that is in the report twice has the worse of its outcomes."""
    name, group = case.get("name", ""), case.get("classname", "")
    verdict = next((child for tag in ("failure", "error", "skipped") for child in case.findall(tag)), None)
    text, at = ("", "") if verdict is None else (_text(verdict), _place(case, verdict, record, there))
    if verdict is not None and verdict.get("message") == _COLLECTION:
        file = f"{name.replace('.', '/')}.py"
        record.miss(file if there(file) else name, _last(verdict.text) or text, at)
        return
    outcomes: dict[str, Outcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
    outcome: Outcome = "passed" if verdict is None else outcomes[verdict.tag]
    new = TestResult(id=cleaned(f"{group}::{name}" if group else name, NAME), outcome=outcome, text=text, at=at)
    old = record.results.get(new.id)
    if old is None or _SEVERITY[new.outcome] > _SEVERITY[old.outcome]:
        record.results[new.id] = new


def _text(verdict: Element) -> str:
    """The first two lines of its message."""
    said = verdict.get("message") or verdict.text or verdict.get("type") or ""
    return "; ".join(line.strip() for line in said.strip().splitlines()[:2])


def _last(text: str | None) -> str:
    """The error at the end of a traceback; pytest marks its lines with an E."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    marked = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return (marked or lines or [""])[-1]


def _place(case: Element, verdict: Element, record: Record, there: Callable[[str], bool]) -> str:
    """The last place in the project that the failure's text names, else the test's own."""
    found = ""
    for pattern in _PLACES:
        for path, line in pattern.findall((verdict.text or "")[-MOST_TEXT:]):
            file = _inside(path, record)
            found = f"{file}:{line}" if there(file) else found
    file = _inside(case.get("file", ""), record)
    line = case.get("line", "")
    return found or (f"{file}:{line}" if line.isdigit() and there(file) else "")


def _inside(path: str, record: Record) -> str:
    return str(PurePosixPath(path.replace("\\", "/").removeprefix(f"{record.places.work}/")))
