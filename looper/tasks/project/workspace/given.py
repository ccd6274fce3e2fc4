"""The workspace as it is made: the project as it was given, in a repository of its own or in the user's."""

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from looper.checks.sandbox.folder import write_inside
from looper.errors import ConfigError
from looper.journal import write_whole
from looper.tasks.project.reading.source import Source
from looper.tasks.project.workspace.commits import BASE, ended, inside, take, tie
from looper.tasks.project.workspace.git import Git, cannot_write

Copy = Literal["copy", "worktree"]
HEADS = "refs/heads/"


def make(target: Git, source: Source, copy: Copy, branch: str) -> None:
    """Makes the workspace beside its place and then renames it: there is the whole of it or nothing.

    Raises ConfigError if the branch cannot be, or if the user's repository cannot have a worktree.
    """
    built = Git(target.folder.with_name(f".{target.folder.name}.building"), target.lock)
    theirs = _theirs(target, source)
    head = _head(theirs) if source.git else ""
    _clear(built, theirs, head)
    if copy == "worktree":
        _require_worktree(source, head)
        theirs("worktree", "add", "--quiet", "--detach", "--no-checkout", str(built.folder), head)
    else:
        _repository(built, theirs, head)
    _require_branch(built, branch)
    _fill(built, source, head)
    built("symbolic-ref", "HEAD", f"{HEADS}{branch}")
    built("update-ref", f"{HEADS}{branch}", built.known(BASE))
    try:
        built.folder.rename(target.folder)
    except OSError as error:
        raise cannot_write(target.folder, error) from error


def _theirs(target: Git, source: Source) -> Git:
    """The user's repository; reading the project showed that the user's git opens it, whoever owns it."""
    settings = target.folder.with_name(f".{target.folder.name}.gitconfig")
    write_whole(settings, b"[safe]\n\tdirectory = *\n")
    return Git(source.folder, target.lock, settings)


def point_back(git: Git) -> None:
    """A worktree's repository knows where it is; after a kill it may still know where it was made."""
    own = git.own
    here = f"{git.folder / '.git'}\n".encode()
    if (git.folder / ".git").is_file() and (own / "gitdir").read_bytes() != here:
        write_whole(own / "gitdir", here)


def _head(theirs: Git) -> str:
    """The commit that is checked out in the user's folder; empty if it has none or is only a part of a repository."""
    top = theirs("rev-parse", "--show-toplevel", allowed=(0, 128))
    if not top or not theirs.folder.samefile(os.fsdecode(top).removesuffix("\n")):
        return ""
    return theirs.known("HEAD")


def _require_worktree(source: Source, head: str) -> None:
    if not head:
        raise ConfigError(f"{source.folder}: is not the top of a git repository with a commit; use a copy of it.")


def _require_branch(built: Git, branch: str) -> None:
    name = f"{HEADS}{branch}"
    if branch.startswith("-") or built("check-ref-format", "--normalize", name, allowed=(0, 1)) != f"{name}\n".encode():
        raise ConfigError(f"{branch!r} cannot be the name of a git branch; give another one.")
    if built.known(name):
        raise ConfigError(f"the project has a branch {branch} already; give another name, or delete it.")


def _clear(built: Git, theirs: Git, head: str) -> None:
    """Takes away what a kill left: the folder, and in the user's repository the branch and the worktree's entry."""
    if (built.folder / ".git").is_file():
        branch = built("symbolic-ref", "--quiet", "HEAD", allowed=(0, 1, 128)).decode().strip()
        if branch:  # it was set after looking that there was no such branch
            built("update-ref", "-d", branch)
    with built.alone():
        if built.folder.exists():
            shutil.rmtree(built.folder)
    entry = os.fsencode(f"worktree {built.folder}\n")
    if head and entry in theirs("worktree", "list", "--porcelain"):
        theirs("worktree", "remove", "--force", "--force", str(built.folder))


def _repository(built: Git, theirs: Git, head: str) -> None:
    if not head:
        built.folder.mkdir()
        built("init", "--quiet", "--template=")
        own = built.folder / ".git" / "info"
        own.mkdir(exist_ok=True)
        (own / "attributes").write_text("* -text !eol !crlf -ident !filter !working-tree-encoding\n")
        return
    options = ("--quiet", "--no-local", "--no-checkout", "--no-tags", "--single-branch", "--template=")
    theirs("clone", *options, "--", str(theirs.folder), str(built.folder))
    built("remote", "remove", "origin")


def _fill(built: Git, source: Source, head: str) -> None:
    """Work tree, index and first commit, and the reference that says that all is there."""
    known: Sequence[str] = ()
    if head:
        built("read-tree", head)
        known = built.paths("ls-files", "-z")
    _lay(built.folder, source)
    paths = {*source.texts, *source.others}
    gone = [path for path in known if path not in paths and not os.path.lexists(source.folder / path)]
    left = [path for path in known if path not in paths and path not in gone]
    take(built, [*gone, *sorted(paths)])
    tree = built.line("write-tree")
    base = head
    if not head or tree != built.line("rev-parse", f"{head}^{{tree}}"):
        message = "uncommitted changes" if head else "the project as given"
        base = tie(built, tree, message, [head] if head else [])
    if left:
        built("checkout-index", "--quiet", "-z", "--stdin", stdin=ended(left))
    built("update-ref", BASE, base)


def _lay(folder: Path, source: Source) -> None:
    """The project's files with their modes, the links last so that nothing is written through one."""
    links = [path for path in source.others if (source.folder / path).is_symlink()]
    try:
        write_inside(folder, {inside(path): text.encode() for path, text in source.texts.items()})
        files = sorted(source.others.keys() - set(links))
        write_inside(folder, dict.fromkeys(map(inside, files), b""))
        for path in files:
            shutil.copyfile(source.folder / path, folder / path, follow_symlinks=False)
        for path in (*source.texts, *files):
            if _executable(source.folder / path):
                (folder / path).chmod(0o755)
        for path in links:
            (folder / inside(path)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to((source.folder / path).readlink())
    except FileNotFoundError as error:
        raise ConfigError(f"{error.filename}: went away while it was copied; start again.") from error
    except OSError as error:
        raise cannot_write(folder, error) from error


def _executable(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & stat.S_IXUSR)
    except FileNotFoundError:
        return False
