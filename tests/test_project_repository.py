"""The workspace is a git repository whose commits follow from their inputs, and a kill at any point leaves it sound."""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from looper.errors import ConfigError, LooperError, Paused, PhaseError
from looper.tasks.project.reading.source import Limits, Source, read_source
from looper.tasks.project.workspace import git as command
from looper.tasks.project.workspace import in_place
from looper.tasks.project.workspace.git import Git
from looper.tasks.project.workspace.repository import Repository

FILES = {"app/__init__.py": "", "app/main.py": "def run():\n    return 1\n", "crlf.txt": "a\r\nb\r\n", "run.sh": "#!\n"}
PEOPLE = {"GIT_AUTHOR_NAME": "u", "GIT_AUTHOR_EMAIL": "u@x", "GIT_COMMITTER_NAME": "u", "GIT_COMMITTER_EMAIL": "u@x"}


def git(folder: Path, *arguments: str) -> str:
    quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", **PEOPLE}
    line = ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    return subprocess.run(line, env=os.environ | quiet, check=True, capture_output=True, text=True).stdout


def project(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    (folder / "data.bin").write_bytes(b"\0\1\2")
    (folder / "link").symlink_to("app/main.py")
    if "run.sh" in files:
        (folder / "run.sh").chmod(0o755)
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Source:
    return read_source(project(tmp_path / "plain"), Limits())


@pytest.fixture
def users(tmp_path: Path) -> Source:
    """A repository of the user with a change that is not committed, a new file, a removed one and an ignored one."""
    folder = project(tmp_path / "users", FILES | {"old.py": "x = 1\n", ".gitignore": "*.log\n"})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "theirs")
    (folder / "app/main.py").write_text("def run():\n    return 2\n")
    (folder / "new.py").write_text("y = 1\n")
    (folder / "old.py").unlink()
    (folder / "secret.log").write_text("never")
    return read_source(folder, Limits())


def begun(tmp_path: Path, source: Source, copy: Any = "copy", branch: str = "looper/run") -> tuple[Repository, str]:
    repository = Repository(tmp_path / "run" / "workspace")
    return repository, repository.begin(source, copy, branch)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts[:1]]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}


# The project as it was given


def test_a_copy_holds_the_files_with_their_modes_and_links(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    assert content(repository.folder) == content(plain.folder)
    assert os.access(repository.folder / "run.sh", os.X_OK)
    assert not os.access(repository.folder / "crlf.txt", os.X_OK)
    assert (repository.folder / "link").readlink() == Path("app/main.py")
    assert repository.differs(base) == []
    assert repository.head() == base
    assert repository.log() == [(base, "the project as given")]
    assert git(repository.folder, "symbolic-ref", "HEAD").strip() == "refs/heads/looper/run"
    assert git(repository.folder, "status", "--porcelain") == ""


def test_the_same_project_gives_the_same_commits_in_any_environment(
    tmp_path: Path, plain: Source, monkeypatch: pytest.MonkeyPatch
):
    one = Repository(tmp_path / "one")
    base = one.begin(plain, "copy", "b")
    commit = one.commit({"a.py": "1\n"}, "a", base)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[user]\nname=z\n[core]\nautocrlf=true\n[commit]\ngpgSign=true\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    two = Repository(tmp_path / "two")
    assert two.begin(plain, "copy", "b") == base
    assert two.commit({"a.py": "1\n"}, "a", base) == commit
    assert two.git.line("show", "-s", "--format=%an %ae %ad", "--date=iso", commit) == (
        "looper looper@localhost 2000-01-01 00:00:01 +0000"
    )


def test_a_copy_of_a_repository_keeps_its_history_and_takes_what_was_not_committed(tmp_path: Path, users: Source):
    before = git(users.folder, "rev-parse", "HEAD").strip()
    status = git(users.folder, "status", "--porcelain")
    repository, base = begun(tmp_path, users)
    assert repository.log() == [(base, "uncommitted changes")]
    assert git(repository.folder, "rev-parse", f"{base}^").strip() == before
    expected = content(users.folder)
    expected.pop("secret.log")
    assert content(repository.folder) == expected
    assert git(users.folder, "status", "--porcelain") == status
    assert git(repository.folder, "remote") == ""


def test_a_clean_repository_is_its_own_base(tmp_path: Path, users: Source):
    git(users.folder, "add", "-A")
    git(users.folder, "commit", "-q", "-m", "all")
    repository, base = begun(tmp_path, read_source(users.folder, Limits()))
    assert base == git(users.folder, "rev-parse", "HEAD").strip()
    assert repository.log() == [(base, "all")]


def test_a_tracked_link_that_leads_outside_stays_as_it_is(tmp_path: Path, users: Source):
    (users.folder / "out").symlink_to("/etc/hostname")
    git(users.folder, "add", "-A")
    git(users.folder, "commit", "-q", "-m", "all")
    source = read_source(users.folder, Limits())
    assert "out" not in source.others
    repository, base = begun(tmp_path, source)
    assert base == git(users.folder, "rev-parse", "HEAD").strip()
    assert repository.differs(base) == []


def test_line_ends_that_the_projects_attributes_ask_for_make_no_change(tmp_path: Path):
    folder = project(tmp_path / "users", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "a\r\nb\r\n"})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "theirs")
    repository, base = begun(tmp_path, read_source(folder, Limits()))
    assert base == git(folder, "rev-parse", "HEAD").strip()
    done = repository.commit({"a.txt": "a\r\nc\r\n"}, "c", base)
    repository.place(done)
    assert (repository.folder / "a.txt").read_bytes() == b"a\r\nc\r\n"
    assert git(repository.folder, "show", f"{done}:a.txt") == "a\nc\n"
    repository.place(base)
    assert (repository.folder / "a.txt").read_bytes() == b"a\r\nb\r\n"


def test_attributes_of_a_project_without_git_change_no_byte(tmp_path: Path):
    files = {".gitattributes": "* text eol=crlf filter=x\n", ".gitignore": "*.py\n", "a.py": "1\n", "b": "1\r\n2\n"}
    source = read_source(project(tmp_path / "plain", files), Limits())
    repository, base = begun(tmp_path, source)
    done = repository.commit({"a.py": "2\r\n3\n"}, "two", base)
    repository.place(done)
    repository.place(base)
    assert content(repository.folder) == content(source.folder)
    repository.place(done)
    assert (repository.folder / "a.py").read_bytes() == b"2\r\n3\n"


def test_a_part_of_a_repository_is_copied_without_its_history(tmp_path: Path, users: Source):
    repository, base = begun(tmp_path, read_source(users.folder / "app", Limits()))
    assert repository.log() == [(base, "the project as given")]
    assert sorted(content(repository.folder)) == ["__init__.py", "main.py"]


def test_a_repository_without_a_commit_is_copied(tmp_path: Path):
    folder = project(tmp_path / "users")
    git(folder, "init", "-q")
    repository, base = begun(tmp_path, read_source(folder, Limits()))
    assert repository.log() == [(base, "the project as given")]
    assert content(repository.folder) == content(folder)


# A worktree


def test_a_worktree_leaves_the_users_checkout_alone(tmp_path: Path, users: Source):
    before = content(users.folder), git(users.folder, "status", "--porcelain"), git(users.folder, "rev-parse", "HEAD")
    repository, base = begun(tmp_path, users, "worktree")
    done = repository.commit({"new.py": None, "other.py": "z\n"}, "other", base)
    repository.place(done)
    assert before == (
        content(users.folder),
        git(users.folder, "status", "--porcelain"),
        git(users.folder, "rev-parse", "HEAD"),
    )
    assert git(users.folder, "log", "--format=%s", "looper/run").splitlines() == [
        "other",
        "uncommitted changes",
        "theirs",
    ]
    assert f"worktree {repository.folder}\n" in git(users.folder, "worktree", "list", "--porcelain")
    git(users.folder, "worktree", "prune")
    assert repository.head() == done


def test_a_folder_that_is_no_repository_has_no_worktree(tmp_path: Path, plain: Source, users: Source):
    with pytest.raises(ConfigError, match="is not the top of a git repository"):
        begun(tmp_path, plain, "worktree")
    with pytest.raises(ConfigError, match="use a copy"):
        begun(tmp_path, read_source(users.folder / "app", Limits()), "worktree")
    assert not (tmp_path / "run" / "workspace").exists()


@pytest.mark.parametrize("copy", ["copy", "worktree"])
def test_a_branch_of_the_user_is_never_taken(tmp_path: Path, users: Source, copy: str):
    with pytest.raises(ConfigError, match="has a branch main already"):
        begun(tmp_path, users, copy, "main")
    with pytest.raises(ConfigError, match="has a branch main already"):
        begun(tmp_path, users, copy, "main")
    assert git(users.folder, "rev-parse", "main") == git(users.folder, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["", "-d", "a..b", "a b", "x.lock", "--help"])
def test_a_name_that_git_does_not_take_is_refused(tmp_path: Path, plain: Source, name: str):
    with pytest.raises(ConfigError, match="cannot be the name of a git branch"):
        begun(tmp_path, plain, "copy", name)


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path, plain: Source):
    (tmp_path / "run" / "workspace").mkdir(parents=True)
    (tmp_path / "run" / "workspace" / "mine").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else"):
        begun(tmp_path, plain)
    assert (tmp_path / "run" / "workspace" / "mine").read_text() == "mine"


def test_a_workspace_inside_a_repository_never_acts_on_that_one(tmp_path: Path, plain: Source, users: Source):
    repository = Repository(users.folder / "outputs" / "run" / "workspace")
    repository.begin(plain, "copy", "b")
    shutil.rmtree(repository.folder / ".git")
    before = content(users.folder)
    with pytest.raises(LooperError):
        repository.place(git(users.folder, "rev-parse", "HEAD").strip())
    assert content(users.folder) == before


# Commits


def test_a_commit_is_the_project_with_the_changes_over_it_and_leaves_the_work_tree(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    changed = {"run.sh": "#!new\n", "app/main.py": None, "deep/er/new.py": "n\n", "crlf.txt": "c\r\n"}
    done = repository.commit(changed, "Task 1", base)
    assert repository.head() == base
    assert repository.differs(base) == []
    assert repository.differs(done) == ["app/main.py", "crlf.txt", "deep/er/new.py", "run.sh"]
    assert repository.commit(dict(reversed(changed.items())), "Task 1", base) == done
    repository.place(done)
    assert repository.differs(done) == []
    assert (repository.folder / "crlf.txt").read_bytes() == b"c\r\n"
    assert os.access(repository.folder / "run.sh", os.X_OK)
    assert not (repository.folder / "app/main.py").exists()
    later = repository.commit({"run.sh": "#!new\n"}, "Task 2", done)
    repository.place(later)
    assert content(repository.folder) == content(plain.folder) | {"run.sh": b"#!new\n"}
    assert [subject for _, subject in repository.log()] == ["Task 2", "Task 1", "the project as given"]
    assert not list(repository.folder.parent.glob(".*stage"))


def test_a_file_may_take_the_place_of_a_folder_and_the_other_way_round(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    changed = {"app/main.py": None, "app/__init__.py": None, "app": "a file\n", "crlf.txt": None, "crlf.txt/in": "x\n"}
    done = repository.commit(changed, "swap", base)
    for commit in (done, base, done):
        repository.place(commit)
        assert repository.differs(commit) == []
    assert (repository.folder / "app").read_text() == "a file\n"
    assert (repository.folder / "crlf.txt" / "in").read_text() == "x\n"


@pytest.mark.parametrize(
    "message",
    ["", "--amend", "-m\n\n-F /etc/passwd", "a\0b", "\u00e4 \U0001f600 \ud800", "# not a comment", "x" * 9000],
)
def test_any_text_is_a_message(tmp_path: Path, plain: Source, message: str):
    repository, base = begun(tmp_path, plain)
    done = repository.commit({"a": "a"}, message, base)
    said = repository.git("show", "-s", "--format=%B", done).decode()
    expected = message.replace("\0", " ").encode("utf-8", "replace").decode()
    assert said.strip() == expected.strip()


@pytest.mark.parametrize("path", ["../out", "/etc/x", ".git/hooks/pre-commit", "a/.GIT/config", "a//b", ""])
def test_a_path_outside_the_project_is_no_commit(tmp_path: Path, plain: Source, path: str):
    repository, base = begun(tmp_path, plain)
    with pytest.raises(ConfigError):
        repository.commit({path: "x"}, "m", base)
    with pytest.raises(ConfigError):
        repository.commit({path: None}, "m", base)


@pytest.mark.parametrize("name", ["-h", "0" * 40, "nonsense", ""])
def test_a_commit_that_is_not_there_is_said(tmp_path: Path, plain: Source, name: str):
    repository, _ = begun(tmp_path, plain)
    with pytest.raises(PhaseError, match="has no commit"):
        repository.place(name)


# Placing


def test_placing_mends_a_torn_work_tree(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    done = repository.commit({"app/main.py": "two\n", "more/new.py": "n\n"}, "two", base)
    (repository.folder / ".git" / "index.lock").write_text("")
    (repository.folder / ".git" / "HEAD.lock").write_text("")
    (repository.folder / ".git" / "refs/heads/looper/run.lock").write_text("")
    (repository.folder / "app/main.py").write_text("half")
    (repository.folder / "more").write_text("a file in the way")
    (repository.folder / "app/__pycache__").mkdir()
    (repository.folder / "app/__pycache__/main.pyc").write_bytes(b"x")
    shutil.rmtree(repository.folder / "crlf.txt", ignore_errors=True)
    (repository.folder / "crlf.txt").unlink()
    for _ in range(2):
        repository.place(done)
        assert repository.differs(done) == []
        assert repository.head() == done
    expected = content(plain.folder) | {"app/main.py": b"two\n", "more/new.py": b"n\n", "link": b"two\n"}
    assert content(repository.folder) == expected


def test_a_damaged_index_is_made_anew(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    (repository.folder / ".git" / "index").write_bytes(b"DIRC nonsense")
    (repository.folder / "crlf.txt").write_text("other")
    repository.place(base)
    assert repository.differs(base) == []


def test_a_change_of_the_same_size_is_found(tmp_path: Path, plain: Source):
    repository, base = begun(tmp_path, plain)
    file = repository.folder / "app/main.py"
    times = file.stat()
    file.write_text(FILES["app/main.py"].replace("1", "9"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert repository.differs(base) == ["app/main.py"]


# Kills


class Killed(BaseException):
    """What nothing catches."""


def killing(monkeypatch: pytest.MonkeyPatch, at: int, after: bool) -> Callable[[], int]:
    """The process dies before or after its `at`-th command of git; how many there were."""
    count = 0
    real = command._run

    def run(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == at and not after:
            raise Killed
        done = real(*arguments)
        if count == at:
            raise Killed
        return done

    monkeypatch.setattr(command, "_run", run)
    return lambda: count


def steps(repository: Repository, source: Source, copy: Any) -> tuple[str, str]:
    base = repository.begin(source, copy, "looper/run")
    if copy == "worktree":  # what follows is the same as in a copy
        return base, base
    done = repository.commit({"app/main.py": "two\n", "new.py": "n"}, "two", base)
    repository.place(done)
    return base, done


@pytest.mark.parametrize(("copy", "after"), [("plain", True), ("worktree", False), ("worktree", True)])
def test_a_kill_at_any_command_leaves_what_the_next_try_makes_whole(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, copy: str, after: bool
):
    source = request.getfixturevalue("plain" if copy == "plain" else "users")
    how = "copy" if copy == "plain" else copy
    expected = None
    for at in range(1, 60):
        repository = Repository(tmp_path / f"run{at}" / "workspace")
        with monkeypatch.context() as patch:
            count = killing(patch, at, after)
            try:
                first = steps(repository, source, how)
            except Killed:
                first = None
        assert steps(repository, source, how) == (expected := expected or steps(repository, source, how))
        assert repository.differs(expected[1]) == []
        assert repository.head() == expected[1]
        assert not (tmp_path / f"run{at}" / ".workspace.building").exists()
        if how == "worktree":
            assert git(source.folder, "worktree", "list").count("\n") == 2
            git(source.folder, "worktree", "remove", "--force", str(repository.folder))
            git(source.folder, "branch", "-D", "looper/run")
        if first is not None:
            assert first == expected
            assert count() == at - 1
            break
    else:
        pytest.fail("never came to the end")


@pytest.mark.parametrize("lost", ["folder", ".git", "marker"])
def test_a_worktree_of_which_a_kill_left_a_part_is_made_anew(tmp_path: Path, users: Source, lost: str):
    building = tmp_path / "run" / ".workspace.building"
    building.parent.mkdir()
    git(users.folder, "worktree", "add", "-q", "--detach", "--lock", str(building))
    if lost == "folder":
        shutil.rmtree(building)
    elif lost == ".git":
        (building / ".git").unlink()
    repository, base = begun(tmp_path, users, "worktree")
    assert repository.differs(base) == []
    assert git(users.folder, "worktree", "list").count("\n") == 2
    assert not building.exists()


def test_a_worktree_that_was_moved_and_not_told_so_is_told(tmp_path: Path, users: Source):
    repository, base = begun(tmp_path, users, "worktree")
    entry = repository.git.own / "gitdir"
    entry.write_text("/nowhere/.git\n")
    assert repository.begin(users, "worktree", "looper/run") == base
    assert entry.read_text() == f"{repository.folder / '.git'}\n"


def test_a_command_that_outlives_a_killed_looper_is_waited_for(tmp_path: Path, plain: Source):
    repository, _ = begun(tmp_path, plain)
    started, ended = tmp_path / "started", tmp_path / "ended"
    alias = f"alias.linger=!touch {started}; sleep 0.5; touch {ended}"
    program = (
        "import sys; from pathlib import Path; from looper.tasks.project.workspace.git import Git; "
        "Git(Path(sys.argv[1]), Path(sys.argv[2]))('-c', sys.argv[3], 'linger')"
    )
    line = [sys.executable, "-c", program, str(repository.folder), str(repository.git.lock), alias]
    with subprocess.Popen(line) as looper:
        while not started.exists():
            time.sleep(0.01)
        looper.kill()
    assert not ended.exists()
    repository.head()
    assert ended.exists()


# What goes wrong outside


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("copy", ["copy", "worktree"])
def test_a_repository_of_another_user_that_git_was_told_to_trust_is_taken(
    tmp_path: Path, users: Source, monkeypatch: pytest.MonkeyPatch, copy: str
):
    for path in [users.folder, *users.folder.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {users.folder}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    source = read_source(users.folder, Limits())
    assert source.git
    repository, base = begun(tmp_path, source, copy)
    assert repository.log()[0] == (base, "uncommitted changes")
    assert repository.differs(base) == []


def test_a_missing_or_old_git_is_said(tmp_path: Path, plain: Source, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    command._version.cache_clear()
    with pytest.raises(ConfigError, match=r"install git 2\.32 or newer"):
        begun(tmp_path, plain)
    tool = tmp_path / "git"
    tool.write_text("#!/bin/sh\necho git version 2.11.0\n")
    tool.chmod(0o755)
    with pytest.raises(ConfigError, match=r"git 2\.11 is too old"):
        begun(tmp_path, plain)
    command._version.cache_clear()


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("fatal: one\nfatal: cannot lock.", PhaseError, "^git write-tree failed: fatal: cannot lock.$"),
        ("error: x: No space left on device", Paused, "free some space"),
        ("", PhaseError, "ended with code 128"),
    ],
)
def test_what_git_says_becomes_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, kind: type[LooperError], words: str
):
    failed = subprocess.CompletedProcess([], 128, b"", said.encode())
    monkeypatch.setattr(command, "_run", lambda *_: failed)
    with pytest.raises(kind, match=words) as caught:
        Git(tmp_path, tmp_path / "lock")("write-tree")
    assert "\n" not in str(caught.value)
    if isinstance(caught.value, Paused):
        assert caught.value.reason == "storage"


def test_a_hook_of_the_users_repository_never_runs(tmp_path: Path, users: Source):
    for name in ("post-checkout", "post-commit", "reference-transaction", "post-index-change"):
        hook = users.folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    repository, base = begun(tmp_path, users, "worktree")
    repository.place(repository.commit({"a": "a"}, "a", base))
    assert not (tmp_path / "ran").exists()


# The user's own folder


def test_the_change_is_handed_over_with_modes_kept_and_again_without_effect(tmp_path: Path, plain: Source):
    changed = {
        "run.sh": "#!new\n",
        "app/main.py": None,
        "app/__init__.py": None,
        "a/b/c.py": "c\n",
        "crlf.txt": "x\r\n",
    }
    for _ in range(2):
        Repository.hand_over(plain.folder, plain, changed)
        found = content(plain.folder)
        assert found == {"run.sh": b"#!new\n", "a/b/c.py": b"c\n", "crlf.txt": b"x\r\n", "data.bin": b"\0\1\2"}
        assert os.access(plain.folder / "run.sh", os.X_OK)
        assert not (plain.folder / "app").exists()


def test_a_file_that_the_user_changed_meanwhile_stops_all(tmp_path: Path, plain: Source):
    (plain.folder / "app/main.py").write_text("mine\n")
    (plain.folder / "new.py").write_text("mine too\n")
    before = content(plain.folder)
    with pytest.raises(PhaseError, match=r"app/main.py, new.py changed since"):
        Repository.hand_over(plain.folder, plain, {"app/main.py": "x\n", "new.py": "y\n", "crlf.txt": "z"})
    assert content(plain.folder) == before


@pytest.mark.parametrize("path", ["app/new.py", "app/main.py", "crlf.txt"])
def test_nothing_is_written_through_a_link(tmp_path: Path, plain: Source, path: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text(FILES["app/main.py"])
    (outside / "crlf.txt").write_bytes(FILES["crlf.txt"].encode())
    shutil.rmtree(plain.folder / "app")
    (plain.folder / "app").symlink_to(outside)
    (plain.folder / "crlf.txt").unlink()
    (plain.folder / "crlf.txt").symlink_to(outside / "crlf.txt")
    before = content(outside)
    with pytest.raises(PhaseError, match=path):
        Repository.hand_over(plain.folder, plain, {path: "x\n", "fine.py": "f\n"})
    assert content(outside) == before
    assert not (plain.folder / "fine.py").exists()


def test_a_file_for_a_folder_is_handed_over_only_where_it_can_be(tmp_path: Path, plain: Source):
    with pytest.raises(PhaseError, match=r"crlf\.txt/x"):
        Repository.hand_over(plain.folder, plain, {"crlf.txt/x": "x\n"})
    Repository.hand_over(plain.folder, plain, {"crlf.txt/x": "x\n", "crlf.txt": None})
    assert (plain.folder / "crlf.txt" / "x").read_text() == "x\n"


def test_a_full_disk_pauses_and_the_next_try_goes_on(tmp_path: Path, plain: Source, monkeypatch: pytest.MonkeyPatch):
    changed = {"app/main.py": "two\n", "crlf.txt": "c", "new.py": "n"}
    real = os.fsync
    left = 1

    def fsync(file: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file)

    with monkeypatch.context() as patch:
        patch.setattr(in_place.os, "fsync", fsync)
        with pytest.raises(Paused, match="free some space") as caught:
            Repository.hand_over(plain.folder, plain, changed)
    assert caught.value.reason == "storage"
    Repository.hand_over(plain.folder, plain, changed)
    assert content(plain.folder) == content(plain.folder) | {path: text.encode() for path, text in changed.items()}
    assert not list(plain.folder.rglob(".looper-*"))
