"""What roles and people read of the board: overview, card, joined document; and who reviews what (SPEC 4.6)."""

import time

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
    product,
    said,
    state,
    version,
    written,
)

from looper.checks.reading.outline import Outline
from looper.loops.cabal.board.acceptance import accept
from looper.loops.cabal.board.answers import Charter
from looper.loops.cabal.board.citations import citations
from looper.loops.cabal.board.joined import bare, change_log, joined
from looper.loops.cabal.board.mission import charter
from looper.loops.cabal.board.operations import Reparent
from looper.loops.cabal.board.relevance import to_review
from looper.loops.cabal.board.rendering import LIMIT, card, overview
from looper.loops.cabal.board.rounds import begin_round, close_round
from looper.loops.cabal.board.table import Board, open_board
from looper.loops.cabal.board.tree import reparent
from looper.loops.cabal.board.writing import write


def large(products: int = 39, operatives: int = 12, status: str = "written") -> Board:
    """A board with everything as long as it may be."""
    long = "word " * 79
    team = [{"key": f"k{i}", "name": f"{i} {'n' * 110}", "persona": long, "responsibility": long, "area": long}
            for i in range(operatives)]  # fmt: skip
    wanted = [product(f"{i} {'title ' * 18}", f"k{i % operatives}") for i in range(products)]
    op = {"mission": long, "objectives": [f"{i} {long}"[:390] for i in range(7)], "team": team, "products": wanted,
          "constraints": [f"{i} {long}"[:390] for i in range(10)]}  # fmt: skip
    board = at(charter(open_board(), "chair", Charter.model_validate(op)), "reflect")
    for one in board.products:
        for number in range(4):
            board = said(board, "o1", one.id, 9, text=f"{number} {long}")
    changed = [one.model_copy(update={"status": status}) for one in board.products if one.owner != "chair"]
    return board.model_copy(update={"products": (*changed, board.products[-1])})


# Overview


def test_the_overview_names_id_owner_type_state_version_flags_and_open_feedback() -> None:
    board = said(said(at(written(founded(), PAGE), "review"), "o2", PAGE, 9), "o3", PAGE, 4)
    text = overview(board)
    assert "Mission: Launch the thing" in text
    assert "- o1 Mara: all texts (marketing)" in text
    assert "- p1 Launch kit (collection; o1; pending)" in text
    assert "  - p2 Landing page (content; o1; reviewed v1; flags c1; open feedback 2)" in text
    assert overview(open_board()).endswith("Products: none yet.")


@pytest.mark.parametrize("status", ["written", "accepted", "blocked"])
@pytest.mark.parametrize("products", [1, 39, 300])
def test_the_overview_stays_below_its_limit(products: int, status: str) -> None:
    board = large(min(products, 39), status=status)
    if products > 39:
        more = [state(board, "p1").model_copy(update={"id": f"p{n}"}) for n in range(41, products + 1)]
        board = board.model_copy(update={"products": (*board.products, *more)})
    text = overview(board)
    assert len(text) < LIMIT
    assert len(overview(board, limit=1_000)) < 1_000
    gone = [one.id for one in board.products if f"- {one.id} " not in text]
    assert (f"{len(gone)} more products are left out here" in text) == bool(gone)


def test_accepted_products_are_left_out_first_and_the_viewers_own_last() -> None:
    board = large()
    changed = [one.model_copy(update={"status": "accepted"}) if i < 10 else one for i, one in enumerate(board.products)]
    board = board.model_copy(update={"products": tuple(changed)})
    shown = overview(board, viewer="o11")
    gone = [one.id for one in board.products if f"- {one.id} " not in shown]
    assert gone == [f"p{n}" for n in range(11 - len(gone), 11)], "accepted ones, from the end of the tree"
    less = overview(board, viewer="o11", limit=5_000)
    gone = [one.id for one in board.products if f"- {one.id} " not in less]
    assert len(gone) > 10
    assert {f"p{n}" for n in range(1, 11)} <= set(gone), "every accepted one, before any other"
    tight = overview(board, viewer="o11", limit=2_500)
    shown_ids = [one.id for one in board.products if f"- {one.id} " in tight]
    assert {"p11", "p23", "p35"} <= set(shown_ids), "those of o11"
    assert len(shown_ids) < 10


# Card


def test_a_card_shows_one_product_in_full() -> None:
    board = said(at(done(founded(), PAGE, "A headline.\nAnd more."), "reflect"), "o2", PAGE, 9)
    board = assigned(board, PAGE, why="It sells.", context="For shops.", done=["It is short."])
    text = card(board, PAGE)
    for part in (
        "p2 Landing page", "type content, owner o1, status assigned", "below p1",
        "missing for acceptance: c1 (9) is open",
        "1. It has a headline. [met: seen]", "Verdict on version 1: approved", "Assigned to o1 (a2): Write it.",
        "- done when: It is short.", "why: It sells.", "context: For shops.",
        "Content (version 1):\nA headline.\nAnd more.", "- v1, round 1, o1: a new text",
        "- c1 feedback 9/10 by o2 on v1: It is too long.",
    ):  # fmt: skip
        assert part in text, part
    assert "above p2, p3" in card(board, KIT)
    assert "(no version yet)" in card(board, PRICE)
    with pytest.raises(KeyError):
        card(board, "p9")


# Joined document


def everything() -> Board:
    price = "# Price list\n\nTen, see [[p:p2]], [[c:c1]], [[a:o3]], [[a:a1]] and `[[p:p2]]`.\n\n## Why\n\nIt is cheap."
    board = done(founded(), PAGE, "### Head\n\nGo to [[p:p1]].")
    board = said(at(board, "reflect"), "o2", PAGE, 3)
    board = done(board, PRICE, price, "o2")
    return close_round(done(board, KIT, "All of it: [[p:p3]], [[v:p2:1]]."))


def test_the_joined_document_has_contents_links_and_the_change_log() -> None:
    text = joined(everything())
    found = Outline(text)
    assert [(one.level, one.title) for one in found.headings if not one.title.startswith("Round")] == [
        (1, "Launch the thing"), (2, "Contents"), (2, "Launch kit"), (3, "Landing page"), (4, "Head"),
        (3, "Price list"), (4, "Why"), (2, "Change Log"),
    ]  # fmt: skip
    assert "- [Launch kit](#launch-kit)\n  - [Landing page](#landing-page)\n  - [Price list](#price-list)\n" in text
    assert "[Change Log](#change-log)" in text
    assert (
        "Ten, see [Landing page](#landing-page), [feedback c1 on Landing page](#landing-page), Ada, "
        "[assignment a1 on Landing page](#landing-page) and `[[p:p2]]`." in text
    )
    assert "All of it: [Price list](#price-list), [Landing page, version 1](#landing-page)." in text
    anchors = {one.anchor for one in found.headings}
    assert {link.target.removeprefix("#") for link in found.links} <= anchors


def test_products_that_are_not_accepted_are_named_and_not_linked() -> None:
    board = done(founded(), PAGE, "It costs what [[p:p3]] says.")
    text = joined(board)
    assert "It costs what Price list says." in text
    assert "## Landing page" in text
    assert "## Launch kit" not in text


def test_equal_headings_get_anchors_of_their_own() -> None:
    board = done(founded(), PAGE, "# Price list\n\nSee [[p:p3]].")
    board = done(board, PRICE, "Ten.", "o2")
    assert "See [Price list](#price-list-1)." in joined(board)


@pytest.mark.parametrize(
    "content",
    ["```\nnever closed", "~~~~ text\nnever closed", "<!-- never closed", "<pre>\nnever closed",
     "- a list\n\n  ````\n x",
     "<script>\nalert(1)", "a [link", "> quote", "Title\n====="],
)  # fmt: skip
def test_no_content_swallows_what_comes_after_it(content: str) -> None:
    board = done(done(founded(), PAGE, content), PRICE, "Ten.", "o2")
    titles = [one.title for one in Outline(joined(board)).headings]
    assert "Price list" in titles
    assert "Change Log" in titles


def test_marks_in_titles_are_text() -> None:
    board = done(founded(product("A *b* [c] `d` <e> #", "o3")), "p4", "Text.", "o3")
    text = joined(board, title="On | off")
    assert [one.title for one in Outline(text).headings][:3] == ["On | off", "Contents", "A *b* [c] `d` <e> #"]


def test_the_bare_document_is_the_contents_alone() -> None:
    board = done(done(founded(), PAGE, "a: [[p:p3]]\n"), PRICE, "b: 1", "o2")
    assert bare(board) == "a: Price list\n\nb: 1"
    assert bare(founded()) == ""


def test_orchestration_is_not_in_the_joined_document() -> None:
    board = done(founded(product("Agenda", "o1", type="orchestration")), "p4", "Secret.")
    assert state(board, "p4").status == "accepted"
    assert "Secret" not in joined(board)


def test_the_change_log_has_what_the_chair_wrote_and_an_entry_per_round() -> None:
    board = write(at(founded(), "plan"), "chair", version(LOG, "# Change Log\n\nWe begin with [[p:p2]]."))
    text = change_log(close_round(board))
    assert "We begin with" in text
    assert text.index("### Round 0") < text.index("### Round 1")


# Review


def team_of(board: Board, **domains: str) -> Board:
    members = tuple(one.model_copy(update={"area": domains.get(one.id, one.area)}) for one in board.members)
    return board.model_copy(update={"members": members})


def fresh(*contents: str) -> Board:
    """Products p4... of o1 at the root, written in this round with these contents."""
    board = at(founded(*(product(f"Part {n}", "o1") for n in range(len(contents)))), "plan")
    for place, _ in enumerate(contents):
        board = assigned(board, f"p{place + 4}")
    board = at(board, "write")
    for place, content in enumerate(contents):
        board = write(board, "o1", version(f"p{place + 4}", content))
    return at(board, "review")


def test_nobody_reviews_own_work() -> None:
    board = fresh("one", "two")
    assert to_review(board, "o1") == []
    assert set(to_review(board, "o2")) == {"p4", "p5"}
    other = at(written(founded(), PAGE, by="o3"), "review")
    assert (to_review(other, "o1"), to_review(other, "o3"), to_review(other, "o2")) == ([], [], [PAGE])


def test_a_reviewer_sees_five_products_of_this_round_at_most() -> None:
    board = fresh(*(f"text {n}" for n in range(8)))
    assert [len(to_review(board, who)) for who in ("o2", "o3")] == [5, 5]
    assert set(to_review(board, "o2")) | set(to_review(board, "o3")) == {f"p{n}" for n in range(4, 12)}
    assert to_review(at(begin_round(close_round(board)), "review"), "o2") == []


def test_citations_and_neighbours_come_before_the_domain_and_that_before_the_rest() -> None:
    board = fresh("nothing", "about servers, software and engineering", "as [[p:p3]] says", "nothing else")
    assert to_review(board, "o2", most=1) == ["p6"], "it cites what o2 owns"
    assert to_review(board, "o3", most=1) == ["p5"], "it is of the domain of o3"
    near = reparent(at(begin_round(board), "plan"), "chair", Reparent(product="p7", parent=KIT))
    near = write(at(assigned(assigned(near, "p7"), "p5"), "write"), "o1", version("p7", "new"))
    near = write(near, "o1", version("p5", "finance, prices, margins"))
    assert to_review(near, "o2") == ["p7", "p5"], "below the same parent as p3"


# Citations


def test_citations_are_read_in_order_and_not_in_code() -> None:
    text = "[[p:p1]] `[[p:p2]]` ``a ` [[p:p3]]`` [[v:p4:12]]\n```\n[[p:p5]]\n```\n[[a:o1]]\n~~~x\n[[p:p6]]\n[[c:c1]]"
    assert [(one.kind, one.id, one.number) for one in citations(text)] == [
        ("p", "p1", 0),
        ("v", "p4", 12),
        ("a", "o1", 0),
    ]


def test_reading_citations_takes_linear_time() -> None:
    for text in ("`" * 200_000, "[[p:" * 50_000, "` `` " * 40_000, "```\n" * 50_000, "[[p:" + " " * 199_000):
        begun = time.perf_counter()
        citations(text)
        assert time.perf_counter() - begun < 1.0, text[:10]


def test_a_large_board_is_handled_in_time() -> None:
    board = at(large(), "plan")
    begun = time.perf_counter()
    overview(board)
    accept(board)
    [to_review(board, one.id) for one in board.operatives()]
    assert time.perf_counter() - begun < 2.0
