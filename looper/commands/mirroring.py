"""The commands sync and ui: what MLflow has of the runs."""

from pathlib import Path
from typing import Any

from looper.commands.request import Request, changed
from looper.commands.shelf import pick
from looper.console.screen import brief
from looper.errors import ConfigError
from looper.folder import Folder


def sync_runs(request: Request) -> int:
    """Mirror again what MLflow has missed, each run into the store that it names."""
    from looper.tracking import sync

    folders = [pick(request.outputs, request.name)] if request.name else request.outputs.folders()
    stores: dict[Any, list[Path]] = {}
    for folder in folders:
        stores.setdefault(tracking_of(folder, request), []).append(folder.path)
    bad = 0
    for tracking, paths in stores.items():
        done = sync(request.outputs.root, tracking, paths)
        bad += len(done.failed)
        for line in synced_lines(done):
            request.screen.say(line)
    if not folders:
        request.screen.say(f"there are no runs below {request.outputs.root}/ yet.")
    return 1 if bad else 0


def synced_lines(done: Any) -> list[str]:
    """What a sync found, a line each; runs that were complete are only counted."""
    lines = [f"{name}: written" for name in done.written]
    lines += [f"{name}: failed, {brief(why, 300)}" for name, why in done.failed.items()]
    return [*lines, f"{len(done.same)} run(s) were complete."]


def show_ui(request: Request) -> int:
    """MLflow's own user interface on this project's store, on 127.0.0.1."""
    from looper.tracking.ui import ui

    newest = next(iter(request.outputs.folders()), None)
    port = request.settings.pop("port", None)
    if port is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"port={port}: a port is a number from 1 to 65535.")
    return ui(request.outputs.root, tracking_of(newest, request), int(port) if port else None, say=request.screen.say)


def tracking_of(folder: Folder | None, request: Request) -> Any:
    """The tracking settings of a run, with what was given on the command line over them; else the defaults."""
    from looper.build import instantiate
    from looper.console.story import config_of

    own = (config_of(folder).get("tracking") if folder else None) or {}
    target = {"_target_": "looper.tracking.Tracking"}
    return instantiate(changed({"tracking": {**target, **own}}, request.settings)["tracking"], "tracking")
