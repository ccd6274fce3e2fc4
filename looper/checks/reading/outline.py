"""The build of a Markdown document: headings, fences, links, as markdown-it-py (CommonMark and tables) sees them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

NAME = f"markdown-it-py {version('markdown-it-py')}"
_NUMBERED = re.compile(r"^(?:\d+[.)]|\d+(?:\.\d+)+\.?|[A-Z][.)])\s+")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Heading:
    level: int
    title: str
    line: int
    """Of the artifact, from 1."""
    anchor: str
    """As GitHub makes it."""


@dataclass(frozen=True)
class Fence:
    """A fenced code block."""

    language: str
    """First word behind the fence, lower case."""
    name: str
    """Second word: a file name; else empty."""
    text: str
    line: int
    """Of the fence itself."""
    end: int
    """First line behind it."""
    closed: bool


@dataclass(frozen=True)
class Link:
    target: str
    text: str
    line: int


class Outline:
    """A document, parsed block by block at once and inline only where asked."""

    def __init__(self, text: str):
        self.lines = text.split("\n")
        self._markdown = MarkdownIt("commonmark").enable("table").disable("inline")
        self._env: dict[str, Any] = {}
        self.tokens = self._markdown.parse(text, self._env)
        self._inline = MarkdownIt("commonmark")

    @property
    def references(self) -> set[str]:
        """Labels that link definitions give a target."""
        return set(self._env.get("references", {}))

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        found: list[Heading] = []
        used: dict[str, int] = {}
        for place, token in enumerate(self.tokens):
            if token.type == "heading_open" and token.level == 0 and token.map:
                title = self.plain(self.tokens[place + 1].content)
                anchor = _NOT_IN_ANCHOR.sub("", title.lower()).replace(" ", "-")
                count = used[anchor] = used.get(anchor, -1) + 1
                unique = f"{anchor}-{count}" if count else anchor
                found.append(Heading(int(token.tag[1]), title, token.map[0] + 1, unique))
        return tuple(found)

    @cached_property
    def fences(self) -> tuple[Fence, ...]:
        return tuple(self._fence(token) for token in self.tokens if token.type == "fence" and token.map)

    def _fence(self, token: Token) -> Fence:
        start, end = token.map or (0, 0)
        words = token.info.strip().split()
        last = self.lines[end - 1].strip(" >\t") if end - 1 < len(self.lines) else ""
        closed = end - 1 > start and last.startswith(token.markup) and not last.strip(token.markup[0])
        name = words[1] if len(words) > 1 else ""
        name = name.partition("=")[2].strip("\"'") if "=" in name else name
        return Fence(words[0].lower() if words else "", name, token.content, start + 1, end + 1, closed)

    def plain(self, content: str) -> str:
        """The text of a line of Markdown without its marks."""
        parts = [child.content for token in self._parsed(content) for child in token.children or []]
        return " ".join("".join(parts).split())

    def _parsed(self, content: str) -> list[Token]:
        return self._inline.parseInline(content, {"references": self._env.get("references", {})})

    def texts(self) -> Iterator[Token]:
        """Blocks of running text: paragraphs, headings, cells."""
        return (token for token in self.tokens if token.type == "inline" and token.map)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Links and images, in order."""
        found: list[Link] = []
        for block in self.texts():
            if "](" in block.content or "<" in block.content or ("[" in block.content and self.references):
                for token in self._parsed(block.content):
                    found += _links(token, (block.map or [0])[0] + 1)
        return tuple(found)


def _links(token: Token, line: int) -> Iterator[Link]:
    children = token.children or []
    for place, child in enumerate(children):
        if child.type in ("softbreak", "hardbreak"):
            line += 1
        elif child.type == "link_open":
            inner = "".join(one.content for one in _until(children[place + 1 :], "link_close"))
            yield Link(str(child.attrs.get("href", "")), inner, line)
        elif child.type == "image":
            yield Link(str(child.attrs.get("src", "")), child.content, line)


def _until(tokens: list[Token], kind: str) -> Iterator[Token]:
    for token in tokens:
        if token.type == kind:
            return
        yield token


def same(title: str) -> str:
    """A title as it is compared: without number, case, marks at the ends."""
    title = " ".join(title.strip().lstrip("#").split())
    return _NUMBERED.sub("", title).strip(" :.*_`").casefold()


@lru_cache(maxsize=2)
def outline(text: str) -> Outline:
    return Outline(text)
