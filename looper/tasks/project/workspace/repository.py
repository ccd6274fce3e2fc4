"""The run's git repository: what a project was given as, a commit per finished task, a branch at the end.

Everything follows from its inputs: a step that is done twice, as after a kill, gives the same commit.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from looper.checks.sandbox.folder import write_inside
from looper.errors import ConfigError, PhaseError
from looper.tasks.project.reading.source import Source
from looper.tasks.project.workspace import given, in_place
from looper.tasks.project.workspace.commits import BASE, inside, take, tie
from looper.tasks.project.workspace.git import Git, cannot_write, require_git

LOCKS = ("index.lock", "HEAD.lock")


class Repository:
    """A run's workspace: a work tree with a `.git` of its own, or a worktree of the user's repository."""

    hand_over = staticmethod(in_place.hand_over)

    def __init__(self, folder: Path):
        self.folder = folder.absolute()
        self.git = Git(self.folder, self._beside("lock"))

    def begin(self, source: Source, copy: given.Copy, branch: str) -> str:
        """Makes the workspace, on a new branch; the id of the commit that holds the project as it was given.

        Done again it gives the same commit, whatever a kill left. The user's own checkout is not touched; `worktree`
        adds the branch and the worktree to the user's repository. Raises ConfigError if that cannot be.
        """
        require_git()
        if not self._begun():
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise ConfigError(f"{self.folder}: holds something else than this run's workspace; move it away.")
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            given.make(self.git, source, copy, branch)
        given.point_back(self.git)
        return self.git.known(BASE)

    def commit(self, changed: Mapping[str, str | None], message: str, parent: str) -> str:
        """The id of a commit with the project as given and `changed` over it; the work tree stays as it is.

        Line ends and filters are those that the project's own .gitattributes ask for; modes stay.
        """
        above = self._commit(parent)
        with self._staged() as stage:
            env = {"GIT_INDEX_FILE": str(stage / "index")}
            self.git("read-tree", BASE, env=env)
            if changed:
                ordered = sorted(map(inside, changed), key=lambda path: (changed[path] is not None, path))
                tree = stage / "tree"
                self._lay(tree, changed, env)
                take(self.git, ordered, {**env, "GIT_WORK_TREE": str(tree)})
            return tie(self.git, self.git.line("write-tree", env=env), message, [above])

    def place(self, commit: str) -> None:
        """Branch and work tree stand at this commit; whatever else lies in the work tree is gone."""
        wanted = self._commit(commit)
        branch = self.git.line("symbolic-ref", "HEAD")
        stale = [*(self.git.own / name for name in LOCKS), self.git.common / f"{branch}.lock"]
        with self.git.alone():
            for file in stale:
                file.unlink(missing_ok=True)
        try:
            self.git("read-tree", "--reset", "-u", wanted)
        except PhaseError:  # an index that a crash damaged: it only repeats what commits hold
            (self.git.own / "index").unlink(missing_ok=True)
            self.git("read-tree", "--reset", "-u", wanted)
        self.git("clean", "-q", "-ffdx")
        self.git("update-ref", branch, wanted)

    def head(self) -> str:
        """The id of the commit at which the branch stands."""
        return self._commit("HEAD")

    def log(self) -> list[tuple[str, str]]:
        """Id and subject of the run's commits, the latest first, the project as given last."""
        said = self.git("log", "-z", "--format=%H %s", "HEAD", "--not", f"{BASE}^@", "--")
        lines = said.decode("utf-8", "replace").split("\0")
        return [(id, subject) for id, _, subject in (line.partition(" ") for line in lines if line)]

    def differs(self, commit: str) -> list[str]:
        """Paths in which the work tree differs from a commit, in order; ignored files count as well."""
        wanted = self._commit(commit)
        with self._staged() as stage:
            env = {"GIT_INDEX_FILE": str(stage / "index")}
            self.git("read-tree", wanted, env=env)
            self.git("update-index", "-q", "--refresh", allowed=(0, 1), env=env)
            changed = self.git.paths("diff-files", "--name-only", "-z", env=env)
            added = self.git.paths("ls-files", "--others", "-z", env=env)
        return sorted({*changed, *added})

    def _beside(self, what: str) -> Path:
        return self.folder.with_name(f".{self.folder.name}.{what}")

    @contextmanager
    def _staged(self) -> Iterator[Path]:
        """An empty folder beside the workspace, for one step."""
        stage = self._beside("stage")
        try:
            with self.git.alone():
                shutil.rmtree(stage, ignore_errors=True)
                stage.mkdir()
            yield stage
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _begun(self) -> bool:
        return (self.folder / ".git").exists() and bool(self.git.known(BASE))

    def _commit(self, name: str) -> str:
        found = self.git.known(name)
        if not found:
            raise PhaseError(
                f"{self.folder.name}: has no commit {name[:60]!r}; it is not the workspace of this journal."
            )
        return found

    def _lay(self, tree: Path, changed: Mapping[str, str | None], env: Mapping[str, str]) -> None:
        """The files that are not as given, with the modes they were given with."""
        tree.mkdir()
        texts = {path: text.encode() for path, text in changed.items() if text is not None}
        write_inside(tree, texts)
        for line in self.git.paths("ls-files", "-s", "-z", env=env):
            facts, _, path = line.partition("\t")
            if facts.startswith("100755 ") and path in texts:
                (tree / path).chmod(0o755)
