"""The shipped document launch_brief: its reference passes, alone and joined; each damage fails what it breaks."""

import datetime
import re
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cabal_boards import TEAM, at, done, product, version
from document_tasks import reference, task

from looper.checks.examine import examine, vacuous
from looper.checks.kinds import Check, Script
from looper.checks.reading import pattern
from looper.checks.reading import sections as counted
from looper.checks.reading.parts import Artifact, Missing
from looper.loops.cabal.board.acceptance import accept
from looper.loops.cabal.board.answers import Charter
from looper.loops.cabal.board.joined import accepted, joined
from looper.loops.cabal.board.mission import charter
from looper.loops.cabal.board.table import Board, open_board
from looper.loops.cabal.board.writing import write
from looper.tasks.document.library import HERE
from looper.tasks.document.rules import typed
from looper.tasks.document.sections import sections

NAME = "launch_brief"
SHIPPED = HERE / NAME
WORDS_ONLY = {"A": ["a.quality.clarity"], "B": ["b.quality.audience"]}
HEADINGS = ("Audience and message", "Features", "Timeline", "Budget", "Risks", "Press text", "FAQ")
LOG = """# Log of decisions

## Round 1:

#### The launch was on 8 September TODO!

The Aurelia Foundation, 48 hours, 5,000 euros and three quarters were taken out; see [gone](#nowhere).
Call 0555 014 772.
"""
"""What a chair may write into a Change Log: every check looks only at what is before it."""


def visible() -> dict[str, list[Check]]:
    return task(NAME).gate.known


def hidden() -> dict[str, list[Check]]:
    return {name: typed(name, rows) for name, rows in task(NAME).holdout_checks.items()}


def reads(check: Check, text: str) -> bool:
    read: Any = {"pattern": pattern.read, "sections": counted.read}[check.kind]
    artifact = Artifact(text)
    try:
        problems, _, _ = read(check, artifact, artifact.pieces(check))
    except Missing:
        return False
    return not problems


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A check's verdict; ours run in this process, which is ten times as fast as the sandbox."""

    def passes(check: Check, text: str) -> bool:
        if not isinstance(check, Script):
            return reads(check, text)
        said: list[bool] = []
        (tmp_path / check.file).write_text(text, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(tempfile, "tempdir", str(tmp_path))
            patch.delitem(sys.modules, "reading", raising=False)
            exec(compile(check.code, "<check>", "exec"), {"verdict": lambda passed, note: said.append(passed)})
            patch.delitem(sys.modules, "reading", raising=False)
        (passed,) = said
        return passed

    def failed(checks: dict[str, list[Check]], text: str) -> dict[str, set[int]]:
        found = {
            rule: {place for place, check in enumerate(rows) if not passes(check, text)}
            for rule, rows in checks.items()
        }
        return {rule: places for rule, places in found.items() if places}

    return failed


def damaged(text: str, *changes: tuple[str, str]) -> str:
    """The text with the first of each old passage replaced; one that begins with `re:` is a regular expression."""
    for old, new in changes:
        changed = re.sub(old[3:], new, text, count=1) if old.startswith("re:") else text.replace(old, new, 1)
        assert changed != text, old
        text = changed
    return text


# The task


def test_some_rules_are_in_words_only_so_that_prepare_has_something_to_do() -> None:
    for phase, rules in WORDS_ONLY.items():
        assert [rule.id for rule in task(NAME).unprepared(phase)] == rules
    assert all(rule.check for rule in task(NAME).criteria.rules)
    assert 200 <= len(task(NAME).prompt.split()) <= 350


def test_the_reference_passes_every_check_in_the_sandbox() -> None:
    owner = task(NAME)
    state = owner.parse(reference(NAME))
    assert owner.notes(state) == {}
    assert set(state.findings) == {rule.id for rule in owner.criteria.rules} - {
        "a.quality.clarity",
        "b.quality.audience",
    }
    verdict = owner.holdout(reference(NAME))
    assert verdict is not None
    assert verdict.failed == []
    assert 6 <= verdict.total_rules <= 10


def test_an_empty_document_passes_no_check() -> None:
    bench = task(NAME).bench
    for rows in (*visible().values(), *hidden().values()):
        for check in rows:
            assert not vacuous(check, bench), check


def test_the_brief_shows_the_sources_and_neither_the_reference_nor_a_check() -> None:
    told = task(NAME).prepare()
    assert sorted(told.sources) == ["calendar.md", "interviews.md", "prices.md"]
    text = told.model_dump_json()
    assert "A lamp should not end in the bin" in text
    assert "From 17 September you choose" not in text
    assert all(check.code[:60] not in text for rows in hidden().values() for check in rows if isinstance(check, Script))
    rules = task(NAME).prepare().rules + task(NAME).prompt
    assert not re.search(r"Aurelia|17 September|Ines|0555|5,?663|337|Ukrainian", rules)


# Damages: rule, place of the check in the rule, old, new

VISIBLE: list[tuple[str, int, str, str]] = [
    ("a.correctness.accuracy", 0, "7 | Thursday 17 September 2026", "7 | Thursday 17 September"),
    ("a.correctness.accuracy", 0, "from 17 September 2026 the repair", "from 18 September 2026 the repair"),
    ("a.correctness.accuracy", 0, "They are moved on 3 September.", "They are moved before the launch on 8 September."),
    ("a.correctness.accuracy", 0, "They are moved on 3 September.", "They are moved. The launch is on 10 September."),
    ("a.completeness.sections", 0, "## Features", "## Features\n\n"
     "Example: English\n\nExample: German\n\nExample: Turkish\n\nExample: Arabic\n\n## More"),
    ("a.completeness.examples", 0, "  Example: a student", "  A student"),
    ("a.completeness.examples", 0, "  Example: on the photo", "  On the photo"),
    ("a.security.confidential", 0, "The city council has", "The Aurelia Foundation gives more. The city council has"),
    ("a.correctness.budget", 0, "| 705.60 |", "| 588.00 |"),
    ("a.correctness.budget", 0, "| 5,663.00 |", "| 5,660.00 |"),
    ("a.correctness.budget", 0, "| 415.00 |", "| 380.00 |"),
    ("a.correctness.budget", 0, "re:\\| B7 .*\n", ""),
    ("a.correctness.budget", 0, "| | Total |", "| B9 | Reserve |"),
    ("a.completeness.timeline", 0, "re:(\\| T2 .*\n)(\\| T4 .*\n)", r"\2\1"),
    ("a.completeness.timeline", 0, "re:\\| T9 .*\n", ""),
    ("a.completeness.timeline", 0, "Thursday 15 October 2026 | First", "four weeks later | First"),
    ("a.completeness.timeline", 0, "First figures | Petra Holm |", "First figures | finance |"),
    ("a.completeness.risks", 0, "re:\\| Text messages cost .*\n", ""),
    ("a.completeness.risks", 0, "re:(\\| Text messages cost [^|]*\\|).*\n", r"\1 | Petra Holm |\n"),
    ("a.completeness.risks", 0, "by e-mail first | Petra Holm |", "by e-mail first | |"),
    ("a.quality.message", 0, "re:\\*\\*From 17 .*\\*\\*", "From 17 September you choose."),
    ("a.quality.message", 0, "re:\\*\\*From 17 .*\\*\\*", f"**From 17 September you {'may ' * 20}choose.**"),
    ("a.quality.press", 0, "Three more branches follow in November.", f"Three more {'and more ' * 20}."),
    ("a.quality.press", 0, "re: They describe(?s:.*?)It opens",
     "\n\n\"Volunteers help and promise nothing,\" she says. It opens"),
    ("a.quality.press", 0, "first day at mendery.harbourfield.example.", "first day at our address."),
    ("a.quality.press", 0, "Repairs are free. Visitors pay only", "- Repairs are free.\n- Visitors pay only"),
    ("a.completeness.faq", 0, "re:### Is a repair guaranteed(?s:.*?)### Which", "### Which"),
    ("a.completeness.faq", 0, "re:\\?\n\nNothing. (?s:.*?)###", "?\n\nNothing.\n\n###"),
    ("b.quality.structure", 0, "### What does a repair", "##### What does a repair"),
    ("b.quality.structure", 0, "## Risks", "# Risks"),
    ("b.completeness.cross-refs", 0, "[FAQ](#faq)", "[FAQ](#questions)"),
    ("b.completeness.cross-refs", 0, "[FAQ](#faq)", "[FAQ](faq.md)"),
    ("b.completeness.cross-refs", 0, "re:\\[text\\]\\(#press-text\\)(?s:(.*?))\\[FAQ\\]\\(#faq\\)", r"text\1FAQ"),
    ("b.style.consistency", 0, "They are moved on 3 September.", "They are moved on September 3."),
    ("b.style.consistency", 0, "They are moved on 3 September.", "They are moved on 2026-09-03."),
    ("b.style.consistency", 0, "Nothing. Visitors", "Nothing! Visitors"),
    ("b.style.consistency", 0, "## Risks", "## Risks:"),
    ("b.style.consistency", 0, "No, donations", "TBD: No, donations"),
]  # fmt: skip
HIDDEN: list[tuple[str, int, str, str]] = [
    ("days", 0, "Monday 31 August 2026", "Tuesday 1 September 2026"),
    ("days", 0, "Monday 2 November 2026", "Sunday 1 November 2026"),
    ("days", 0, "Thursday 15 October 2026", "Saturday 17 October 2026"),
    ("owners", 0, "version 2 | Ines Duarte |", "version 2 | Tomas Okafor |"),
    ("weekdays", 0, "Wednesday 30 September", "Thursday 30 September"),
    ("scope", 0, "on the launch day, in English,", "on the launch day, in English, Ukrainian,"),
    ("scope", 0, "- **Reminder.**", "- **Donations.** Visitors donate by card.\n- **Reminder.**"),
    ("scope", 1, "Ukrainian follows in November.", "More languages follow in November."),
    ("scope", 2, "re:### Can visitors donate .*\n\n.*\n",
     "### Is there a shop?\n\nNo, there is no shop at any branch.\n"),
    ("pilot", 0, "re:293 of them left repaired, which is 71(?s:(.*?))293 of 412", r"most\1most"),
    ("pilot", 1, "293 of 412 things left repaired.", "Three quarters of the things left repaired, 293 of 412."),
    ("quote", 0, "knew which screw to turn,", "knew the right screw,"),
    ("quote", 1, "says Margit Solheim, director", "says the director"),
    ("promise", 0, "can; they promise nothing.", "can."),
    ("frame", 0, "a frame of 6,000.00 euros", "a frame"),
    ("frame", 1, "337.00", "347.00"),
    ("frame", 2, "approved a frame", "raised the 5,000 euros to a frame"),
    ("cancelling", 0, "Up to 24 hours before", "Up to one day before"),
    ("cancelling", 1, "Up to 24 hours before", "Up to 24 hours (once 48 hours) before"),
    ("private", 0, "### Is a repair", "Ask Yusuf Demir, 0555 014 772.\n\n### Is a repair"),
]  # fmt: skip


def cases(rows: list[tuple[str, int, str, str]]) -> list[Any]:
    return [pytest.param(*row, id=f"{row[0]}-{row[1]}-{number}") for number, row in enumerate(rows)]


@pytest.mark.parametrize(("rule", "place", "old", "new"), cases(VISIBLE))
def test_each_damage_fails_exactly_the_rule_that_looks_for_it(inside, rule, place, old, new) -> None:
    found = inside(visible(), damaged(reference(NAME), (old, new)))
    assert set(found) == {rule}
    assert place in found[rule]


@pytest.mark.parametrize(("rule", "place", "old", "new"), cases(HIDDEN))
def test_each_hidden_check_sees_a_damage_that_no_visible_one_sees(inside, rule, place, old, new) -> None:
    text = damaged(reference(NAME), (old, new))
    found = inside(hidden(), text)
    assert set(found) == {rule}
    assert place in found[rule]
    assert inside(visible(), text) == {}


def test_no_check_is_without_a_damage() -> None:
    for checks, rows in ((visible(), VISIBLE), (hidden(), HIDDEN)):
        wanted = {(rule, place) for rule, many in checks.items() for place in range(len(many))}
        assert wanted == {(rule, place) for rule, place, _, _ in rows}


def test_in_the_sandbox_each_script_sees_a_damage_too_and_says_where() -> None:
    first = {(rule, place): (old, new) for rule, place, old, new in reversed([*VISIBLE, *HIDDEN])}
    for checks in (visible(), hidden()):
        for rule, many in checks.items():
            for place, check in enumerate(many):
                if isinstance(check, Script):
                    found = examine(check, damaged(reference(NAME), first[rule, place]), task(NAME).bench)
                    assert not found.passed
                    assert "gave no verdict" not in found.note, found.note


def test_notes_on_the_budget_do_not_give_the_amount_away() -> None:
    text = damaged(reference(NAME), ("| 705.60 |", "| 588.00 |"), ("| 5,663.00 |", "| 5,545.40 |"))
    (check,) = visible()["a.correctness.budget"]
    note = examine(check, text, task(NAME).bench).note
    assert "B1" in note
    assert "705" not in note


# What other writers would do


def test_other_ways_to_write_the_same_are_as_good(inside) -> None:
    text = damaged(
        reference(NAME), ("## Timeline", "## 3. Timeline"),
        ("(#timeline)", "(#3-timeline)"), ("(#timeline)", "(#3-timeline)"),
        ("| 1,296.00 |", "| 1296.00 EUR |"), ("| | Total | 5,663.00 |", "| **Total** | | **€5,663.00** |"),
        ("| T7 | Thursday 17", "| **T7** | Thursday, 17"), ("| T8 | Wednesday ", "| `T8` | "),
        ("## Press text", "## **Press text**"), ("# Mendery 2 launch brief", "# Launch Mendery 2 on 17 September."),
        ("  Example: Mrs", "  - **Example**: Mrs"), ("mendery.harbourfield.example", "<https://mendery.harbourfield.example>"),
        ("[text](#press-text)", "[text](#press)\n<a id=\"press\"></a>"), ("### What does", "### 1. What does"),
        ('"A lamp', "\u201cA lamp"), ('turn,"', "turn,\u201d"),
        ("|---|---|---:|", "| :--- | :-: | ---: |"), ("because nobody knew", "because\nnobody knew"),
    )  # fmt: skip
    assert inside(visible(), text) == {}
    assert inside(hidden(), text) == {}


def test_windows_line_ends_are_as_good(inside) -> None:
    text = reference(NAME).replace("\n", "\r\n")
    assert inside(visible(), text) == {}
    assert inside(hidden(), text) == {}


@pytest.mark.parametrize(
    "words",
    [
        "The go or no-go for the launch on 10 September is final.",
        "First figures come four weeks after launch on 15 October.",
        "Read more [here][steps].\n\n[steps]: #timeline\n",
        "Sit at the third-floor desk with your library card at 17:00 in November 2026.",
    ],
)
def test_harmless_words_are_no_finding(inside, words) -> None:
    text = damaged(reference(NAME), ("  Example: Mrs Arslan", f"  {words}\n  Example: Mrs Arslan"))
    assert inside(visible(), text) == {}
    assert inside(hidden(), text) == {}


# A team


def founded(parent: bool) -> Board:
    """A mission with six products; Timeline and Budget are one of them, `parent` has them all below it."""
    above = {"parent": "brief"} if parent else {}
    titles = ("Audience and message", "Features", "Timeline and budget", "Risks", "Press text", "FAQ")
    products = [product(title, "copy", **above) for title in titles]
    products = [product("Everything", "copy", key="brief", type="collection"), *products] if parent else products
    op = Charter(mission="Launch Mendery 2", objectives=["Brief the branches"], team=TEAM, products=products)
    return charter(open_board(), "chair", op)


def content(board: Board, title: str) -> str:
    """A product as an operative writes it: with a heading of its own, with citations in place of links."""
    parts = sections(reference(NAME))
    ids = {one.title: one.id for one in board.products}
    cited = {"timeline": "Timeline and budget", "press-text": "Press text", "faq": "FAQ"}
    names = ("Timeline", "Budget") if title == "Timeline and budget" else (title,)
    texts = [parts[name] for name in names]
    texts += [text for name, text in parts.items() if title == "FAQ" and name.endswith("?")]
    linked = "\n\n".join(texts)
    if title == "Audience and message":
        return linked
    return re.sub(r"\[\w+\]\(#([\w-]+)\)", lambda found: f"[[p:{ids[cited[found[1]]]}]]", linked)


def finished(parent: bool = False) -> Board:
    board = founded(parent)
    board = write(at(board, "plan"), "chair", version(board.log, LOG))
    for one in board.products:
        if one.owner != "chair":
            text = "What the branches need." if one.type == "collection" else content(board, one.title)
            board = done(board, one.id, text)
    return accept(board)


@pytest.mark.parametrize("parent", [False, True])
def test_the_reference_in_six_products_passes_as_a_joined_document(inside, parent) -> None:
    board = finished(parent)
    assert len(accepted(board)) == 6 + parent
    text = joined(board)
    assert "8 September" in text.partition("## Change Log")[2]
    assert inside(visible(), text) == {}
    assert inside(hidden(), text) == {}


def test_what_is_wrong_before_the_change_log_is_seen_in_a_joined_document(inside) -> None:
    text = damaged(joined(finished()), ("They are moved on 3 September.", "They are moved on 8 September."))
    assert set(inside(visible(), text)) == {"a.correctness.accuracy"}
    text = (
        damaged(joined(finished()), ("| 337.00", "| 337.00")) if False else joined(finished()).replace("337.00", "1.00")
    )
    assert set(inside(hidden(), text)) == {"frame"}


def test_links_of_the_contents_alone_do_not_link_sections(inside) -> None:
    text = joined(finished())
    head, contents, rest = text.partition("## Contents")
    bare = head + contents + re.sub(r"\[(Timeline and budget|Press text|text|FAQ|Timeline)\]\(#[\w-]+\)", r"\1", rest)
    listed = re.sub(r"^- (.+)$", r"- [\1](#faq)", bare.partition("## Audience")[0], flags=re.MULTILINE)
    assert "](#faq)" in listed
    text = listed + "## Audience" + bare.partition("## Audience")[2]
    assert set(inside(visible(), text)) == {"b.completeness.cross-refs"}


# The checks know the sources

LAUNCH = datetime.date(2026, 9, 17)
LEAVE = datetime.date(2026, 9, 1)
RELATIVE = {"14 days before": -14, "one week before": -7, "three days before": -3, "four weeks after": 28}
CENTRAL = {datetime.date(2026, 8, day) for day in range(24, 31)}


def cells(file: str) -> list[list[str]]:
    lines = (SHIPPED / file).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| [BT]\d", line)]


def day_of(words: str, where: str) -> datetime.date:
    """The day of a step as the calendar's rules have it."""
    relative = next((count for text, count in RELATIVE.items() if words.startswith(text)), 0)
    found = re.fullmatch(r"(\d+) (August|September|November)", words)
    day = LAUNCH + datetime.timedelta(relative)
    if found:
        day = datetime.date(2026, {"August": 8, "September": 9, "November": 11}[found[2]], int(found[1]))
    while where != "online" and (day.weekday() == 6 or (where == "Central" and day in CENTRAL)):
        day += datetime.timedelta(1)
    return day


def constant(file: str, name: str) -> dict[str, str]:
    space: dict[str, Any] = {}
    found = re.search(rf"^{name} = \{{.*?^\}}", (SHIPPED / file).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    exec(found[0], space)
    return space[name]


def test_the_hidden_days_follow_from_the_calendar() -> None:
    days = {code: day_of(when, where) for code, _, when, where, _ in cells("calendar.md")}
    assert constant("days.py", "DAYS") == {code: f"{day.day} {day:%B}" for code, day in days.items()}


def test_the_hidden_owners_follow_from_the_roles_and_the_leave() -> None:
    text = (SHIPPED / "calendar.md").read_text(encoding="utf-8").partition("## Roles")[2]
    people = dict(re.findall(r"^\| ([a-z ]+) \| ([A-Z].+) \|$", text, re.MULTILINE))
    wanted = {}
    for code, _, when, where, role in cells("calendar.md"):
        away = role == "software" and day_of(when, where) >= LEAVE
        wanted[code] = "Ines Duarte" if away else people[role]
    assert constant("owners.py", "OWNERS") == wanted


def test_the_amounts_follow_from_the_price_list_and_leave_what_the_reference_says() -> None:
    counts = {"B1": 12, "B2": 6000, "B3": 2, "B4": 2400 * 3, "B6": 3}
    amounts = {}
    for code, _, price, basis, _ in cells("prices.md"):
        tax = Decimal("1.2") if basis == "net" else Decimal(1)
        amounts[code] = Decimal(price.split()[0]) * counts.get(code, 1) * tax
    assert {code: Decimal(text) for code, text in constant("budget.py", "AMOUNTS").items()} == amounts
    assert f"{sum(amounts.values()):,.2f}" == "5,663.00"
    assert Decimal(6000) - sum(amounts.values()) == Decimal("337.00")
