"""The command resume: the same run goes on from its journal."""

from collections.abc import Mapping
from typing import Any

from looper.commands.request import Request, changed
from looper.commands.shelf import pick, resumable
from looper.errors import ConfigError, Interruption, ReplayMismatch, RunLocked
from looper.folder import Folder, Outputs
from looper.types import EXIT_CODES, TERMINAL

CHANGEABLE = ("budget", "model", "agents", "tracking", "sandbox", "confirm", "until")
"""What a resumed run may be given anew; its task, design and seed are what its journal was written with."""


def resume(request: Request) -> int:
    """Go on with a run that is paused or was interrupted."""
    from looper.console.story import Story

    folder = pick(request.outputs, request.name) if request.name else resumable(request.outputs)
    story = Story.of(folder)
    if story.status in TERMINAL:
        raise ConfigError(f"{story.name} has ended ({story.status}) and cannot be resumed; start a new run.")
    if story.status == "running":
        raise RunLocked(f"{story.name} is running; `looper stop {story.name}` ends it in order.")
    given = dict(request.settings)
    answers: dict[str, str] = {}
    if "answer" in given:
        if not story.waiting:
            raise ConfigError(f"{story.name} is not waiting for an answer; resume it without answer=.")
        answers[story.waiting["key"]] = given.pop("answer")
    return play(request, folder, given, answers, reached=story.state["stop"]["reason"] == "until")


def play(
    request: Request, folder: Folder, given: Mapping[str, str], answers: Mapping[str, str], *, reached: bool
) -> int:
    """Run what is left of a run, as a command does: with a console, mirrored, with its exit code."""
    import yaml

    from looper.commands.ending import settings_of
    from looper.console import Console
    from looper.journal import write_whole
    from looper.launch import launch
    from looper.parts import build, user_packages

    known = settings_of(folder, request.outputs)
    if reached:  # where it was to pause it has paused: it goes on from there
        given = {"until": "null", **given}
    config = changed(known, given)
    parts = build(config, user_packages())
    file = folder.path / "config.yaml"
    before = file.read_bytes() if file.exists() else b""
    if given:  # what was given holds for later resumes too
        write_whole(file, yaml.safe_dump(config, sort_keys=False).encode())
    mirror = _mirror(parts, folder, request.outputs)
    with Console(json_mode=request.as_json) as console:
        try:
            outcome = launch(parts, folder.path, audience=console.audience(), answers=answers)
        except ReplayMismatch:  # it contradicts what has happened: the run stays as it was
            if given and before:
                write_whole(file, before)
            raise
        except Interruption as end:
            console.screen.warn(f"looper: {end}")
            return EXIT_CODES[end.status]
        finally:
            problem = mirror.close() if mirror else None
        console.summary(outcome, folder.path)
        if problem:
            console.screen.warn(f"looper: {problem}")
    return EXIT_CODES[outcome.status]


def _mirror(parts: Any, folder: Folder, outputs: Outputs) -> Any:
    """MLflow's mirror of the run, which goes on with what it has."""
    if not getattr(parts.tracking, "enabled", False):
        return None
    mirror = parts.tracking.open(outputs.root)
    mirror.follow(folder.path, {})
    return mirror
