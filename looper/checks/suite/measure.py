"""Statement coverage of a project's files while its tests run; inside the sandbox.

Lines that the project excludes by `pragma: no cover` are no statements; what a child process runs is not seen.
"""

from __future__ import annotations

import os
from pathlib import Path

MOST_LINES = 200
MOST_FILES = 2000


class Meter:
    """Measures the wanted files and folders of the working folder from its making on."""

    def __init__(self, wanted: list[str]):
        import coverage

        self.here = Path(os.path.realpath("."))
        self.wanted = [self.here / name for name in wanted]
        patterns = [str(place / "*") if place.is_dir() else str(place) for place in self.wanted]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=patterns)
        self.coverage.start()

    def measured(self) -> dict[str, tuple[float, list[int]]]:
        """Share and missing lines by file; all statements of a file that was never loaded are missing."""
        from coverage.exceptions import CoverageException

        self.coverage.stop()
        found: dict[str, tuple[float, list[int]]] = {}
        for file in self.sources():
            try:
                _, statements, _, missing, _ = self.coverage.analysis2(str(file))
            except CoverageException:  # no valid Python, so nothing of it ran
                statements, missing = [1], [1]
            share = 1 - len(missing) / len(statements) if statements else 1.0
            found[file.relative_to(self.here).as_posix()] = round(share, 4), missing[:MOST_LINES]
        return found

    def sources(self) -> list[Path]:
        files: set[Path] = set()
        for place in self.wanted:
            files |= {place} if place.is_file() else set(place.rglob("*.py"))
        return sorted(files)[:MOST_FILES]
