"""What people see of a cabal: rounds on the console, the command board, its page, status and metrics (SPEC 4.9)."""

import io
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from cabal_boards import (
    KIT,
    LOG,
    PAGE,
    PRICE,
    assigned,
    at,
    done,
    founded,
    inspected,
    product,
    said,
    version,
    written,
)
from command_line import ROOT, Said, call
from dial_runs import play
from tracking_runs import record_of

from looper.console import Console
from looper.console.blocks import Block
from looper.console.board import MARKS, board_shown, tree_lines
from looper.console.minutes import refusals
from looper.console.page import TEMPLATE, Reader, linked
from looper.folder import Folder
from looper.journal import Event, Journal, read
from looper.loops.cabal.board.acceptance import accept, flags
from looper.loops.cabal.board.answers import Told
from looper.loops.cabal.board.citations import replaced
from looper.loops.cabal.board.entities import Status
from looper.loops.cabal.board.mission import answer_halt, halt, present
from looper.loops.cabal.board.rounds import begin_round, close_round
from looper.loops.cabal.board.table import Board, open_board
from looper.loops.cabal.board.writing import write
from looper.state import glimpse

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7 * 7 }} [x](javascript:alert(1)) \x1b[2J \u202e"
)
AMPLE = {"inner": 60.0, "outer": 300.0}
ANSWERS = [{"collab": one, "outcome": "addressed", "reason": "proven now"} for one in ("c1", "c2")]
TAGS = {
    "html", "head", "meta", "title", "style", "body", "p", "h1", "h2", "h3", "h4", "h5", "h6", "nav", "a", "ul", "ol",
    "li", "table", "thead", "tbody", "tr", "th", "td", "div", "span", "b", "br", "article", "header", "details",
    "summary", "pre", "code", "blockquote", "em", "strong", "s", "hr",
}  # fmt: skip
"""Elements that the page is made of."""


def told(board: Board, **more: Any) -> Board:
    """The round in the session log."""
    messages = [{"member": who, "text": f"This is {who}."} for who in ("chair", "o1", "watchdog")]
    return present(at(board, "present"), "envoy", Told.model_validate({"messages": messages} | more))


def busy() -> Board:
    """After one round: a question answered, p3 accepted, p2 flagged, a write refused, a round told."""
    board = answer_halt(halt(at(founded(), "plan"), "chair", "Which market?"), "Norway.")
    board = assigned(assigned(board, PAGE), PRICE, "o2")
    board = write(at(board, "write"), "o1", version(PRICE, "mine"))
    board = write(board, "o1", version(PAGE, "# Page\n\nBuy it, see [[p:p3]]."))
    board = write(board, "o2", version(PRICE, "Ten euros."))
    board = said(said(at(board, "review"), "o2", PAGE, 6), "o3", PAGE, 9, text="Not proven.")
    board = accept(inspected(inspected(board, PAGE, met=False), PRICE))
    return close_round(told(board, findings=["A claim."], questions=["May we?"], accepted=[PRICE]))


def many() -> Board:
    """Forty products of three operatives, on five levels."""
    more = [
        product(f"Chapter {i} of the long catalogue", ("copy", "price", "tech")[i % 3], key=f"k{i}",
                parent=f"k{i - 1}" if i % 5 else "kit")
        for i in range(36)
    ]  # fmt: skip
    return close_round(told(written(founded(*more), PAGE)))


def folder_of(tmp_path: Path, *boards: Board, design: str = "cabal", name: str = "one") -> Path:
    """Outputs with a run that told these boards, the later ones after a round."""
    journal = Journal(tmp_path / name / "history.jsonl", run_id=name, sync=False)
    journal.append(Event(event="run_started", payload={"task_alias": "launch", "design": design}))
    for number, board in enumerate(boards, 1):
        data = {"board": board.model_dump(mode="json")}
        journal.append(Event(event="board_updated", step="board_updated", key=f"board_updated.{number}", payload=data))
    journal.append(Event(event="paused", payload={"status": "paused", "reason": "user_stop", "facts": {}}))
    journal.close()
    return tmp_path


def shown(tmp_path: Path, board: Board, *flags: str) -> Said:
    return call("board", *flags, f"outputs={folder_of(tmp_path, board)}")


def page_of(tmp_path: Path, board: Board) -> str:
    answer = shown(tmp_path, board, "--html")
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'one' / 'board.html'}\n"), answer.err
    return (tmp_path / "one" / "board.html").read_text(encoding="utf-8")


def entry(board: Board, **more: Any) -> dict[str, Any]:
    session = board.sessions[-1].model_dump() if board.sessions else None
    known = {"step": board.round, "score": 0.5, "accepted": 1, "deliverables": 3, "open_importance": 15, "flags": 1}
    return known | {"presentation": session} | more


class Parsed(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(str(page))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def harmless(self) -> None:
        """Nothing that runs, loads or sends."""
        assert set(self.tags) <= TAGS, set(self.tags) - TAGS
        assert not [name for name, _ in self.attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        for name, value in self.attributes:
            assert name != "href" or re.match(r"(#|https?://|mailto:)", value), value


# While it runs


def lines_of(tmp_path: Path, *events: Event) -> list[str]:
    block = Block(tmp_path, 6)
    return [line for event in events for line in block.take(event)]


def board_event(board: Board) -> Event:
    return Event(event="board_updated", payload={"board": board.model_dump(mode="json")})


def test_a_round_is_shown_as_it_was_told_with_flags_and_tree(tmp_path: Path) -> None:
    board = busy()
    lines = lines_of(tmp_path, Event(event="iteration_advanced", payload=entry(board)), board_event(board))
    assert lines == [
        "── Round 1/6 | Score: 0.50 | 1 of 3 accepted | open importance 15 | 1 flag ──",
        "  Chair: This is chair.", "  Mara: This is o1.", "  Watchdog: This is watchdog.",
        "accepted: p3 Price list", "blocked: p2 Landing page",
        "key findings:", "  - A claim.", "open questions:", "  - May we?",
        "open flags:", "  - c2 on p2 Landing page (9/10, Ada): Not proven.",
        "products:",
        "  · p1 Launch kit      pending   no version, collection, Mara",
        "  ■   p2 Landing page  blocked   v1, content, Mara, flags c2",
        "  ✓   p3 Price list    accepted  v1, decision, Ivo",
        "  · p4 Change Log      pending   no version, orchestration, Chair",
    ]  # fmt: skip


def test_bootstrap_shows_mission_team_and_first_products(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, board_event(founded()))
    assert lines[:3] == ["── Bootstrap | 3 operatives | 4 products ──", "mission: Launch the thing", "team:"]
    assert "  o2 Ivo: prices and margins" in lines
    assert "    p2 Landing page" in lines[-3].replace("·", "")


def test_a_halt_shows_what_is_asked_whether_or_not_the_round_before_was_told(tmp_path: Path) -> None:
    board = halt(at(founded(), "plan"), "chair", "Which market?\nNorway or Sweden?")
    head = "── Halt in round 1, plan | the chair asks ──"
    assert lines_of(tmp_path, board_event(board)) == [head, "  Which market? Norway or Sweden?"]
    assert lines_of(tmp_path, board_event(halt(open_board(), "chair", "Who pays?")))[0].startswith("── Halt in boot")


def test_a_round_without_score_or_session_says_so(tmp_path: Path) -> None:
    event = Event(event="iteration_advanced", payload=entry(founded(), score=None))
    lines = lines_of(tmp_path, event, board_event(founded()))
    assert lines[0].startswith("── Round 0/6 | 1 of 3 accepted |")
    assert lines[1] == "  The envoy told nothing."


def test_verdicts_on_drafts_make_no_block_of_their_own_in_a_cabal(tmp_path: Path) -> None:
    verdict = Event(event="evaluation_done", iteration=1, payload={"score": 0.5, "phase": "A"})
    ended = Event(event="stopped", payload={})
    assert lines_of(tmp_path, board_event(founded()), verdict, ended)[-1].startswith("  · p4")
    assert lines_of(tmp_path, verdict, ended)[0].startswith("── Iteration 1"), "other designs keep theirs"


def test_a_large_round_and_board_are_read_from_their_files(tmp_path: Path) -> None:
    path = tmp_path / "one"
    journal = Journal(path / "history.jsonl", sync=False)
    board = close_round(told(done(founded(), PRICE, "x" * 100_000, "o2")))
    journal.append(Event(event="iteration_advanced", payload=entry(board, more="y" * 100_000)))
    journal.append(board_event(board))
    journal.close()
    assert len(list((path / "blobs").iterdir())) == 2
    assert "  Mara: This is o1." in lines_of(path, *read(path / "history.jsonl").events)


def test_hostile_words_reach_the_console_harmless_and_on_bounded_lines(tmp_path: Path) -> None:
    board = told(busy_with(HOSTILE + "x" * 400))
    lines = lines_of(tmp_path, Event(event="iteration_advanced", payload=entry(board)), board_event(board))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", "".join(lines))
    assert max(map(len, lines)) <= 160
    assert any("\\x1b[2J" in line for line in lines), "it is shown, not dropped"


def test_a_run_shows_its_rounds_and_where_its_board_is_found(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    with Console(out, err) as console:
        outcome = play(tmp_path / "run", console.audience(), loop="cabal", budget=AMPLE)
        console.summary(outcome, tmp_path / "run")
    heads = re.findall(r"^── (Bootstrap|Round \d/6) \|", out.getvalue(), re.M)
    assert heads[:2] == ["Bootstrap", "Round 1/6"]
    assert "── Iteration" not in out.getvalue()
    assert "\nboard: looper board run (--html makes a page of it)\n" in out.getvalue()
    assert re.search(r"^\[1\] step 1, score", err.getvalue(), re.M), "the line of each step stays"


# The command


def test_the_board_as_text_holds_all_but_the_texts(tmp_path: Path) -> None:
    answer = shown(tmp_path, busy())
    assert (answer.code, answer.err) == (0, "")
    for line in (
        "board of one: paused (user_stop), round 1, 1 of 3 deliverables accepted, open importance 15",
        "mission: Launch the thing",
        "  - Sell it",
        "  - o3 Ada: the server (software engineering)",
        "  ✓   p3 Price list    accepted  v1, decision, Ivo",
        "  - c2 on p2 Landing page (9/10, Ada): Not proven.",
        "  - c1 on p2 v1 (feedback, 6/10, Ivo): It is too long.",
        "  Mara (o1):",
        "    - round 1, write: version of p3: p3 is not assigned to you in this round; write p2 only.",
        "  Which market?",
        "  User: Norway.",
        "── Round 1 ──",
        "  Mara: This is o1.",
        "  - Accepted: Price list (p3)",
        "next: looper resume one",
    ):
        assert f"\n{line}\n" in f"\n{answer.out}", line
    assert "Ten euros." not in answer.out
    assert re.search(r"^  - p2 Landing page: not met: It has a headline\.; .*c2 \(9\) is open$", answer.out, re.M)


def test_the_board_as_data_is_one_object_that_is_the_board_and_what_follows_from_it(tmp_path: Path) -> None:
    board = busy()
    answer = shown(tmp_path, board, "--json")
    data = json.loads(answer.out)
    assert answer.out.count("\n") == 1
    assert Board.model_validate(data["board"]) == board
    assert (data["run"], data["accepted"], data["deliverables"], data["open_importance"]) == ("one", 1, 3, 15)
    assert (data["flags"], data["open_feedback"]) == (["c2"], ["c1"])
    assert data["missing"][KIT] == ["there is no version"]
    assert PRICE not in data["missing"]


def test_a_question_that_waits_and_an_empty_board_are_shown(tmp_path: Path) -> None:
    board = halt(open_board(), "chair", "Who pays?")
    out = shown(tmp_path, board).out
    assert "mission: none yet" in out
    assert "  Who pays?\n  (waits for an answer)\n" in out
    page = Parsed(page_of(tmp_path / "page", board))
    for words in ("No mission yet", "There are no products yet.", "Who pays?", "This waits for an answer."):
        assert words in page.text


def test_the_latest_board_is_shown_and_a_run_can_be_named(tmp_path: Path) -> None:
    outputs = folder_of(tmp_path, founded(), busy())
    folder_of(tmp_path, founded(), name="two")
    assert "round 1," in call("board", "one", f"outputs={outputs}").out
    assert "round 0," in call("board", "two", f"outputs={outputs}").out


def test_a_run_of_another_design_has_no_board(tmp_path: Path) -> None:
    play(tmp_path / "run", loop="baseline")
    answer = call("board", f"outputs={tmp_path}")
    assert answer.code == 2
    assert answer.complaint == (
        "looper: run: design baseline keeps no board, only cabal does; `looper status run` shows where it stands.\n"
    )


def test_a_cabal_before_its_bootstrap_has_no_board_yet(tmp_path: Path) -> None:
    answer = call("board", "--html", f"outputs={folder_of(tmp_path)}")
    assert answer.code == 2
    assert "one: there is no board yet, the chair has not answered; `looper status one` says why." in answer.complaint
    assert not (tmp_path / "one" / "board.html").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing"], "no run `nothing` below"),
        (["--json", "--html"], "give --json or --html, not both"),
        (["--htm"], "did you mean `--html`?"),
        (["one", "two"], "`board` does not take `two`"),
    ],
)
def test_what_the_command_does_not_take_is_said(tmp_path: Path, args: list[str], words: str) -> None:
    answer = call("board", *args, f"outputs={folder_of(tmp_path, founded())}")
    assert answer.code == 2
    assert words in answer.complaint


def test_the_command_is_helped_with_and_found_under_a_wrong_name() -> None:
    assert call("board", "--help").out.startswith("looper board [RUN] [--html | --json]\n")
    assert "did you mean `board`?" in call("bord").complaint


def test_a_history_that_is_lost_or_damaged_is_said(tmp_path: Path) -> None:
    outputs = folder_of(tmp_path, busy())
    history = tmp_path / "one" / "history.jsonl"
    history.write_bytes(history.read_bytes().replace(b"Launch the thing", b"Launch no thing!"))
    answer = call("board", f"outputs={outputs}")
    assert answer.code == 2
    assert "history.jsonl" in answer.complaint
    history.unlink()
    (tmp_path / "one" / "run.json").write_text("{}")
    answer = call("board", "one", f"outputs={outputs}")
    assert answer.code == 2
    assert "has no history.jsonl" in answer.complaint


def test_a_board_whose_file_is_gone_is_damage(tmp_path: Path) -> None:
    outputs = folder_of(tmp_path, written(founded(), PAGE, "x" * 100_000))
    (blob,) = (tmp_path / "one" / "blobs").iterdir()
    blob.unlink()
    answer = call("board", f"outputs={outputs}")
    assert answer.code == 2
    assert "missing or changed" in answer.complaint


def test_a_board_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    strange = founded().model_copy(update={"products": (product_as("elsewhere"),)})
    answer = call("board", f"outputs={folder_of(tmp_path, strange)}")
    assert answer.code == 2
    assert "one: its board does not fit this version of looper (1 differences)" in answer.complaint


def product_as(status: Any) -> Any:
    return founded().products[0].model_copy(update={"status": status})


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    outputs = folder_of(tmp_path, founded())
    (tmp_path / "one" / "board.html" / "in the way").mkdir(parents=True)
    answer = call("board", "--html", f"outputs={outputs}")
    assert answer.code == 2
    assert "board.html: cannot be written; free some space" in answer.complaint


# The page


def test_the_page_holds_the_whole_board_with_texts_checklists_and_versions(tmp_path: Path) -> None:
    board = busy()
    board = written(begin_round(board), PAGE, "Second text, [[v:p3:1]].", answers=ANSWERS)
    page = Parsed(page_of(tmp_path, inspected(board, PAGE, 6)))
    page.harmless()
    for words in (
        "Launch the thing", "Sell it", "Mara", "prices and margins", "Which market?", "Norway.", "Not proven.",
        "This is watchdog.", "A claim.", "May we?", "Second text,", "Price list, version 1", "Ten euros.", "proven now",
        "not assigned to you in this round", "Accepted: Price list (p3)",
        "Inspection of version 1 in round 1: approved", "Inspection of version 2: needs revision",
        "It names the price.", "looper resume one", "Buy it, see [[p:p3]].",
    ):  # fmt: skip
        assert words in page.text, words


def test_every_place_that_a_link_leads_to_is_on_the_page_once(tmp_path: Path) -> None:
    content = "[[p:p3]] [[v:p2:1]] [[a:o1]] [[a:a1]] [[c:c1]] [[a:watchdog]]"
    board = written(begin_round(busy()), PAGE, content, answers=ANSWERS)
    page = Parsed(page_of(tmp_path, board))
    places = [value for name, value in page.attributes if name == "id"]
    assert len(set(places)) == len(places)
    wanted = {value[1:] for name, value in page.attributes if name == "href" and value.startswith("#")}
    assert wanted <= set(places), wanted - set(places)
    assert {"p3", "p2-v1", "member-o1", "c1", "member-watchdog"} <= wanted


def busy_with(words: str) -> Board:
    """A board on which every free text is `words`."""
    return Board.model_validate(_replaced(busy().model_dump(mode="json"), words))


FREE = {
    "mission", "title", "content", "summary", "text", "question", "answer", "name", "persona", "responsibility", "area",
    "item", "note", "operation", "criterion", "objective", "why", "context",
}  # fmt: skip
LISTS = {"objectives", "constraints", "findings", "questions", "lines", "done"}


def _replaced(node: Any, words: str, key: str = "") -> Any:
    if isinstance(node, Mapping):
        return {name: _replaced(value, words, name) for name, value in node.items()}
    if isinstance(node, list):
        return [words if key in LISTS else _replaced(one, words, key) for one in node]
    return words if key in FREE or (key == "reason" and node) else node


def test_nothing_that_roles_write_becomes_markup_or_script(tmp_path: Path) -> None:
    page = page_of(tmp_path, busy_with(HOSTILE))
    parsed = Parsed(page)
    parsed.harmless()
    clean = Parsed(page_of(tmp_path / "clean", busy_with("words")))
    assert [tag for tag in parsed.tags if tag not in ("p", "br")] == [
        tag for tag in clean.tags if tag not in ("p", "br")
    ], "the same elements, whatever the words"
    assert parsed.text.count("<script>alert(1)</script>") > 40
    assert "{{ 7 * 7 }}" in parsed.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java&#115;cript:alert(1))",
        "[x](&#1;javascript:alert(1))", "<javascript:alert(1)>", "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)", "[x](file:///etc/passwd)", "[x](//example.org/x)", "[x](notes.md)",
        "[x]: javascript:alert(1)\n\n[x]", "![x](https://example.org/x.png)", '![x" onerror="alert(1)](https://a.b/c)',
        "![<script>x</script>](https://a.b/c)", "![x](data:image/svg+xml;base64,AAAA)",
        "<img src=x onerror=alert(1)>", "<b>bold</b>", "<!-- a comment",
        "<iframe src=https://example.org></iframe>", "`<script>`", "```\n<script>alert(1)", "~~~html\n<script>",
        '```"><script>\nx\n```', "| a | b |\n|---|---|\n| <script> | `|` |", "# <script>x</script>", "</div></article>",
        '[x](https://a.b "><script>alert(1)</script>")', "[x](https://a.b/\"onmouseover=alert(1))", "&lt;script&gt;",
        "[x](java\tscript:alert(1))", "<style>body{display:none}</style>", "<meta http-equiv=refresh content=0>",
    ],
)  # fmt: skip
def test_no_markdown_acts(text: str) -> None:
    parsed = Parsed(Reader().page(text))
    parsed.harmless()
    assert not {"script", "img", "style", "meta", "iframe"} & set(parsed.tags)
    assert parsed.text.strip(), "it is shown"


@pytest.mark.parametrize("text", ["https://example.org/a?b=c", "http://a.b", "mailto:a@b.c", "#p1", "HTTPS://A.B"])
def test_links_to_the_web_to_mail_and_into_the_page_stay(text: str) -> None:
    parsed = Parsed(Reader().page(f"[word]({text})"))
    assert parsed.attributes[0][0] == "href"
    assert parsed.attributes[0][1].casefold() == text.casefold()
    assert ("rel", "noopener noreferrer") in parsed.attributes


@pytest.mark.parametrize("text", ["[" * 5000, ">" * 5000, "*" * 5000, "`" * 4999, "- " * 3000, "<" * 5000, "![" * 3000])
def test_broken_markdown_ends_where_its_product_ends(tmp_path: Path, text: str) -> None:
    page = page_of(tmp_path, written(founded(), PAGE, text))
    assert '<h2 id="refused">' in page
    parsed = Parsed(page)
    parsed.harmless()
    assert parsed.tags.count("article") == page.count("</article>") == 4


def test_headings_of_a_product_are_below_those_of_the_page() -> None:
    found = Parsed(Reader().page("# One\n\nTwo\n===\n\n###### Six")).tags
    assert [tag for tag in found if tag != "p"] == ["h4", "h4", "h6"]


def test_citations_that_lead_nowhere_and_titles_full_of_marks_stay_words() -> None:
    board = founded(product("A *star* ](javascript:x) <b>", "copy"))
    shown = replaced("[[p:p4]] [[p:p9]] [[a:o9]] [[c:c9]] [[a:a9]]", lambda one: linked(board, one))
    parsed = Parsed(Reader().page(shown))
    assert [value for name, value in parsed.attributes if name == "href"] == ["#p4"]
    assert parsed.text.strip() == "A *star* ](javascript:x) <b> [[p:p9]] [[a:o9]] [[c:c9]] [[a:a9]]"
    parsed.harmless()


def test_the_page_needs_no_network_no_script_and_has_colours_for_light_and_dark(tmp_path: Path) -> None:
    page = page_of(tmp_path, busy())
    assert "default-src 'none'" in page, "a script would not be run if there were one"
    assert not re.search(r"<(script|link|img|iframe|object|embed|form|base)\b|@import|url\(", page)
    assert "color-scheme: light dark" in page
    assert "prefers-color-scheme: dark" in page


def test_the_template_lies_in_the_package() -> None:
    assert (ROOT / "looper" / "console" / TEMPLATE).is_file()


# Forty products


def test_forty_products_stay_a_line_each(tmp_path: Path) -> None:
    board = many()
    lines = tree_lines(glimpse(board.model_dump(mode="json")))
    assert len(lines) == len(board.products) == 40
    assert max(map(len, lines)) <= 160
    assert len({line.index(one) for line, one in zip(lines, states(board), strict=True)}) == 1, "states in one column"
    parsed = Parsed(page_of(tmp_path, board))
    assert parsed.tags.count("article") == 40
    assert max(map(len, shown(tmp_path / "text", board).out.splitlines())) <= 160


def states(board: Board) -> Iterator[str]:
    return (f" {one.status} " for _, one in board.walk())


def test_every_status_has_a_mark() -> None:
    assert set(MARKS) == set(get_args(Status))
    assert len(set(MARKS.values())) == len(MARKS)


# Status, run.json, metrics


def test_a_status_shows_tree_and_flags_and_others_do_not(tmp_path: Path) -> None:
    out = call("status", f"outputs={folder_of(tmp_path, busy())}").out
    assert "\nboard after round 1:\n  · p1 Launch kit " in out
    assert "\n  - c2 on p2 Landing page (9/10, Ada): Not proven.\n" in out
    play(tmp_path / "other" / "run", loop="baseline")
    assert "board" not in call("status", f"outputs={tmp_path / 'other'}").out
    assert board_shown(Folder(tmp_path / "other" / "run").state()) == []
    first = board_shown({"board": glimpse(founded().model_dump(mode="json"))})
    assert first[0] == "board after bootstrap:"


def test_run_json_keeps_the_board_short_without_texts(tmp_path: Path) -> None:
    outputs = folder_of(tmp_path, written(founded(), PAGE, "A long text. " * 5000))
    state = Folder(outputs / "one").state()
    assert "A long text." not in json.dumps(state)
    assert state["board"]["round"] == 1
    assert state["board"]["team"]["o1"] == "Mara"
    assert state["board"]["products"][1] == {
        "id": PAGE, "title": "Landing page", "type": "content", "owner": "o1", "parent": KIT, "status": "written",
        "version": 1, "flags": [],
    }  # fmt: skip
    assert state["current_step"] != "BOARD_UPDATED"


def test_the_short_board_knows_flags_and_order_as_the_board_does() -> None:
    board = said(begin_round(busy()), "o2", PAGE, 10, kind="endorsement", text="Well said.")
    board = said(board, "o1", PRICE, 8, text="z" * 500)
    assert [one.kind for one in board.collabs[2:]] == ["endorsement", "feedback"]
    assert [len(flags(board, one)) for one in (PAGE, PRICE)] == [1, 1]
    dealt = written(begin_round(busy()), PAGE, answers=ANSWERS)
    assert (flags(dealt, PAGE), dealt.collabs[1].state) == ([], "accepted")
    for one in (board, dealt, many(), open_board()):
        known = glimpse(one.model_dump(mode="json"))["products"]
        assert [item["id"] for item in known] == [found.id for _, found in one.walk()]
        assert [item["version"] for item in known] == [one.number(item["id"]) for item in known]
        for item in known:
            assert [flag["id"] for flag in item["flags"]] == [flag.id for flag in flags(one, item["id"])]
            assert all(len(flag["text"]) <= 200 for flag in item["flags"])


def test_refusals_are_told_by_author_in_the_order_of_the_team() -> None:
    board = write(at(assigned(busy(), PAGE), "write"), "o3", version(LOG, "mine"))
    board = halt(board, "envoy", "May I?")
    assert list(refusals(board)) == ["envoy", "o1", "o3"]


def test_metrics_of_a_round_are_logged_at_its_number(tmp_path: Path) -> None:
    play(tmp_path / "run", loop="cabal", budget=AMPLE)
    record = record_of(tmp_path / "run")
    told = [event for event in read(tmp_path / "run" / "history.jsonl").events if event.event == "iteration_advanced"]
    assert len(told) >= 2
    for name in ("accepted", "deliverables", "open_importance", "flags"):
        found = {point.step: point.value for point in record.points if point.name == name}
        assert found == {event.iteration: float(event.payload[name]) for event in told}, name
    play(tmp_path / "other", loop="baseline")
    assert not {"accepted", "flags"} & {point.name for point in record_of(tmp_path / "other").points}
