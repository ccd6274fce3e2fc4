"""Ending runs and removing them from outside: the commands stop and clean."""

import shutil
from collections.abc import Mapping
from typing import Any

from looper.console.story import config_of
from looper.errors import ConfigError, LooperError, RunLocked
from looper.folder import Folder, Outputs
from looper.journal import Event, Journal, write_whole
from looper.launch import Audience, launch
from looper.parts import build, user_packages
from looper.types import TERMINAL, Outcome


def settings_of(folder: Folder, outputs: Outputs) -> dict[str, Any]:
    """The configuration of a run, to run it again where it lies now. Raises ConfigError if it is lost."""
    config = config_of(folder)
    if not config:
        raise ConfigError(f"{folder.path.name}: has no config.yaml, so it cannot be resumed; start a new run.")
    return {**config, "outputs": str(outputs.root)}


def stop(folder: Folder, outputs: Outputs, words: str) -> str:
    """End a run; what was done, as a sentence. Raises ConfigError if it has ended already.

    One that is alive ends itself before its next step. One that is not is ended here, at once.
    """
    name, status = folder.path.name, folder.state()["status"]
    if status in TERMINAL:
        raise ConfigError(f"{name} has ended already ({status}); there is nothing to stop.")
    if not folder.alive():
        try:
            return _end(folder, outputs, words)
        except RunLocked:  # it was resumed at this moment: it is asked like any that is alive
            pass
    write_whole(folder.stop_file(), words.encode("utf-8", "replace"))
    return f"{name}: asked to stop; it ends before its next step."


def _end(folder: Folder, outputs: Outputs, words: str) -> str:
    """Replay what is on record and end where it stops: only so is the best state known that was evaluated.

    Where that is not possible (the task's files are gone, say), the last known outcome is kept.
    """
    try:
        _replayed(folder, outputs, words)
        note = ""
    except RunLocked:
        raise
    except LooperError as error:
        _append(folder, outputs, words)
        note = f" It could not be replayed ({error}), so the last outcome on record was kept."
    folder.stop_file().unlink(missing_ok=True)
    return f"{folder.path.name}: stopped.{note}"


def _replayed(folder: Folder, outputs: Outputs, words: str) -> Outcome:
    parts = build(settings_of(folder, outputs), user_packages())

    def ask_to_stop(*_: object) -> None:
        write_whole(folder.stop_file(), words.encode("utf-8", "replace"))

    return launch(parts, folder.path, audience=Audience(announce=ask_to_stop))


def _append(folder: Folder, outputs: Outputs, words: str) -> None:
    """The `stopped` event, with what the last pause knew."""
    with folder.locked():
        journal = Journal(folder.history, run_id=folder.path.name)
        try:
            folder.check_head(journal)
            detail = f"stopped on request{': ' + words if words else ''}."
            known = last_outcome(journal)
            outcome = Outcome(
                status="stopped", reason="user_stop", artifact=known.get("artifact"), score=known.get("score"),
                passed=bool(known.get("passed")), facts={"detail": detail, "note": words},
            )  # fmt: skip
            journal.append(Event(event="stopped", payload=outcome))
            outputs.point(folder, folder.save(journal))
        finally:
            journal.close()


def last_outcome(journal: Journal) -> Mapping[str, Any]:
    """What the last pause said, or nothing."""
    for event in reversed(journal.events):
        if event.event == "paused" and not event.key:
            return journal.payload(event)
    return {}


def remove(folder: Folder, outputs: Outputs) -> None:
    """Delete a run's folder. Raises RunLocked while it runs, ConfigError if it leads out of the outputs folder."""
    path, root = folder.path, outputs.root.resolve()
    if path.is_symlink() or not path.resolve().is_relative_to(root) or path.resolve() == root:
        raise ConfigError(
            f"{path}: is a link or lies outside {outputs.root}/, so it is not removed; remove it by hand."
        )
    active = outputs.active()
    with folder.locked():  # held until the last file is gone, so that no process starts to run it meanwhile
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise ConfigError(f"{path}: could not be removed ({error.strerror}: {error.filename}).") from error
    if active and active.path.resolve() == path.resolve():
        outputs.pointer.unlink(missing_ok=True)
