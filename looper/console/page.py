"""A cabal's whole board as one page that needs no server, no network and no script.

What roles wrote is data: it reaches the page escaped, or as Markdown without HTML, pictures and unsafe links.
"""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from looper.console.board import MARKS, when
from looper.console.minutes import headline, lacking, name_of, refusals, waiting
from looper.console.screen import plain
from looper.console.story import Story
from looper.console.summary import advice
from looper.loops.cabal.board.acceptance import flags
from looper.loops.cabal.board.citations import Citation, replaced
from looper.loops.cabal.board.entities import Collab
from looper.loops.cabal.board.joined import change_log
from looper.loops.cabal.board.table import Board

TEMPLATE = "board.html.j2"
_SAFE = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")
BELOW = 3
"""Levels by which the headings of a product are below those of the page."""


class Reader(MarkdownIt):
    """Markdown in which nothing acts: no HTML, no pictures (they would be fetched), links to known schemes alone."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable(["table", "strikethrough"])
        self.add_render_rule("image", _picture)

    def validateLink(self, url: str) -> bool:
        """Whether a link may stand: the web, mail, or a place on this page."""
        return bool(_SAFE.match(url))

    def page(self, text: str) -> Markup:
        """The text as a part of the page."""
        tokens = self.parse(text)
        for token in tokens:
            if token.type in ("heading_open", "heading_close"):
                token.tag = f"h{min(6, int(token.tag[1]) + BELOW)}"
            for inner in token.children or []:
                if inner.type == "link_open":
                    inner.attrSet("rel", "noopener noreferrer")
        return Markup(self.renderer.render(tokens, self.options, {}))


def _picture(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    """A picture in words."""
    one = tokens[index]
    return (
        f"<span class=picture>[picture: {html.escape(one.content)} {html.escape(str(one.attrs.get('src', '')))}]</span>"
    )


def board_page(story: Story, board: Board) -> str:
    """The page, in UTF-8."""
    reader = Reader()
    rows = [(depth, one) for depth, one in board.walk()]
    return _environment().get_template(TEMPLATE).render(
        board=board, run=story.name, headline=headline(story, board), advice=advice(story), rows=rows, marks=MARKS,
        titles={one.id: one.title for one in board.products}, refusals=refusals(board), waiting=waiting(board),
        flagged=[said for _, one in rows if one.status != "rejected" for said in flags(board, one.id)],
        flags=lambda one: flags(board, one.id), missing=lambda one: lacking(board, one), when=when,
        who=lambda one: name_of(board, one), said=lambda one: feedback_on(board, one.id),
        older=lambda one: [said for said in reversed(board.inspections) if said.product == one.id],
        text=lambda content: reader.page(replaced(content, lambda one: linked(board, one))),
        log=reader.page(change_log(board, 1)),
    )  # fmt: skip


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_harmless,
    )  # fmt: skip


def _harmless(value: Any) -> Any:
    """What is shown, with characters escaped that would hide or turn round what stands there (SAFETY P18)."""
    if isinstance(value, Markup):
        return Markup(plain(value))
    return plain(value) if isinstance(value, str) else value


def feedback_on(board: Board, product: str) -> list[Collab]:
    """All feedback on a product: what is left to do first, then the latest first."""
    found = [one for one in board.collabs if one.product == product]
    return sorted(found, key=lambda one: (0, -one.importance) if one.stands else (1, -int(one.id[1:])))


def linked(board: Board, cited: Citation) -> str:
    """A citation as a link to its place on the page, in Markdown."""
    words, place = _cited(board, cited)
    words = _MARKUP.sub(r"\\\1", " ".join(words.split()))
    return f"[{words}](#{place})" if place else words


def _cited(board: Board, cited: Citation) -> tuple[str, str]:
    """Words and place; no place for what is not on the board."""
    if cited.kind == "c" and (said := board.collab(cited.id)):
        return f"feedback {said.id} on {said.product}", said.id
    task = next((one for one in board.assignments if one.id == cited.id), None) if cited.kind == "a" else None
    if cited.kind == "a":
        return (f"assignment {task.id} of {task.product}", task.product) if task else _member(board, cited)
    one = next((one for one in board.products if one.id == cited.id), None)
    if one is None:
        return cited.text, ""
    number = cited.number
    return (f"{one.title}, version {number}", f"{one.id}-v{number}") if number else (one.title, one.id)


def _member(board: Board, cited: Citation) -> tuple[str, str]:
    known = any(one.id == cited.id for one in board.members)
    return (name_of(board, cited.id), f"member-{cited.id}") if known else (cited.text, "")
