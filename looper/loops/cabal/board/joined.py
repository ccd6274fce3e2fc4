"""The accepted products as one document, in tree order, with contents, links and the Change Log."""

import re
from collections.abc import Callable, Iterator, Mapping

from looper.loops.cabal.board.citations import Citation, replaced
from looper.loops.cabal.board.entities import Product
from looper.loops.cabal.board.table import Board

_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")
Show = Callable[[Citation], str]


def accepted(board: Board) -> list[tuple[int, Product]]:
    """Accepted products in tree order, each with the number of accepted products above it; no meta products."""
    found = {one.id for one in board.products if one.status == "accepted" and one.type != "orchestration"}
    return [(_depth(board, one, found), one) for _, one in board.walk() if one.id in found]


def _depth(board: Board, one: Product, found: set[str]) -> int:
    known, depth = {p.id: p for p in board.products}, 0
    while one.parent:
        one = known[one.parent]
        depth += one.id in found
    return depth


def bare(board: Board) -> str:
    """The contents alone, for artifacts that are no prose; citations as titles."""
    names = titles(board)
    parts = [replaced(_content(board, one), lambda said: _named(board, names, said)) for _, one in accepted(board)]
    return "\n\n".join(parts)


def joined(board: Board, title: str = "") -> str:
    """One Markdown document of what is accepted; `title`: the mission if empty."""
    draft, places = _assemble(board, title, {})
    return _assemble(board, title, _anchors(draft, places))[0]


def apart(board: Board, content: str, files: Mapping[str, str]) -> str:
    """A product's content by itself: citations as links to the `files` of other products, or as titles."""
    names = titles(board)

    def shown(said: Citation) -> str:
        file = files.get(_subject(board, said))
        return f"[{_escaped(_named(board, names, said))}]({file})" if file else _plain(board, names, said)

    return replaced(content, shown)


def change_log(board: Board, level: int = 2) -> str:
    """What the chair wrote into it, and an entry of code for every round; the heading at `level`."""
    latest = board.latest(board.log) if board.log else None
    said = (
        [replaced(_demoted(_harmless(latest.content), level), lambda one: _plain(board, titles(board), one))]
        if latest
        else []
    )
    rounds = [
        "\n".join([f"{'#' * (level + 1)} Round {entry.round}", "", *(f"- {_escaped(line)}" for line in entry.lines)])
        for entry in board.entries
    ]
    return "\n\n".join([f"{'#' * level} Change Log", *said, *rounds])


def titles(board: Board) -> dict[str, str]:
    """Titles of products by id."""
    return {one.id: one.title for one in board.products}


def _content(board: Board, one: Product) -> str:
    latest = board.latest(one.id)
    return latest.content if latest else ""


def _assemble(board: Board, title: str, anchors: dict[str, str]) -> tuple[str, dict[int, str]]:
    """The document, and by line number of a heading the product that it begins."""
    found, names = accepted(board), titles(board)
    lines = [f"# {_escaped(title or board.mission or 'Untitled')}", "", "## Contents", ""]
    lines += [f"{'  ' * depth}- {_link(one.title, anchors.get(one.id, ''))}" for depth, one in found]
    lines += [f"- {_link('Change Log', anchors.get(board.log, ''))}"]
    places: dict[int, str] = {}
    for depth, one in found:
        level = min(depth + 2, 6)
        places[len(lines) + 2] = one.id
        text = _demoted(_harmless(_untitled(_content(board, one), one.title)), level)
        shown = replaced(text, lambda said: _linked(board, names, anchors, said))
        lines += ["", f"{'#' * level} {_escaped(one.title)}", "", *shown.split("\n")]
    places[len(lines) + 2] = board.log
    lines += ["", *change_log(board).split("\n"), ""]
    return "\n".join(lines), places


def _anchors(draft: str, places: dict[int, str]) -> dict[str, str]:
    """By product the anchor of its heading, as Markdown viewers make it."""
    from looper.checks.reading.outline import Outline

    return {places[head.line]: head.anchor for head in Outline(draft).headings if head.line in places}


def _link(title: str, anchor: str) -> str:
    return f"[{_escaped(title)}](#{anchor or 'x'})"


def _linked(board: Board, names: dict[str, str], anchors: dict[str, str], said: Citation) -> str:
    """A citation as a link to the heading of what it means, where that is part of the document."""
    about = _subject(board, said)
    known = {one.id for _, one in accepted(board)} | {board.log}
    return _link(_named(board, names, said), anchors.get(about, "")) if about in known else _plain(board, names, said)


def _plain(board: Board, names: dict[str, str], said: Citation) -> str:
    return _escaped(_named(board, names, said))


def _subject(board: Board, said: Citation) -> str:
    """The product that a citation leads to, if any."""
    if said.kind in "pv":
        return said.id
    if said.kind == "c":
        collab = board.collab(said.id)
        return collab.product if collab else ""
    return next((one.product for one in board.assignments if one.id == said.id), "")


def _named(board: Board, names: dict[str, str], said: Citation) -> str:
    """A citation in words."""
    if said.kind == "a" and (who := board.member(said.id)):
        return who.name or who.id
    title = names.get(_subject(board, said), said.id)
    prefix = {"c": f"feedback {said.id} on ", "a": f"assignment {said.id} on "}.get(said.kind, "")
    return f"{prefix}{title}{f', version {said.number}' if said.number else ''}"


# A content within a larger document


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _untitled(content: str, title: str) -> str:
    """A content without its first heading where that only repeats the title."""
    first, _, rest = content.lstrip("\n").partition("\n")
    mark = _HEADING.match(first)
    repeats = mark and first[mark.end() :].strip(" \t#").casefold() == title.casefold()
    return rest.strip("\n") if repeats else content.strip("\n")


def _demoted(content: str, level: int) -> str:
    """A content whose headings are all below `level`."""
    lines = list(_marked(content))
    highest = min((depth for _, depth in lines if depth), default=0)
    shift = level + 1 - highest
    return "\n".join(_HEADING.sub(lambda m: m[1] + "#" * _within(len(m[2]) + shift), line) if depth else line
                     for line, depth in lines)  # fmt: skip


def _within(level: int) -> int:
    return max(1, min(6, level))


def _marked(content: str) -> Iterator[tuple[str, int]]:
    """Lines, each with the level of the heading that it is, 0 for none; nothing in a fenced block is one."""
    fence = ""
    for line in content.split("\n"):
        mark = _FENCE.match(line)
        heading = None if fence or mark else _HEADING.match(line)
        yield line, len(heading[2]) if heading else 0
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""


def _harmless(content: str) -> str:
    """A content that does not swallow what comes after it; what cannot be closed (HTML) is shown as code."""
    from looper.checks.reading.outline import Outline

    for tail in ("", "\n```", "\n~~~", "\n-->"):
        heads = Outline(f"{content}{tail}\n\n# End\n").headings
        if heads and heads[-1].title == "End" and heads[-1].line > content.count("\n") + 1:
            return content + tail
    ticks = max((len(run) for run in re.findall(r"`{3,}", content)), default=2) + 1
    return f"{'`' * ticks}text\n{content}\n{'`' * ticks}"
