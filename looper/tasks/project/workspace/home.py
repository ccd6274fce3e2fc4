"""Where a run keeps its project: as it was given, and the workspace with a commit per finished task."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from looper.errors import ConfigError
from looper.journal import write_whole
from looper.tasks.project.reading.source import Limits, Source, read_source
from looper.tasks.project.workspace.given import Copy
from looper.tasks.project.workspace.repository import Repository

GIVEN, INDEX, WORKSPACE = "given", ".given.json", "workspace"


class Home:
    """The folder of one run, or a temporary one outside a run.

    The project is copied when it is first needed, and read from the copy ever after: what the user does to the folder
    while a run is paused changes nothing in it.
    """

    def __init__(self, project: Path, limits: Limits, checkout: Copy, tests: Mapping[str, str]):
        """`tests` are laid over the project: they come with the task and count as given."""
        self.project, self.limits, self.tests = project, limits, tests
        self.checkout: Copy = checkout
        self._folder: Path | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def open(self, folder: Path) -> None:
        """The run's folder. Only before anything was read."""
        self._folder = folder

    def close(self) -> None:
        """A temporary folder goes away, and so does what a run left that was refused before it began."""
        if self._temporary is not None:
            self._temporary.cleanup()
        elif self._folder is not None and not (self._folder / "history.jsonl").exists():
            shutil.rmtree(self._folder / GIVEN, ignore_errors=True)
            for left in (*self._folder.glob(f".{GIVEN}*"), *self._folder.glob(f"*{WORKSPACE}*")):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)

    @cached_property
    def folder(self) -> Path:
        if self._folder is not None:
            return self._folder
        self._temporary = tempfile.TemporaryDirectory(prefix="looper-project-")
        return Path(self._temporary.name)

    @cached_property
    def source(self) -> Source:
        """The project as it was given to this run."""
        index = self.folder / INDEX
        if not index.exists():
            self._keep(read_source(self.project, self.limits))
        try:
            return self._read(json.loads(index.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"{self.folder / GIVEN}: is not what this run was given any more ({error}); start a new run."
            ) from error

    @property
    def given(self) -> Path:
        """The project's files as they were given; nothing writes there."""
        return self.source and self.folder / GIVEN

    @cached_property
    def repository(self) -> Repository:
        return Repository(self.folder / WORKSPACE)

    @cached_property
    def base(self) -> str:
        """The commit that holds the project as it was given; the workspace is made if it is not there."""
        begun = (self.folder / WORKSPACE).exists()
        if not begun and read_source(self.project, self.limits).digest != self.source.digest:
            raise ConfigError(f"{self.project}: changed while the run was being set up; start a new run.")
        name = self.folder.name if self._folder is not None else "trial"
        return self.repository.begin(self.source, self.checkout, f"looper/{name}")

    def _keep(self, source: Source) -> None:
        """Copy what was read; the index comes last, so that a copy that was cut short is made again."""
        place = self.folder / GIVEN
        if place.exists():
            shutil.rmtree(place)
        for path in sorted({*source.texts, *source.others, *self.tests}):
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if path in self.tests:
                file.write_bytes(self.tests[path].encode())
            else:
                shutil.copy2(source.folder / path, file, follow_symlinks=False)
        index: dict[str, Any] = {
            "folder": str(source.folder), "texts": sorted({*source.texts, *self.tests}), "others": dict(source.others),
            "left_out": list(source.left_out), "digest": source.digest, "git": source.git,
        }  # fmt: skip
        write_whole(self.folder / INDEX, json.dumps(index).encode())

    def _read(self, index: dict[str, Any]) -> Source:
        place = self.folder / GIVEN
        texts = {path: (place / path).read_bytes().decode("utf-8") for path in index["texts"]}
        return Source(
            folder=Path(index["folder"]), texts=texts, others=index["others"], left_out=tuple(index["left_out"]),
            digest=index["digest"], git=index["git"],
        )  # fmt: skip
