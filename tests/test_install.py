"""looper as a package: a wheel that works from an empty folder, a whole sdist, and scripts that set themselves up."""

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ROOT

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(built: Path) -> Iterator[Path]:
    """The scripts folder of a fresh environment with the wheel; it sees the packages of this one, not this checkout."""
    home = Path(tempfile.mkdtemp(prefix="looper-installed-"))
    home.chmod(0o755)  # as a real one is; pytest's own folders are closed to the user that candidates run as
    try:
        yield install(built, home)
    finally:
        shutil.rmtree(home)


def install(built: Path, home: Path) -> Path:
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (entry,) = (line for line in next(site.glob("looper-*/entry_points.txt")).read_text().splitlines() if "=" in line)
    module, function = entry.partition("=")[2].strip().split(":")
    script = home / "bin/looper"
    script.write_text(f"#!{home}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    script.chmod(0o755)
    return home / "bin"


def looper(installed: Path, folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(installed / "looper"), *args],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def test_the_wheel_holds_the_configuration_once_and_the_corpus(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    kept = {path.relative_to(ROOT / "conf").as_posix() for path in (ROOT / "conf").rglob("*.yaml")}
    assert {name.removeprefix("looper/conf/") for name in names if name.startswith("looper/conf/")} == kept
    assert not [name for name in names if name.startswith(("conf/", "tests/", "outputs/", "experiments/", "scripts/"))]
    programs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "looper/tasks/repair/corpus").rglob("*.py")}
    assert programs <= set(names)
    tasks = ROOT / "looper/tasks"
    data = [*(tasks / "document/library").rglob("*.*"), *(tasks / "search/needs").glob("*.jsonl")]
    kept = {path.relative_to(ROOT).as_posix() for path in data if "__pycache__" not in path.parts}
    assert len(kept) > 20
    assert kept <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_sdist_holds_what_is_needed_to_build_and_to_test(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt", "conf/config.yaml",
        "looper/__main__.py", "tests/test_install.py", "scripts/test", "scripts/environment", "scripts/looper",
    ):  # fmt: skip
        assert needed in names
    assert not [name for name in names if name.startswith((".venv", "outputs/", ".git/"))]


def test_an_installed_looper_lists_what_there_is(installed: Path, tmp_path: Path) -> None:
    done = looper(installed, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "repair/coat_check" in done.stdout
    code = "import looper, looper.catalogue; print(looper.__file__); print(looper.catalogue.shipped())"
    where = subprocess.run([str(installed / "python"), "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert all(str(installed.parent) in line for line in where.stdout.splitlines()), "this is the checkout"


def test_an_installed_looper_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = looper(installed, tmp_path, "+task=dial", "tracking=none", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "completed"
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]


def test_an_installed_looper_repairs_a_shipped_program(installed: Path, tmp_path: Path) -> None:
    done = looper(installed, tmp_path, "+task=repair/coat_check", "confirm=yes", "tracking=none", "--json")
    assert done.returncode == 0, done.stderr
    folder = Path(json.loads(done.stdout)["folder"])
    assert "+    return len(hooks)" in (folder / "patch.diff").read_text()


def test_an_installed_looper_takes_the_users_own_package_from_the_folder_it_stands_in(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "conf/task/mine.yaml").write_text("# Mine.\n_target_: my_tasks.Mine\n")
    (tmp_path / "my_tasks.py").write_text(
        "from pydantic.dataclasses import dataclass\nfrom looper.tasks.dial import Dial\n\n\n"
        "@dataclass(frozen=True, kw_only=True)\nclass Mine(Dial):\n    pass\n"
    )
    monkeypatch.setenv("LOOPER_ALLOW", "my_tasks")
    done = looper(installed, tmp_path, "+task=mine", "tracking=none")
    assert done.returncode == 0, done.stderr


# scripts/

FAKE_PYTHON = """#!/usr/bin/env bash
# Stands for python3.11: makes an environment slowly, and counts how often.
here=$(pwd)
case "$*" in
  "-c"*) exit 0 ;;
  "-m venv .venv") echo made >> "$here/made.log"; sleep 0.3; mkdir -p .venv/bin; cp "$0" .venv/bin/python
     printf '#!/usr/bin/env bash\\nsleep 0.3; touch .venv/bin/looper; chmod +x .venv/bin/looper\\n' > .venv/bin/uv
     chmod +x .venv/bin/uv ;;
  "-m pip"*) exit 0 ;;
  *) [ -x "$(dirname "$0")/looper" ] || { echo "not ready" >&2; exit 9; }
     printf '%s|' "$(pwd)" "$@"; echo ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with nothing set up, and a python3.11 that only pretends."""
    root = tmp_path / "a checkout"
    (root / "scripts").mkdir(parents=True)
    for name in ("looper", "environment", "test", "check"):
        (root / "scripts" / name).write_bytes((ROOT / "scripts" / name).read_bytes())
        (root / "scripts" / name).chmod(0o755)
    for name in ("pyproject.toml", "constraints.txt"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3.11").write_text(FAKE_PYTHON)
    (tmp_path / "bin/python3.11").chmod(0o755)
    return root


def begin(script: Path, folder: Path, project: Path, *args: str) -> "subprocess.Popen[str]":
    path = f"{project.parent / 'bin'}:{os.environ['PATH']}"
    return subprocess.Popen(
        [str(script), *args], cwd=folder, env={**os.environ, "PATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def outcome(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_script_works_from_any_folder_and_through_a_link(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin/loop it"
    link.symlink_to(project / "scripts/looper")
    for script in (project / "scripts/looper", link, Path("a checkout/scripts/looper")):
        code, out, err = outcome(begin(script, tmp_path, project, "+task=dial", "task.goal=two words"))
        assert code == 0, err
        assert out == f"{tmp_path}|-m|looper|+task=dial|task.goal=two words|\n"
    assert (project / "made.log").read_text() == "made\n"


def test_two_first_uses_at_once_set_up_once(project: Path, tmp_path: Path) -> None:
    both = [begin(project / "scripts/looper", tmp_path, project, str(number)) for number in range(3)]
    ends = [outcome(process) for process in both]
    assert [code for code, _, _ in ends] == [0, 0, 0], ends
    assert (project / "made.log").read_text() == "made\n"


def test_a_change_of_what_is_needed_sets_up_anew(project: Path, tmp_path: Path) -> None:
    for addition in ("", "# another pin\n"):
        with (project / "constraints.txt").open("a") as file:
            file.write(addition)
        assert outcome(begin(project / "scripts/looper", tmp_path, project))[0] == 0
    assert (project / "made.log").read_text() == "made\nmade\n"


def test_an_old_python_is_refused_with_a_sentence(project: Path, tmp_path: Path) -> None:
    fake = tmp_path / "bin/python3.11"
    fake.write_text(fake.read_text().replace('"-c"*) exit 0', '"-c"*) exit 1'))
    code, _, err = outcome(begin(project / "scripts/looper", tmp_path, project))
    assert code == 2
    assert "looper needs Python 3.11 or newer" in err


@pytest.mark.parametrize("name", ["scripts/looper", "scripts/test", "scripts/check", "scripts/fix", ".ci/run"])
def test_a_script_is_executable_short_and_says_what_it_does(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    assert (ROOT / name).stat().st_mode & stat.S_IXUSR
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[1].startswith("# ")
    assert len(lines) <= 20
