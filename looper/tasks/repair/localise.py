"""Which lines are to blame: spectrum-based fault localisation from what each test ran.

Ochiai's coefficient (Abreu, Zoeteweij, van Gemund, TAICPART 2007): `ef / sqrt((ef + nf) * (ef + ep))` with `ef` and
`ep` the failing and passing tests that ran the line and `nf` the failing ones that did not; then scaled so that the
worst line has 1.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from math import sqrt

from looper.tasks.repair.problem import Report

NAMED_LINE = re.compile(r"\bline (\d+)\b")
HEADER = 0.5
"""Share of its body's suspicion that the line of a `def` gets: defaults of arguments are rarely at fault."""
GLOBAL = 0.4
"""Share of the worst suspicion for statements outside functions, which no single test runs."""
RAISED = 0.25
"""What a line gains when a failing test's error names it."""


def suspicion(source: str, report: Report) -> dict[int, float]:
    """Line -> 0 (no failing test ran it) to 1 (worst).

    Without failing tests that were traced, all executed lines count 1, without any trace all lines of statements.
    """
    raw = ochiai(report)
    if not raw:
        ran = {line for result in report.results for line in result.lines}
        raw = dict.fromkeys(ran or lines_of_statements(source), 1.0)
    for line in named_lines(report):
        if line in raw:
            raw[line] = min(1.0, raw[line] + RAISED)
    worst = max(raw.values(), default=1.0)
    return _spread(source, {line: value / worst for line, value in raw.items()})


def ochiai(report: Report) -> dict[int, float]:
    """Ochiai's coefficient of every line that a failing test ran; empty without such a trace."""
    failing: Counter[int] = Counter()
    passing: Counter[int] = Counter()
    traced = 0
    for result in report.results:
        traced += bool(result.lines) and not result.passed
        (passing if result.passed else failing).update(set(result.lines))
    return {line: n / sqrt(traced * (n + passing[line])) for line, n in sorted(failing.items())}


def named_lines(report: Report) -> set[int]:
    """Lines that the errors of failing tests name and those of passing ones do not."""
    return {int(n) for r in report.results if not r.passed for n in NAMED_LINE.findall(r.error)}


def lines_of_statements(source: str) -> list[int]:
    """First lines of all statements; none if the source is not Python."""
    return [start for _, start, _ in _statements(source)]


def _statements(source: str) -> Iterator[tuple[ast.stmt, int, int]]:
    """Each statement with the first and last line of itself, or of its header if it has a body."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            yield node, node.lineno, max(node.lineno, last or 0)


def _spread(source: str, known: dict[int, float]) -> dict[int, float]:
    """A statement's value on all its lines; a share of it on headers of functions and on what runs at import."""
    found = dict(known)
    worst = max(known.values(), default=0.0)
    for node, start, end in _statements(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [known.get(line, 0.0) for line in range(end + 1, (node.end_lineno or end) + 1)]
            found[start] = max(inside, default=0.0) * HEADER
        elif node.col_offset == 0 and start not in known and not isinstance(node, ast.ClassDef):
            found[start] = worst * GLOBAL
        for line in range(start, end + 1):
            found[line] = max(found.get(line, 0.0), found.get(start, 0.0))
    return dict(sorted(found.items()))
