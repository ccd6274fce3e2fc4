"""Edits applied strictly, and patches: what git takes, and back (issue 5, items 2 and 3)."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looper.errors import ConfigError
from looper.tasks.project.editing.edits import Applied, EditLimits, applied
from looper.tasks.project.editing.patch import parse, render
from looper.tasks.project.reading.source import Limits, Source, read_source
from looper.tasks.project.states import Diff, Edit, Passage, Removal, WholeFile

STORE = "import os\n\n\ndef add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"


def project(texts: dict[str, str], others: Sequence[str] = ()) -> Source:
    return Source(Path("/nowhere"), texts, dict.fromkeys(others, 3))


def whole(path: str, text: str) -> WholeFile:
    return WholeFile(kind="file", path=path, text=text)


def passage(path: str, find: str, replace: str) -> Passage:
    return Passage(kind="passage", path=path, find=find, replace=replace)


def diff(path: str, text: str) -> Diff:
    return Diff(kind="diff", path=path, diff=text)


def removal(path: str) -> Removal:
    return Removal(kind="delete", path=path)


def edited(text: str, edit: Edit) -> str | None:
    """The file `a.py` after an edit that must apply."""
    done = applied(project({"a.py": text}), {}, [edit], EditLimits())
    assert done.problem == ""
    assert done.touched == ["a.py"]
    return done.changed["a.py"]


def refused(source: Source, *edits: Edit, changed: dict[str, str | None] | None = None, **limits: int) -> str:
    """Why edits do not apply; nothing may have changed."""
    before = changed or {}
    done = applied(source, before, edits, EditLimits(**limits))
    assert done == Applied(before, [], done.problem)
    assert done.problem
    return done.problem


def test_every_kind_of_edit_applies_in_order():
    source = project({"a.py": STORE, "b.py": "b\n", "c.py": "c\n"})
    done = applied(source, {"c.py": "c2\n"}, [
        whole("new/d.py", "d\n"), passage("./a.py", "import os\n\n\n", ""),
        passage("a.py", "def add(a, b):\n    return a - b", "X"),
        diff("c.py", "@@ -1 +1 @@\n-c2\n+c3\n"), removal("b.py"), passage("new/d.py", "d", "e"),
    ], EditLimits())  # fmt: skip
    assert done.problem == ""
    assert done.touched == ["new/d.py", "a.py", "c.py", "b.py"]
    sub = "X\n\n\ndef sub(a, b):\n    return a - b\n"
    assert done.changed == {"a.py": sub, "b.py": None, "c.py": "c3\n", "new/d.py": "e\n"}


def test_one_edit_that_does_not_apply_refuses_all():
    why = refused(
        project({"a.py": STORE}), whole("b.py", "b"), removal("c.py"), whole("d.py", "d"), changed={"a.py": "x"}
    )
    assert why == "edit 2 of 3 (delete, 'c.py'): the file does not exist"


def test_a_file_that_is_again_as_given_is_no_change():
    source = project({"a.py": "a\n"})
    assert applied(source, {"a.py": "b\n"}, [whole("a.py", "a\n")], EditLimits()) == Applied({}, ["a.py"])
    assert applied(source, {"n.py": "n"}, [removal("n.py")], EditLimits()) == Applied({}, ["n.py"])
    assert applied(source, {"a.py": None}, [whole("a.py", "a\n")], EditLimits()) == Applied({}, ["a.py"])


def test_a_passage_that_is_not_there_is_answered_with_the_nearest_line():
    source = project({"a.py": STORE})
    assert "nearest to it is line 4: `def add(a, b):`" in refused(
        source, passage("a.py", "def add(a, c):\n    return", "x")
    )
    assert "line 5 differs from it only in white space: `    return a - b`" in refused(
        source, passage("a.py", "\treturn a - b\n", "x")
    )
    assert "not one after the other" in refused(source, passage("a.py", "import os\ndef add(a, b):\n", "x"))
    assert refused(source, passage("a.py", "@@@@@", "x")).endswith("the passage is not in the file")


def test_a_passage_that_occurs_more_than_once_is_answered_with_its_lines():
    assert "occurs 2 times (lines 5, 9);" in refused(project({"a.py": STORE}), passage("a.py", "return a - b", "x"))
    assert "occurs 2 times (lines 1);" in refused(project({"a.py": "aaa"}), passage("a.py", "aa", "x"))
    assert "21 times or more" in refused(project({"a.py": "a\n" * 50}), passage("a.py", "a", "x"))


def test_what_is_not_there_or_no_text_cannot_be_edited():
    source = project({"app/store.py": STORE}, ["logo.png"])
    for edit in (
        passage("app/stores.py", "a", "b"),
        removal("app/stores.py"),
        diff("app/stores.py", "@@ -1 +1 @@\n-a\n+b\n"),
    ):
        assert "the file does not exist; nearest to it is app/store.py" in refused(source, edit)
    for edit in (whole("logo.png", "x"), removal("logo.png")):
        assert "no text that can be edited" in refused(source, edit)
    assert "does not exist" in refused(source, removal("app/store.py"), changed={"app/store.py": None})


def test_edits_that_change_nothing_are_refused():
    source = project({"a.py": STORE})
    for edit in (whole("a.py", STORE), passage("a.py", "os", "os"), diff("a.py", "@@ -1 +1 @@\n import os\n")):
        assert "it changes nothing" in refused(source, edit)
    assert refused(source, passage("a.py", "os", "re"), passage("a.py", "re\n", "os\n")) == "the edits change nothing"
    assert refused(source) == "the edits change nothing"


def test_paths_are_checked_where_they_stand():
    source = project({"app/store.py": STORE})
    for path, words in {"/etc/x": "is absolute", "../x": "'..'", ".git/hooks/x": "belongs to git", "a\\b": "backslash",
                        "App/x.py": "folder app only", "app/Store.py": "store.py only", "app": "is a folder",
                        "app/store.py/x": "the file app/store.py is"}.items():  # fmt: skip
        assert words in refused(source, whole(path, "x"))
    assert "only in" in refused(source, whole("n.py", "x"), whole("N.py", "x"))


def test_a_folder_may_take_the_place_of_a_removed_file():
    done = applied(project({"a": "x"}), {}, [removal("a"), whole("a/b.py", "x"), whole("A.py", "")], EditLimits())
    assert done.changed == {"a": None, "a/b.py": "x", "A.py": ""}


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_no_file_should_hold_is_refused(text: str):
    source = project({"a.py": "x\n"})
    edits = [WholeFile.model_construct(kind="file", path="a.py", text=text),
             Passage.model_construct(kind="passage", path="a.py", find="x", replace=text),
             Diff.model_construct(kind="diff", path="a.py", diff=f"@@ -1 +1 @@\n-x\n+{text}\n")]  # fmt: skip
    for edit in edits:
        assert "the text holds a" in refused(source, edit)


def test_limits_hold_over_all_changes():
    source = project({"a.py": "x", "large.py": "x" * 50})
    assert "3 files would differ" in refused(source, whole("c", "c"), changed={"a.py": "y", "b": "b"}, max_files=2)
    assert "a.py would have 12 bytes; the limit is 10" in refused(source, whole("a.py", "ä" * 6), max_file_bytes=10)
    assert "13 bytes; the limit is 12" in refused(
        source, whole("b", "b" * 5), changed={"a.py": "a" * 8}, max_total_bytes=12
    )
    limits = EditLimits(max_file_bytes=10)
    assert applied(source, {}, [whole("large.py", "y" * 50)], limits).problem == ""
    assert "limit is 50" in refused(source, whole("large.py", "y" * 51), max_file_bytes=10)


@pytest.mark.parametrize("find", ["a\nb\n", "a\r\nb\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_keeps_its_line_ends(find: str, end: str):
    text = f"a{end}b{end}c{end}"
    assert edited(text, passage("a.py", find, "x\ny\r\nz\n")) == f"x{end}y{end}z{end}c{end}"
    assert edited(text, whole("a.py", find)) == f"a{end}b{end}"
    hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+x\n".replace("\n", find[1 : find.index("b")])
    assert edited(text, diff("a.py", hunk)) == f"a{end}x{end}c{end}"


def test_mixed_line_ends_are_matched_to_the_letter():
    text = "a\r\nb\nc\r\n"
    assert edited(text, passage("a.py", "a\r\nb", "x\ny")) == "x\ny\nc\r\n"
    assert "not in the file" in refused(project({"a.py": text}), passage("a.py", "a\nb", "x"))
    assert edited(text, diff("a.py", "@@ -1,2 +1,2 @@\n-a\r\n+x\r\n b\n")) == "x\r\nb\nc\r\n"


def test_odd_carriage_returns_elsewhere_survive():
    assert edited("a\r\r\nb\r\nc\r\n", diff("a.py", "@@ -2 +2 @@\n-b\n+x\n")) == "a\r\r\nx\r\nc\r\n"
    assert edited("a\rb\nc\n", passage("a.py", "c", "d")) == "a\rb\nd\n"


def test_new_files_have_the_line_ends_they_were_given():
    done = applied(project({}), {}, [whole("a", "x\r\ny\n"), diff("b", "@@ -0,0 +1,2 @@\n+x\r\n+y\n")], EditLimits())
    assert done.changed == {"a": "x\r\ny\n", "b": "x\r\ny\n"}


@pytest.mark.parametrize("head", [
    "", "--- a/a.py\n+++ b/a.py\n", "--- a.py\n+++ a.py\n", "--- a/a.py\t2024-01-01 10:00\n+++ b/a.py\n",
    "diff --git a/a.py b/a.py\nindex 123..456 100644\n--- a/a.py\n+++ b/a.py\n", '--- "a/a.py"\n+++ b/a.py\n',
])  # fmt: skip
@pytest.mark.parametrize("place", ["-4,2 +4,2", "-1,2 +1,2", "-40,2 +90,2", "-4,9 +4,1"])
def test_a_diff_goes_where_its_lines_are(head: str, place: str):
    hunk = f"@@ {place} @@ def\n def add(a, b):\n-    return a - b\n+    return a + b\n"
    assert edited(STORE, diff("a.py", head + hunk)) == STORE.replace("a - b", "a + b", 1)


def test_of_equal_places_the_nearest_to_the_stated_line_is_taken():
    hunk = "@@ -{},1 +1,1 @@\n-    return a - b\n+    pass\n"
    assert edited(STORE, diff("a.py", hunk.format(6))) == STORE.replace("return a - b", "pass", 1)
    assert edited(STORE, diff("a.py", hunk.format(8))) == STORE[:-17] + "    pass\n"
    assert "hunk 1 (`@@ -7,1 +1,1 @@`) fits at lines 5 and 9 alike" in refused(
        project({"a.py": STORE}), diff("a.py", hunk.format(7))
    )


def test_hunks_go_one_after_the_other():
    text = "".join(f"{n}\n" for n in range(1, 10))
    two = "@@ -2 +2,2 @@\n-2\n+2a\n+2b\n@@ -8,2 +9 @@\n 8\n-9\n"
    assert edited(text, diff("a.py", two)) == "1\n2a\n2b\n3\n4\n5\n6\n7\n8\n"
    swapped = "@@ -8 +8 @@\n-8\n+x\n@@ -2 +2 @@\n-2\n+y\n"
    assert "hunk 2 (`@@ -2 +2 @@`) overlaps" in refused(project({"a.py": text}), diff("a.py", swapped))


def test_lost_leading_spaces_of_empty_lines_and_blank_ends_do_no_harm():
    text = "a\n\nb\n\n"
    assert edited(text, diff("a.py", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n\n")) == "a\n\nc\n\n"
    assert edited(text, diff("a.py", "@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n")) == "a\n\nc\n\n"


def test_a_missing_line_end_is_part_of_the_content():
    mark = "\\ No newline at end of file\n"
    assert edited("a\nb", diff("a.py", f"@@ -2 +2 @@\n-b\n{mark}+c\n{mark}")) == "a\nc"
    assert edited("a\nb", diff("a.py", f"@@ -2 +2 @@\n-b\n{mark}+b\n")) == "a\nb\n"
    assert "line 2, `b`, has no line end in the file" in refused(
        project({"a.py": "a\nb"}), diff("a.py", "@@ -2 +2 @@\n-b\n+c\n")
    )
    assert "below the last line of the file only" in refused(
        project({"a.py": "a\nb\n"}), diff("a.py", f"@@ -1,2 +1,2 @@\n-a\n+x\n{mark} b\n")
    )


@pytest.mark.parametrize(("text", "words"), [
    ("@@ -4,2 +4,2 @@\n def add(a, b):\n-    return a + b\n+x\n",
     "hunk 1 (`@@ -4,2 +4,2 @@`): line 5 should be `    return a + b` but is `    return a - b`; nearest"),
    ("@@ -4,2 +4,2 @@\n def add(a, b):\n-   return a - b\n+x\n", "line 5 differs from it only in white space"),
    ("@@ -9,2 +9,2 @@\n     return a - b\n-gone\n+x\n", "`gone` should be at line 10, but the file has 9 lines"),
    ("@@ -5,2 +5,2 @@\n     return a - b\n-import os\n+x\n", "`import os` but is ``; it is at line 1"),
    ("@@ -1,0 +2 @@\n+x\n", "neither context nor removed lines"),
    ("@@ -1 +1 @@\n-import os\n+x\n@@ -3 +3 @@\n-nowhere\n+x\n", "hunk 2 (`@@ -3 +3 @@`): line 3 should be `nowhere`"),
    ("@@ ... @@\n-import os\n+x\n", "hunk 1 does not begin with @@ -a,b +c,d @@"), ("--- a/a.py\n+++ b/a.py\n",
    "no hunk"),
    ("```diff\n@@ -1 +1 @@\n-import os\n+x\n```\n", "line 1 of the diff is neither a header nor a hunk: ````diff`"),
    ("@@ -1 +1 @@\n-import os\n+x\nso much for that\n", "begins with none of ' ', '+' and '-': `so much for that`"),
    ("@@ -1 +1 @@\n", "has no line"), ("@@ -1 +1 @@\n\\ No newline at end of file\n", "begins with none"),
    ("--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-import os\n+x\n", "the diff is of 'a/b.py'"),
    ("--- a/../a.py\n+++ b/a.py\n@@ -1 +1 @@\n-import os\n+x\n", "the diff is of"),
    ("rename from a\n@@ -1 +1 @@\n-import os\n+x\n", "a diff can change text only"),
    ("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", "there is one already"),
    ("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-import os\n", "not all of its lines"),
    ("@@ -1 +1 @@\n-import os\n+x\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-a\n+b\n", "more than one file"),
    ("@@ -1 +1 @@\n-import os\n+x\ndiff --git a/b.py b/b.py\n", "more than one file"),
    ("--- a/a.py\n+++ b/a.py\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-a\n+b\n", "more than one file"),
])  # fmt: skip
def test_a_diff_that_does_not_apply_says_where_and_why(text: str, words: str):
    assert words in refused(project({"a.py": STORE}), diff("a.py", text))


def test_diffs_make_and_remove_files():
    source = project({"a.py": "a\n", "empty": ""})
    done = applied(source, {}, [
        diff("n.py", "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+1\n+2\n"), diff("m.py", "@@ -0,0 +1 @@\n+m\n"),
        diff("o.py", "diff --git a/o.py b/o.py\nnew file mode 100644\n"), diff("empty", "@@ -0,0 +1 @@\n+e\n"),
        diff("a.py", "--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
    ], EditLimits())  # fmt: skip
    assert done.problem == ""
    assert done.changed == {"n.py": "1\n2\n", "m.py": "m\n", "o.py": "", "empty": "e\n", "a.py": None}


def test_messages_about_hostile_lines_are_harmless():
    source = project({"a.py": "x\x1b[31m red\n" + "y" * 5000})
    why = refused(source, diff("a.py", "@@ -1 +1 @@\n-x\x1b[31m rod\n+z\n"))
    assert why.isprintable()
    assert len(why) < 600


def test_the_nearest_line_of_a_large_file_is_found_in_a_moment():
    text = "".join(f"    value_{n} = compute(value_{n - 1}, other_{n})  # {'x' * 60}\n" for n in range(2000))
    started = time.perf_counter()
    wanted = f"    value_1999 = compute(value_1998, other_x)  # {'x' * 60}\n"
    assert "nearest to it is line 2000" in refused(project({"a.py": text}), passage("a.py", wanted, "x"))
    assert time.perf_counter() - started < 2


# Patches


def run_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False, env=clean)


def laid_out(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def on_disk(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}


def after(texts: dict[str, str], changed: dict[str, str | None]) -> dict[str, str]:
    return {path: text for path, text in {**texts, **changed}.items() if text is not None}


GIVEN = {
    "a.py": STORE, "crlf.txt": "a\r\nb\r\nc\r\n", "cut": "a\nb", "grown": "a\nb", "gone.py": "x\ny\n", "gone empty": "",
    "ende/käse 🧀.py": "ä\n", 'quo"te.py': "q\n", "with space.py": "s\n", "file": "x\n", "full": "", "emptied": "x",
    "mixed": "a\r\nb\nc\r\r\nd\x0c\u2028e\n", "--- dashes": "-- a\n++ b\n", "dash": "-- a\n",
}  # fmt: skip
CHANGED: dict[str, str | None] = {
    "a.py": STORE.replace("a - b", "a + b", 1), "crlf.txt": "a\r\nx\r\nc", "cut": "a\nb\n", "grown": "a\nb\nc",
    "gone.py": None, "gone empty": None, "ende/käse 🧀.py": "ö\n", 'quo"te.py': "r", "with space.py": None,
    "file": None, "file/inside.py": "i\n", "full": "f\n", "emptied": "", "mixed": "a\r\nB\nc\r\r\nD\x0c\u2028e\n",
    "new empty file": "", "new/ü \"x\".txt": "no end", "--- dashes": "-- x\n++ y\n", "dash": "++ y\n",
    "trailing ": "t\n",
}  # fmt: skip


@pytest.mark.parametrize("repository", [False, True])
def test_git_applies_the_patch(tmp_path: Path, repository: bool):
    laid_out(tmp_path, GIVEN)
    if repository:
        run_git(tmp_path, "init", "-q")
        run_git(tmp_path, "add", "-A")
    source = read_source(tmp_path, Limits())
    patch = render(source, CHANGED)
    (tmp_path.parent / f"{tmp_path.name}.patch").write_bytes(patch.encode())
    done = run_git(tmp_path, "apply", "--whitespace=nowarn", *(["--index"] if repository else []),
                   str(tmp_path.parent / f"{tmp_path.name}.patch"))  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    assert on_disk(tmp_path) == after(GIVEN, CHANGED)


def test_names_are_written_as_git_writes_them(tmp_path: Path):
    laid_out(tmp_path, GIVEN)
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", "-A")
    source = read_source(tmp_path, Limits())
    for path in GIVEN:
        (tmp_path / path).write_bytes(b"other\n")
    real = run_git(tmp_path, "-c", "core.quotePath=true", "diff", "--no-ext-diff").stdout.decode()
    ours = render(source, dict.fromkeys(GIVEN, "other\n"))
    names = ("diff --git ", "--- a", '--- "', "+++ b", '+++ "')
    assert [x for x in ours.split("\n") if x.startswith(names)] == [x for x in real.split("\n") if x.startswith(names)]
    assert parse(source, real) == dict.fromkeys(GIVEN, "other\n")


def test_a_patch_is_ordered_by_path_whatever_the_order_of_changes():
    source = project(GIVEN)
    assert render(source, dict(reversed(CHANGED.items()))) == render(source, CHANGED)
    assert render(source, {}) == render(source, {"a.py": STORE}) == ""


def test_a_patch_is_read_back_as_the_changes():
    source = project(GIVEN)
    assert parse(source, render(source, CHANGED)) == CHANGED
    assert parse(source, "") == {}


@pytest.mark.parametrize(("patch", "words"), [
    ("hello", "no patch of git"), ("diff --git a/a.py b/b.py\n", "renames"),
    ("diff --git a/../x b/../x\nnew file mode 100644\n", "'..'"),
    ("diff --git a/.git/x b/.git/x\nnew file mode 100644\n", "belongs to git"),
    ("diff --git a/a.py b/a.py\nnew file mode 100644\n", "there already"),
    ("diff --git a/z b/z\n@@ -1 +1 @@\n-a\n+b\n", "no such file"),
    ("diff --git a/logo b/logo\n@@ -1 +1 @@\n-a\n+b\n", "no text that can be edited"),
    ("diff --git a/a.py b/a.py\n@@ -2 +2 @@\n-import os\n+b\n", "hunk 1 (`@@ -2 +2 @@`) does not fit"),
    ("diff --git a/a.py b/a.py\n@@ -1,2 +1 @@\n-import os\n+b\n", "not have as many lines"),
    ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/c.py\n@@ -1 +1 @@\n-import os\n+b\n", "its header names"),
    ("diff --git a/a.py b/a.py\n@@ -1 +1 @@\n-import os\n+a\0\n", "NUL"),
    ("diff --git a/A.py b/A.py\nnew file mode 100644\n", "only in the case"),
    ("diff --git a/n b/n\nnew file mode 100644\ndiff --git a/n/m b/n/m\nnew file mode 100644\n", "is a folder"),
    ("diff --git a/a.py b/a.py\n@@ -1 +1 @@\n-import os\n+b\n" * 2, "twice"),
    ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n", "can change text only"),
    ("diff --git a/a.py b/a.py\ndeleted file mode 100644\n", "not all of its lines"),
])  # fmt: skip
def test_a_patch_that_does_not_apply_is_refused(patch: str, words: str):
    with pytest.raises(ConfigError) as refusal:
        parse(project({"a.py": STORE}, ["logo"]), patch)
    assert words in str(refusal.value)


TEXT = st.lists(
    st.sampled_from(["a", "b", "", " ", "-- a", "++ b", "@@ -1 +1 @@", "\r", "ä", "\\ No"]), max_size=8
).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{line}\n" for line in lines), "\r\n".join(lines)]))
PATHS = st.sampled_from(["a", "b c", "d/e.py", 'd/"f"', "ü", "d/\tg", "--- h"])


@given(st.dictionaries(PATHS, TEXT), st.dictionaries(PATHS, TEXT | st.none()))
@settings(max_examples=300, deadline=None)
def test_any_change_survives_as_a_patch(texts: dict[str, str], changes: dict[str, str | None]):
    texts, changes = ({path: text for path, text in some.items() if "\t" not in path} for some in (texts, changes))
    changes = {path: text for path, text in changes.items() if texts.get(path) != text}
    source = project(texts)
    patch = render(source, changes)
    assert parse(source, patch) == changes
    assert render(source, parse(source, patch)) == patch


@given(st.dictionaries(PATHS, TEXT), st.dictionaries(PATHS, TEXT | st.none()))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_takes_any_patch(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], changes: dict[str, str | None]
):
    texts, changes = ({path: text for path, text in some.items() if "\t" not in path} for some in (texts, changes))
    changes = {path: text for path, text in changes.items() if texts.get(path) != text}
    folder = laid_out(tmp_path_factory.mktemp("patched"), texts)
    patch = folder.parent / f"{folder.name}.patch"
    patch.write_bytes(render(project(texts), changes).encode())
    if changes:
        done = run_git(folder, "apply", "--whitespace=nowarn", str(patch))
        assert done.returncode == 0, done.stderr.decode()
    assert on_disk(folder) == after(texts, changes)


@given(TEXT, TEXT, st.integers(-3, 3))
@settings(max_examples=300, deadline=None)
def test_an_edit_says_the_same_as_a_file_a_passage_or_a_diff(before: str, wanted: str, shift: int):
    source = project({"a": before})
    patch = render(source, {"a": wanted})
    hunks = patch[patch.index("@@") :] if "@@" in patch else ""
    if before and hunks and "\r" not in before + wanted:
        for edit in (whole("a", wanted), passage("a", before, wanted), diff("a", hunks), diff("a", patch)):
            done = applied(source, {}, [edit], EditLimits())
            several = edit.kind == "diff" and "alike" in done.problem
            assert several or done.changed == {"a": wanted}, done.problem
