"""Commits that follow from their inputs alone."""

import os
from collections.abc import Mapping, Sequence

from looper.errors import ConfigError
from looper.tasks.project.editing.paths import Refusal, safe
from looper.tasks.project.workspace.git import Git

BASE = "refs/worktree/looper-base"
"""The project as it was given; set when it is whole. Every worktree has its own."""
START = 946_684_800
"""Date of the first commit of a new repository: 2000-01-01 in UTC; each one after it is a second later."""
NAME, MAIL = "looper", "looper@localhost"


def tie(git: Git, tree: str, message: str, parents: Sequence[str]) -> str:
    """The id of a commit of a tree, dated a second after its first parent; the message may be any text."""
    date = START
    if parents:
        date = int(git.line("show", "-s", "--format=%ct", parents[0])) + 1
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", NAME), ("EMAIL", MAIL), ("DATE", f"@{date} +0000"))
    }
    above = [word for parent in parents for word in ("-p", parent)]
    text = message.replace("\0", " ").encode("utf-8", "replace")
    return git.line("commit-tree", tree, *above, "-F", "-", stdin=text, env=who)


def take(git: Git, paths: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    """The index knows these paths as they are in the work tree; what is missing there goes from the index too.

    Files that are ignored count. Line ends and filters are those that the project's own .gitattributes ask for.
    """
    git("update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=ended(paths), env=env)


def ended(paths: Sequence[str]) -> bytes:
    """Paths for `-z --stdin`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def inside(path: str) -> str:
    """The path, if it is normalised and stays inside the project and out of git's own. Raises ConfigError else."""
    found = safe(path)
    if found != path:
        reason = found.reason if isinstance(found, Refusal) else f"is not normalised; write {found!r}"
        raise ConfigError(f"{path!r} {reason}.")
    return path
