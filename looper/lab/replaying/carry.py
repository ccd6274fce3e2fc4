"""What a task has put into a run's folder and needs again where that run is repeated or continued elsewhere.

A project is kept in its run's folder as it was given (`given`), and so is a repository of the run's own. A replay or a
fork takes these, not the user's folder, which the run itself may have changed since. Other tasks keep nothing.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looper.journal import write_whole
from looper.tasks.project.task import FIRST
from looper.tasks.project.workspace.commits import BASE
from looper.tasks.project.workspace.git import Git
from looper.tasks.project.workspace.home import GIVEN, INDEX, WORKSPACE


def carry(source: Path, target: Path, *, measured: bool, apart: bool) -> None:
    """Copy what the task needs; with `measured` what it found out of it, too, so that nobody computes it again.

    A workspace that is a worktree of the user's repository is left where it is, or, for a repetition that is kept
    `apart`, cloned: the user's objects are read, nothing of theirs is written.
    """
    target.mkdir(parents=True, exist_ok=True)
    workspace = source / WORKSPACE
    for folder in (source / GIVEN, workspace):
        if folder.is_dir() and not (folder / ".git").is_file():
            shutil.copytree(folder, target / folder.name, symlinks=True)
    if apart and (workspace / ".git").is_file():
        _clone(workspace, target / WORKSPACE)
    for name in (INDEX, FIRST) if measured else (INDEX,):
        if (source / name).is_file():
            shutil.copy2(source / name, target / name)


def _clone(worktree: Path, target: Path) -> None:
    """A repository of its own with all commits of the worktree's, those on no branch too."""
    settings = target.with_name(f".{WORKSPACE}.gitconfig")
    write_whole(settings, b"[safe]\n\tdirectory = *\n")
    lock = target.with_name(f".{WORKSPACE}.lock")
    theirs = Git(worktree, lock, settings)
    base = theirs.known(BASE)
    if not base:  # the run was broken off before it was made
        return
    options = ("--quiet", "--shared", "--no-checkout", "--no-tags", "--template=")
    theirs("clone", *options, "--", str(worktree.absolute()), str(target))
    own = Git(target, lock)
    own("remote", "remove", "origin")
    own("update-ref", BASE, base)


def begun(task: Any, source: Path, target: Path) -> None:
    """A worktree of the new run's own in the user's repository, where that of the run it comes from is one.

    The commits of the shared steps are known there already. Raises ConfigError if the project was changed meanwhile.
    """
    if (source / WORKSPACE / ".git").is_file():
        task.open(target)
        _ = task.home.base


def renamed(target: Path, before: str) -> None:
    """The workspace that was carried stands on a branch of the new run's name."""
    workspace = target / WORKSPACE
    if not workspace.is_dir():
        return
    git = Git(workspace, workspace.with_name(f".{WORKSPACE}.lock"))
    old, new = f"refs/heads/looper/{before}", f"refs/heads/looper/{target.name}"
    head = git.known(old)
    if head:
        git("update-ref", new, head)
        git("symbolic-ref", "HEAD", new)
        git("update-ref", "-d", old)


def alone(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run for a repetition that leaves the user's own repository alone."""
    task = dict(config.get("task") or {})
    if task.get("checkout") == "worktree":
        task["checkout"] = "copy"
    return {**config, "task": task, "record": None}
