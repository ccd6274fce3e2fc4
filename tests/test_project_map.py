"""What a coder is shown: a map of the project and the files that matter, within a limit, and nothing cut in silence."""

import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looper.tasks.project.desk.excerpt import excerpt
from looper.tasks.project.desk.imports import imported, modules
from looper.tasks.project.desk.outline import outline
from looper.tasks.project.desk.ranking import ranked
from looper.tasks.project.desk.relevant import relevant
from looper.tasks.project.desk.repo_map import CHARACTERS_PER_TOKEN, repo_map

MODULE = '''"""A module."""

import os

LIMIT = 3
TABLE = {
    "a": 1,
}
_HIDDEN = 1
name = 2


class Account(Base, metaclass=Meta):
    """What somebody owns.

    More.
    """

    RATE = 1

    def __init__(self, owner: str = ")"):
        self.owner = owner

    @property
    def total(self) -> int:
        """Sum of all."""
        return 1

    def _secret(self): ...

    class Inner:
        def deep(self): ...


async def load(
    path: str,
    *, retries: int = 3,
) -> list[Account]:
    def local(): ...


if os.name == "posix":
    def only(): return 1
else:
    try:
        import x
    except ImportError:
        def other(): # why
            pass
'''
SHOWN = """a.py (49 lines)
  LIMIT = 3
  TABLE
  class Account(Base, metaclass=Meta)  # What somebody owns.
    def __init__(self, owner: str=')')
    def total(self) -> int  # Sum of all.
    class Inner
      def deep(self)
  async def load(path: str, *, retries: int=3) -> list[Account]
  def only()
  def other()
"""


def many(count: int, functions: int = 20) -> dict[str, str]:
    body = '''
def function_{i}_{f}(first: int, second: str = "x", *more: float, key: bool = False) -> dict[str, int]:
    """Does the thing {f} of {i}."""
    total = 0
    for n in range(first):
        total += n * len(second)
    return {{"total_{f}": total, second: first}}
'''
    return {
        f"pkg/part_{i % 20}/mod_{i}.py": "import os\n" + "".join(body.format(i=i, f=f) for f in range(functions))
        for i in range(count)
    }


# The map


def test_a_module_is_shown_by_its_public_signatures():
    assert repo_map({"a.py": MODULE}, {}, 1000) == SHOWN


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(a=')', b:\n  int = 1): pass", "def f(a=')', b: int=1)"),
        ("def f(a, # one\n  b):\n  pass", "def f(a, b)"),
        ("def f(a=':'): return 1", "def f(a=':')"),
        ("\x0c\ndef f(a): # why\n  pass", "def f(a)"),
        ("x = 'a\x0cb\x1cc'\ndef f(a):\n  pass", "def f(a)"),
        ("\ufeffdef f(a):\r\n  pass\r\n", "def f(a)"),
        ("def f(a) -> 'x:y':\n  pass", "def f(a) -> 'x:y'"),
        ("def f(a=(1, (2,))):\n  pass", "def f(a=(1, (2,)))"),
        ("@a(\n1)\nasync  def f(a):\n  pass", "async def f(a)"),
    ],
)
def test_a_signature_is_whole_wherever_it_stands(text: str, line: str):
    assert outline("a.py", text).bare == (line,)


def test_a_file_that_cannot_be_parsed_is_listed_with_the_line():
    files = {"bad.py": "a = 1\ndef f(:\n", "nul.py": "a = '\0'\n", "deep.py": "-" * 100_000 + "1"}
    said = repo_map(files, {}, 1000)
    assert "bad.py (2 lines, cannot be parsed: line 2)\n" in said
    assert "deep.py (1 line, cannot be parsed: " in said
    assert "nul.py (1 line, cannot be parsed: " in said


def test_warnings_of_the_project_stay_its_own():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert outline("w.py", 'x = "\\d"\ndef f(): return 1 is 1\n').names == ("f",)
    assert seen == []


def test_other_files_are_shown_by_headings_lines_and_bytes():
    files = {"README.md": "# Title\ntext\n```\n# no heading\n```\n## Use\n", "setup.cfg": "[a]\nb = 1", "empty.txt": ""}
    said = repo_map(files, {"logo.png": 12345}, 1000)
    assert said == (
        "README.md (6 lines)\n  # Title\n  ## Use\nempty.txt (0 lines)\nlogo.png (12,345 bytes, not a text)\n"
        "setup.cfg (2 lines)\n"
    )


def test_hidden_files_are_not_told_at_any_level():
    files = many(60) | {"tests/hidden/test_a.py": "def test_gold(): ...\n", "app/gold_test.py": "x = 1\n"}
    for tokens in (5, 20, 200, 2000, 100_000):
        said = repo_map(files, {"tests/hidden/gold.bin": 3}, tokens, hide=["tests/hidden", "**/gold_*.py"])
        assert "gold" not in said
        assert "hidden" not in said
        assert "62" not in said
        assert "63" not in said


def test_detail_falls_with_the_limit_and_what_is_left_out_is_said():
    files = many(40, 5)
    said = {tokens: repo_map(files, {}, tokens) for tokens in (60, 180, 900, 3000, 6000, 100_000)}
    assert "Does the thing 3 of 7." in said[100_000]
    assert "no room" not in said[100_000]
    assert "of 40 files with signatures only, without their documentation: there is no room for more" in said[6000]
    assert "of 40 files with names only, without their signatures: there is no room for more" in said[3000]
    assert "of 40 files with their path only, without what they define" in said[900]
    assert said[180].endswith("(40 files, not named: there is no room for more)\n")
    assert "pkg/part_0/ 2 files\n" in said[180]
    assert said[60].splitlines() == ["pkg/ 40 files", "(40 files, not named: there is no room for more)"]
    for tokens, text in said.items():
        assert len(text) <= tokens * CHARACTERS_PER_TOKEN


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.from_regex(r"([a-z]{1,9}/){0,3}[a-z]{1,9}\.(py|md|txt)", fullmatch=True), st.text(max_size=300)),
    st.integers(min_value=30, max_value=600),
)
def test_a_map_is_within_its_limit_and_names_every_file_or_their_number(files: dict[str, str], tokens: int):
    said = repo_map(files, {}, tokens)
    assert len(said) <= tokens * CHARACTERS_PER_TOKEN
    assert said == repo_map(dict(reversed(files.items())), {}, tokens)
    assert all(path in said for path in files) or f"{len(files):,} files" in said


def test_a_thousand_files_are_mapped_within_two_seconds_and_a_change_costs_its_file_only():
    files = many(1000)
    began = time.process_time()
    said = repo_map(files, {}, 8000)
    assert time.process_time() - began < 2
    assert len(said) <= 8000 * CHARACTERS_PER_TOKEN
    files["pkg/part_0/mod_0.py"] += "\ndef late(): ...\n"
    began = time.process_time()
    assert "late" in repo_map(files, {}, 8000)
    assert time.process_time() - began < 0.2


# Excerpts


def test_an_excerpt_says_which_lines_it_shows_and_leaves_them_as_they_are():
    text = "".join(f"line {number} é\r\n" for number in range(1, 1001))
    shown = excerpt(text, [500, 900], 700)
    head, *rest = shown.splitlines(keepends=True)
    assert head.startswith("[excerpt: lines ")
    assert head.endswith(" of 1,000; the rest is not shown]\n")
    assert "line 500 é\r\n" in rest
    assert "line 900 é\r\n" in rest
    for passage in "".join(rest).split("[line ")[1:]:
        first, _, body = passage.partition("]\n")
        assert body in text
        assert body.startswith(f"line {first} ")
    assert len(shown) <= 700


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet="ab\n\r\x0c ", min_size=1, max_size=3000),
    st.lists(st.integers(-5, 4000), max_size=9),
    st.integers(400, 2000),
)
def test_an_excerpt_is_within_its_room(text: str, around: list[int], room: int):
    assert len(excerpt(text, around, room)) <= room


def test_a_single_long_line_is_cut_and_said():
    shown = excerpt("x" * 10_000, [1], 500)
    assert shown.startswith("[excerpt of 1 lines: the first 340 characters of line 1]\n")


# What is relevant

PROJECT = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from shop.money import Money\nfrom . import stock\n\ndef add(): ...\n",
    "src/shop/money.py": "class Money: ...\n",
    "src/shop/stock.py": "def left(): ...\n",
    "src/shop/accounts.py": "class UserAccount:\n    def authenticate_user(self, password): ...\n",
    "src/shop/noise.py": "def unrelated(): ...\n",
    "tests/test_cart.py": "from shop import cart\n",
    "README.md": "# Shop\n",
}


def test_files_come_in_the_order_of_their_relevance():
    shown = relevant(
        PROJECT, "Authenticating users needs a password, see shop.stock", ["tests/test_cart.py:1"], ["README.md"], 2000,
        changed=["src/shop/cart.py"],
    )  # fmt: skip
    assert list(shown) == [
        "README.md", "tests/test_cart.py", "src/shop/stock.py", "src/shop/cart.py", "src/shop/money.py",
        "src/shop/accounts.py", "src/shop/noise.py",
    ]  # fmt: skip
    assert all(shown[path] == PROJECT[path] for path in shown)


@pytest.mark.parametrize(
    "place", ["src/shop/money.py", "./src/shop/money.py", "src/shop/money.py:3", "src/shop/money.py:3: AssertionError",
              "src/shop/money.py::test_a[x:1]"],
)  # fmt: skip
def test_a_place_in_a_report_is_a_mention(place: str):
    assert next(iter(relevant(PROJECT, "", [place], [], 1000))) == "src/shop/money.py"


@pytest.mark.parametrize(
    "words", ["fix money.py.", "in `src/shop/money.py`", "shop.money is wrong", "shop.money.Money"]
)
def test_a_file_that_the_task_names_is_a_mention(words: str):
    assert next(iter(relevant(PROJECT, words, [], [], 1000))) == "src/shop/money.py"


def test_what_is_not_there_is_not_shown():
    assert relevant(PROJECT, "", ["gone.py:3", "/etc/passwd:1"], ["../x", "nope.py"], 1000) == {}


def test_a_long_file_is_an_excerpt_around_the_lines_that_failed():
    long = "".join(f"value_{number} = {number}\n" for number in range(5000))
    shown = relevant({"long.py": long, "next.py": "b = 1\n"}, "next", ["long.py:4001"], [], 1000)
    assert "value_4000 = 4000\n" in shown["long.py"]
    assert shown["long.py"].startswith("[excerpt: lines ")
    assert len(shown["long.py"]) <= 4000 / 3
    assert shown["next.py"] == "b = 1\n"


def test_a_long_file_without_a_line_is_an_excerpt_around_the_words():
    long = "".join(f"value_{number} = {number}\n" for number in range(5000)).replace("value_3000", "user_password")
    assert "user_password = 3000\n" in relevant({"long.py": long}, "password of the user", [], [], 1000)["long.py"]


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 4000), st.lists(st.integers(0, 29), max_size=8), st.lists(st.integers(0, 29), max_size=8))
def test_what_is_shown_is_within_its_limit(tokens: int, mentioned: list[int], asked: list[int]):
    files = many(30)
    paths = sorted(files)
    shown = relevant(
        files, "function totals", [f"{paths[i]}:{i * 5}" for i in mentioned], [paths[i] for i in asked], tokens
    )
    assert sum(len(path) + len(text) for path, text in shown.items()) <= tokens * CHARACTERS_PER_TOKEN


def test_a_thousand_files_are_ranked_within_two_seconds():
    files = many(1000)
    began = time.process_time()
    shown = relevant(files, "totals of the thing in mod_77.py", ["pkg/part_3/mod_3.py:20"], [], 8000)
    assert time.process_time() - began < 2
    assert list(shown)[:2] == ["pkg/part_3/mod_3.py", "pkg/part_17/mod_77.py"]


def test_rare_words_and_words_of_the_path_count_more():
    texts = {
        "a.py": "user user user order",
        "billing.py": "order",
        "c.py": "order orders invoiceNumber",
        "d.py": "order",
    }
    assert ranked(texts, "the invoice of an order")[0][0] == "c.py"
    assert ranked(texts, "billing orders")[0][0] == "billing.py"
    assert ranked(texts, "nothing here") == []


# Imports


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("import app.sub.x, os", ["app/sub/x.py"]),
        ("from app.sub import x, nothing", ["app/sub/x.py", "app/sub/__init__.py"]),
        ("from .sub import x", ["app/sub/x.py"]),
        ("from . import other", ["app/other.py"]),
        ("from .. import top", ["top.py"]),
        ("from .... import top", []),
        ("def f():\n    import top", ["top.py"]),
        ("from . import me\nimport app.me", []),
        ("import (", []),
    ],
)
def test_imports_are_found_inside_the_project(text: str, targets: list[str]):
    known = modules(["app/__init__.py", "app/me.py", "app/other.py", "app/sub/__init__.py", "app/sub/x.py", "top.py"])
    assert imported("app/me.py", text, known) == targets


def test_this_program_is_mapped():
    texts = {str(path): path.read_text() for path in sorted(Path(__file__).parents[1].glob("looper/*.py"))}
    said = repo_map(texts, {}, 100_000)
    assert "def write_whole(path: Path, data: bytes) -> None" in said
    assert "cannot be parsed" not in said
