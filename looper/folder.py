"""A run's folder: one process at a time, files that are always whole, and what can be told of it from outside."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from looper.errors import ConfigError, JournalDamaged, RunLocked
from looper.journal import Journal, read, write_whole
from looper.state import ENDINGS, fold
from looper.types import TERMINAL

LOCK = "lock"
STOP = "stop_requested"


def dump(data: Any) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=True) + "\n").encode()


class Folder:
    """One run on disk: `history.jsonl` is the truth; `run.json` and `artifact.md` are rebuilt from it (SAFETY P5)."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def history(self) -> Path:
        return self.path / "history.jsonl"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the one process that runs this folder (SAFETY P6). Raises RunLocked if another one does.

        The lock file is never deleted: deleting it would let two processes lock two files of one name.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / LOCK).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunLocked(
                    f"{self.path.name}: is running in another process; `looper stop {self.path.name}` ends it in order."
                ) from error
            yield

    @contextmanager
    def read(self) -> Iterator[None]:
        """Keep the run from being resumed while it is read; others may read it too. Raises RunLocked if it is running.

        A folder without a lock file was never run here, e.g. it was copied: nobody can be at it.
        """
        lock = self.path / LOCK
        if not lock.exists():
            yield
            return
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunLocked(
                    f"{self.path.name}: is running; wait for its end, or `looper stop {self.path.name}`."
                ) from error
            yield

    def alive(self) -> bool:
        """Whether some process runs this folder now; one that only reads it does not count."""
        lock = self.path / LOCK
        if not lock.exists():
            return False
        with lock.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def state(self) -> dict[str, Any]:
        """What run.json would say now, told from the journal.

        Raises ConfigError if there is no journal, JournalDamaged if it is not the one that run.json was written from.
        """
        if not self.history.exists():
            raise ConfigError(
                f"{self.path.name}: has no history.jsonl: nothing can be told or resumed; start a new run."
            )
        known = self.saved()  # before the journal, which may grow meanwhile
        found = read(self.history)
        check_head(known, found.hashes)
        return fold(found.events, self.path)

    def status(self, state: dict[str, Any]) -> str:
        """The status for people: a `running` run whose process is gone was interrupted and can be resumed."""
        interrupted = state["status"] == "running" and not self.alive()
        return "interrupted" if interrupted else state["status"]

    def check_head(self, journal: Journal) -> None:
        """Refuse a journal that is shorter than the one that run.json was written from, or another one (SAFETY P4)."""
        check_head(self.saved(), journal.hashes)

    def saved(self) -> dict[str, Any]:
        """run.json as it stands, or nothing if it is lost or broken: it is rebuilt from the journal then."""
        file = self.path / "run.json"
        try:
            data = json.loads(file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def save(self, journal: Journal) -> dict[str, Any]:
        """Write run.json and, once there is one, artifact.md from the journal."""
        state = fold(journal.events, self.path)
        state["journal"] = {"seq": len(journal.events), "hash": journal.hashes[-1] if journal.hashes else ""}
        write_whole(self.path / "run.json", dump(state))
        artifact = last_artifact(journal)
        if artifact is not None:
            write_whole(self.path / "artifact.md", artifact.encode("utf-8", "replace"))
        return state

    def stop_file(self) -> Path:
        return self.path / STOP


def check_head(known: Mapping[str, Any], hashes: Sequence[str]) -> None:
    """Raises JournalDamaged unless a journal with these lines goes on from the one that run.json was written from."""
    head = known.get("journal")
    seq, digest = (head.get("seq", 0), head.get("hash")) if isinstance(head, dict) else (0, None)
    if not isinstance(seq, int) or seq > len(hashes) or (seq > 0 and hashes[seq - 1] != digest):
        raise JournalDamaged(
            f"history.jsonl has {len(hashes)} whole lines, but run.json was written after line {seq} of another one; "
            "nothing was run. Restore the file from a backup, or start a new run."
        )


def last_artifact(journal: Journal) -> str | None:
    """The artifact of the outcome; while a loop is not over, the last one that an event created or refined, if any."""
    waiting: str | None = None
    for event in reversed(journal.events):
        if event.event in ENDINGS and not event.key:
            text = journal.payload(event).get("artifact")
            if event.event == "paused":
                waiting = waiting or text
                continue
        elif event.event in ("artifact_created", "refinement_done"):
            text = journal.payload(event).get("text")
        else:
            continue
        if isinstance(text, str):
            return text
    return waiting


class Outputs:
    """All runs below one folder, and the pointer to the active one."""

    def __init__(self, root: Path):
        self.root = root

    @property
    def pointer(self) -> Path:
        return self.root / "current.json"

    def folders(self) -> list[Folder]:
        """Every run, newest first."""
        found = [*self.root.glob("*/history.jsonl"), *self.root.glob("sweeps/*/*/history.jsonl")]
        return [Folder(p.parent) for p in sorted(found, key=lambda p: (p.stat().st_mtime_ns, str(p)), reverse=True)]

    def find(self, name: str | None) -> Folder:
        """A run by id, folder or task alias; the newest one without a name. Raises ConfigError."""
        folders = self.folders()
        if name is None:
            active = self.active()
            if active or folders:
                return active or folders[0]
            raise ConfigError(f"there is no run below {self.root}/ yet; start one with +task=...")
        for folder in folders:
            if name in (folder.path.name, str(folder.path)) or folder.path.resolve() == Path(name).resolve():
                return folder
        for folder in folders:
            if folder.saved().get("task_alias") == name or folder.saved().get("run_id") == name:
                return folder
        raise ConfigError(f"no run `{name}` below {self.root}/; `looper list` shows what there is.")

    def active(self) -> Folder | None:
        """The run that current.json points at, if it is still there."""
        try:
            known = json.loads(self.pointer.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        folder = Folder(self.root / str(known.get("folder", "") if isinstance(known, dict) else ""))
        return folder if folder.history.exists() else None

    def point(self, folder: Folder, state: dict[str, Any]) -> None:
        """Keep current.json while a loop is active; remove it when that loop has ended (document 003)."""
        if state["status"] in TERMINAL:
            active = self.active()
            if active and active.path.resolve() == folder.path.resolve():
                self.pointer.unlink(missing_ok=True)
            return
        pointer = {
            "active_run_id": state["run_id"],
            "task_alias": state["task_alias"],
            "status": state["status"],
            "updated_at": state["updated_at"],
            "folder": os.path.relpath(folder.path, self.root),
        }
        write_whole(self.pointer, dump(pointer))
