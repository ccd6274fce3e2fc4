"""Reading a user's project once, and what paths may name (SPEC 3.9)."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from looper.errors import ConfigError
from looper.tasks.project.editing.paths import Layout, Refusal, matches, safe
from looper.tasks.project.reading import listing
from looper.tasks.project.reading.source import Limits, Source, read_source


def fill(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def git(folder: Path, *arguments: str) -> None:
    names = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *fixed, *arguments], cwd=folder, check=True, capture_output=True, env=names)


def read(folder: Path, **limits: int) -> Source:
    return read_source(folder, Limits(**limits))


def test_a_folder_is_read_without_caches_and_outputs(tmp_path: Path):
    fill(tmp_path, {"app/a.py": "a = 1\n", "outputs/x": "x", "app/__pycache__/a.pyc": "x", ".venv/lib/b.py": "b",
                    "x.egg-info/PKG": "x", "docs/outputs.md": "# Outputs\n"})  # fmt: skip
    source = read(tmp_path)
    assert dict(source.texts) == {"app/a.py": "a = 1\n", "docs/outputs.md": "# Outputs\n"}
    assert not source.git
    assert ".venv, __pycache__, outputs, x.egg-info" in source.left_out[0]


def test_line_ends_and_byte_order_marks_are_kept(tmp_path: Path):
    fill(tmp_path, {"a.txt": b"\xef\xbb\xbfone\r\ntwo\rthree\x0c\n", "empty.py": b""})
    assert dict(read(tmp_path).texts) == {"a.txt": "\ufeffone\r\ntwo\rthree\x0c\n", "empty.py": ""}


def test_binary_and_large_files_are_listed_but_not_read(tmp_path: Path):
    fill(tmp_path, {"a.py": "x", "nul.bin": b"a\0b", "latin.txt": b"\xe9", "large.txt": "x" * 11})
    source = read(tmp_path, max_file_bytes=10)
    assert set(source.texts) == {"a.py"}
    assert source.others == {"nul.bin": 3, "latin.txt": 1, "large.txt": 11}


def test_git_decides_what_belongs_to_a_repository(tmp_path: Path):
    fill(tmp_path, {".gitignore": "secret.env\n/build2/\n", "a.py": "a", "secret.env": "key", "build2/x": "x",
                    "new.py": "n", "build/kept.py": "k", "gone.py": "g", "name with ä.py": "n"})  # fmt: skip
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py", "gone.py", "build/kept.py")
    (tmp_path / "gone.py").unlink()
    fill(tmp_path, {"venv/x.py": "x"})
    source = read(tmp_path)
    assert source.git
    assert set(source.texts) == {".gitignore", "a.py", "new.py", "build/kept.py", "name with ä.py"}
    assert "venv" in source.left_out[0]


def test_a_folder_inside_a_repository_follows_its_rules_unless_it_is_ignored(tmp_path: Path):
    fill(tmp_path, {".gitignore": "*.log\nplay/\n", "pkg/a.py": "a", "pkg/b.log": "b", "play/c.py": "c"})
    git(tmp_path, "init", "-q")
    inside = read(tmp_path / "pkg")
    assert (set(inside.texts), inside.git) == ({"a.py"}, False)
    assert set(read(tmp_path / "play").texts) == {"c.py"}


def test_variables_of_another_repository_do_not_lead_git_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("one", "two"):
        fill(tmp_path / name, {f"{name}.py": name})
        git(tmp_path / name, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "two" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "two"))
    assert set(read(tmp_path / "one").texts) == {"one.py"}


def test_a_repository_starts_no_program_while_it_is_listed(tmp_path: Path):
    fill(tmp_path, {"a.py": "a"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'ran'}; false")
    read(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_repositories_within_are_left_out_and_said(tmp_path: Path):
    fill(tmp_path, {"a.py": "a", "nested/b.py": "b"})
    git(tmp_path, "init", "-q")
    git(tmp_path / "nested", "init", "-q")
    source = read(tmp_path)
    assert set(source.texts) == {"a.py"}
    assert source.left_out == ("'nested/' is a repository of its own",)


def test_a_broken_repository_is_not_read_as_a_plain_folder(tmp_path: Path):
    fill(tmp_path, {"a.py": "a", ".git": "gitdir: /nowhere/at/all\n"})
    with pytest.raises(ConfigError, match="git cannot read the repository"):
        read(tmp_path)


def test_a_repository_without_git_on_the_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {"a.py": "a", ".git/HEAD": "x"})
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match="no git on PATH"):
        read(tmp_path)


@pytest.mark.parametrize("repository", [False, True])
def test_links_are_never_followed(tmp_path: Path, repository: bool):
    outside = fill(tmp_path / "outside", {"secret": "key"})
    top = fill(tmp_path / "top", {"a.py": "a", "sub/b.py": "b"})
    for name, target in {"in.py": "a.py", "sub/up.py": "../a.py", "folder": "sub", "out": "../outside/secret",
                         "back": "../top/a.py", "far": str(outside), "absolute.py": str(top / "a.py"),
                         "nowhere": "nope", "round": "round"}.items():  # fmt: skip
        (top / name).symlink_to(target)
    if repository:
        git(top, "init", "-q")
    source = read(top)
    assert set(source.texts) == {"a.py", "sub/b.py"}
    assert set(source.others) == {"in.py", "sub/up.py", "folder"}
    told = " ".join(source.left_out)
    assert all(f"'{name}'" in told for name in ("out", "back", "far", "absolute.py", "nowhere", "round"))


def test_pipes_are_never_opened(tmp_path: Path):
    fill(tmp_path, {"a.py": "a"})
    os.mkfifo(tmp_path / "pipe")
    source = read(tmp_path)
    assert set(source.texts) == {"a.py"}
    assert source.left_out == ("'pipe' is a pipe, a socket or a device",)


def test_names_that_could_act_are_left_out_and_shown_harmless(tmp_path: Path):
    fill(tmp_path, {"a.py": "a", "line\nbreak.py": "b", "esc\x1b[31m.py": "c"})
    source = read(tmp_path)
    assert set(source.texts) == {"a.py"}
    assert all(reason.isprintable() for reason in source.left_out)
    assert len(source.left_out) == 2


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path):
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("x")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read(tmp_path)


def test_what_is_no_project_is_refused(tmp_path: Path):
    fill(tmp_path, {"file": "x"})
    (tmp_path / "empty").mkdir()
    for path, words in {"none": "There is no project folder", "file": "is a file", "empty": "no file of a project",
                        "nul\0": "There is no project folder"}.items():  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            read(tmp_path / path)


@pytest.mark.parametrize("repository", [False, True])
def test_more_files_or_bytes_than_the_limit_are_refused(tmp_path: Path, repository: bool):
    fill(tmp_path, {f"{number}.py": "xx" for number in range(5)})
    if repository:
        git(tmp_path, "init", "-q")
    assert len(read(tmp_path, max_files=5, max_bytes=10).texts) == 5
    with pytest.raises(ConfigError, match="max_files is 4"):
        read(tmp_path, max_files=4)
    with pytest.raises(ConfigError, match="max_bytes=9"):
        read(tmp_path, max_bytes=9)


def test_the_digest_tells_projects_apart(tmp_path: Path):
    files: dict[str, str | bytes] = {"a.py": "a", "b.py": "b", "c.bin": b"\0c"}
    variants: list[dict[str, str | bytes]] = [
        files, {**files, "a.py": "b"}, {**files, "c.bin": b"\0d"}, {**files, "d": ""},
        {"a.py": "a", "b.pyb": "", "c.bin": b"\0c"}
    ]  # fmt: skip
    digests = [read(fill(tmp_path / str(number), variant)).digest for number, variant in enumerate(variants)]
    assert len(set(digests)) == len(digests)
    assert read(fill(tmp_path / "again", files)).digest == digests[0]


def test_a_thousand_files_are_read_in_a_moment(tmp_path: Path):
    text = "def f():\n    return 1\n" * 100
    fill(tmp_path, {f"pkg{number % 20}/m{number}.py": text for number in range(1000)})
    git(tmp_path, "init", "-q")
    started = time.perf_counter()
    assert len(read(tmp_path).texts) == 1000
    assert time.perf_counter() - started < 1.0  # 0.1 s alone on the machine; the bound of the issue is 0.3 s


def test_a_stuck_git_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {"a.py": "a", ".git/HEAD": "x", "bin/git": "#!/bin/sh\nexec sleep 5\n"})
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(listing, "SECONDS", 0.05)
    with pytest.raises(ConfigError, match=r"more than 0\.05 s"):
        read(tmp_path)


@pytest.mark.parametrize(("path", "plain"), [
    ("a.py", "a.py"), ("./a//b/./c.py", "a/b/c.py"), ("nul.txt", "nul.txt"), ("con:x", "con:x"),
    ("ä b/ü.py", "ä b/ü.py"),
    (".gitignore", ".gitignore"), (".github/x.yml", ".github/x.yml"), ("a..b", "a..b"), ("-rf", "-rf"),
])  # fmt: skip
def test_paths_inside_are_made_plain(path: str, plain: str):
    assert safe(path) == plain


@pytest.mark.parametrize("path", [
    "/etc/passwd", "../x", "a/../../x", "a/..", "..\\x", "C:/x", "C:\\x", "\\\\host\\x", "~/x", ".git/config",
    "a/.GIT/x",
    ".git", ".git./x", ".git /x", "GIT~1/x", ".g\u200cit/x", ".git::$INDEX_ALLOCATION/x", "\uff0egit/x",
])  # fmt: skip
def test_paths_that_lead_out_are_refused_as_such(path: str):
    refusal = safe(path)
    assert isinstance(refusal, Refusal)
    assert refusal.outside


@pytest.mark.parametrize("path", [
    "", ".", "./", "a/", "a/.", "a\\b", "a\0b", "a\nb", "a\x1b[0mb", "a\u202eb", "a\u2028b", "a\ud800b",
    "x" * 256, "a/" * 150 + "b",
])  # fmt: skip
def test_paths_that_no_file_should_have_are_refused(path: str):
    refusal = safe(path)
    assert isinstance(refusal, Refusal)
    assert not refusal.outside
    assert refusal.reason


@pytest.mark.parametrize(("path", "reason"), [
    ("readme.md", "README.md only in the case"), ("src/app/B.PY", "src/app/b.py only in the case"),
    ("src/app", "is a folder"),
    ("SRC/new.py", "folder src only in the case"), ("src/app/b.py/x", "the file src/app/b.py is"),
    ("Readme.MD/x", "the file README.md is"), ("cafe\u0301.py", "only in the case"),
])  # fmt: skip
def test_new_files_must_fit_on_any_file_system(path: str, reason: str):
    refusal = Layout(["README.md", "src/app/b.py", "café.py"]).refusal(path)
    assert refusal is not None
    assert reason in refusal.reason


def test_what_fits_is_not_refused():
    layout = Layout(["README.md", "src/app/b.py", "Src/x.py"])
    assert [layout.refusal(path) for path in ("src/app/c.py", "src/new/c.py", "README.md", "Src/y.py", "z")] == [
        None
    ] * 5


@pytest.mark.parametrize(("glob", "yes", "no"), [
    ("test_*.py", ["test_a.py", "x/y/test_a.py"], ["a_test.py", "test_a.pyc", "test_a/b.py"]),
    ("**/tests/**", ["tests/a", "x/tests/y/b.json"], ["tests", "mytests/a", "tests.py"]),
    ("src/**", ["src/a", "src/a/b"], ["src", "x/src/a"]), ("src/", ["src/a"], ["srcs/a"]),
    ("src/*.py", ["src/a.py"], ["src/b/a.py"]), ("a?[bc].py", ["axb.py"], ["axd.py", "a/b.py"]),
    ("[!a].py", ["b.py"], ["a.py"]), ("a+b.py", ["a+b.py"], ["aab.py"]), ("a/**/b", ["a/b", "a/x/y/b"], ["ab"]),
])  # fmt: skip
def test_patterns_match_names_and_folders(glob: str, yes: list[str], no: list[str]):
    assert [path for path in [*yes, *no] if matches(path, [glob])] == yes


def test_a_pattern_that_cannot_be_read_is_refused():
    with pytest.raises(ConfigError, match="is not a pattern"):
        matches("a", ["[z-a]"])
