"""Kind `markdown`: headings in order, links that lead somewhere, code blocks that can be read, cross references."""

import doctest
import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from looper.checks.kinds import Markdown
from looper.checks.reading.document import Found, Problems
from looper.checks.reading.loaders import LANGUAGES, load
from looper.checks.reading.outline import NAME, Fence, Outline, outline, same
from looper.checks.reading.parts import ALIASES, Artifact, Piece
from looper.checks.reading.unreadable import Unreadable

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_ANCHOR = re.compile(r"<[a-zA-Z][^<>]{0,300}?\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)|\{#([\w\-]+)\}")
_REFERENCE = re.compile(r"\[[^\[\]]{1,200}\]\[([^\[\]]{1,200})\]")
_CODE = re.compile(r"`+[^`]+`+")
_SEE = re.compile(
    r"\b(?:see|read|in|refer to)\s+(?:the\s+)?(?:section|chapter)\s+(?:[\"\u201c'*_]+([^\"\u201d'*_\n]{2,80})"
    r"[\"\u201d'*_]+|(\d+(?:\.\d+)*))",
    re.IGNORECASE,
)


def read(check: Markdown, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    problems: Problems = []
    for piece in pieces:
        found = outline(piece.text)
        for facet in dict.fromkeys(check.facets):
            problems += [(piece.at(line) if line else 0, text) for line, text in FACETS[facet](check, found)]
    return problems, NAME, None


def headings(check: Markdown, found: Outline) -> Problems:
    """One title, no level left out, no empty or repeated title among sisters."""
    heads = found.headings
    if not heads:
        return [(0, "the document has no heading")]
    tops = [head for head in heads if head.level == 1]
    problems: Problems = [(head.line, "more than one heading of level 1") for head in tops[1:]]
    if not tops:
        problems.append((heads[0].line, "no heading of level 1"))
    path: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for before, head in zip([None, *heads], heads, strict=False):
        if before and head.level > before.level + 1:
            problems.append((head.line, f"heading {head.title!r} jumps from level {before.level} to {head.level}"))
        if not head.title:
            problems.append((head.line, "a heading without text"))
        path = [*path[: head.level - 1], same(head.title)]
        if tuple(path) in seen:
            problems.append((head.line, f"heading {head.title!r} is there twice in one section"))
        seen.add(tuple(path))
    return problems


def links(check: Markdown, found: Outline) -> Problems:
    """Anchors, relative paths and link references that lead nowhere."""
    anchors = anchors_of(found)
    files = {name.removeprefix("./") for name in check.files} | {fence.name for fence in found.fences if fence.name}
    problems: Problems = []
    for link in found.links:
        why = broken(unquote(link.target), anchors, files)
        if why:
            problems.append((link.line, f"the link {link.target[:80]!r} {why}"))
        elif not link.text.strip():
            problems.append((link.line, f"the link to {link.target[:80]!r} has no text"))
    return problems + undefined(found)


def anchors_of(found: Outline) -> set[str]:
    made = {head.anchor for head in found.headings}
    for token in found.tokens:
        if token.type in ("html_block", "inline"):
            made.update(one or two for one, two in _ANCHOR.findall(token.content))
    return made


def broken(target: str, anchors: set[str], files: set[str]) -> str:
    """What is wrong with a target, empty if nothing is or nobody here can know."""
    if not target or target == "#":
        return "is empty"
    if target.startswith("#"):
        return "" if target[1:] in anchors else "leads to no heading or anchor of this document"
    if target.startswith(("http://", "https://")):
        return "" if re.match(r"https?://[\w.\-\[\]:@]+", target) else "has no host"
    if target.startswith(("//", "mailto:")):
        return ""
    if _SCHEME.match(target) or target.startswith("/"):
        return "leads to a place of one machine; use a relative path or a web address"
    path = target.partition("#")[0].partition("?")[0].removeprefix("./")
    return "" if path in files else "leads to a file that nobody has named"


def undefined(found: Outline) -> Problems:
    """`[text][label]` without a definition, which Markdown shows as it is."""
    problems: Problems = []
    known = {label.casefold() for label in found.references}
    for block in found.texts():
        if "][" in block.content:
            for line, text in enumerate(_CODE.sub("", block.content).split("\n"), (block.map or [0])[0] + 1):
                for label in _REFERENCE.findall(text):
                    if " ".join(label.split()).casefold() not in known:
                        problems.append((line, f"the link label [{label[:60]}] is not defined"))
    return problems


def fences(check: Markdown, found: Outline) -> Problems:
    """Each block is closed, names its language, and can be read where the language is known."""
    problems: Problems = []
    for fence in found.fences:
        if not fence.closed:
            problems.append((fence.line, "the code block is never closed"))
        elif not fence.language:
            problems.append((fence.line, "the code block does not name its language"))
        else:
            problems += unreadable(fence)
    return problems


def unreadable(fence: Fence) -> Problems:
    language = ALIASES.get(fence.language, fence.language)
    if fence.language == "jsonc" or language not in LANGUAGES or not fence.text.strip():
        return [] if fence.text.strip() else [(fence.line, "the code block is empty")]
    try:
        if language == "python" and fence.text.lstrip().startswith(">>>"):
            for example in doctest.DocTestParser().get_examples(fence.text):
                load(example.source, language)
        else:
            load(fence.text, language)
    except Unreadable as error:
        return [(fence.line + (error.line or 0), str(error))]
    except ValueError as error:  # doctest: prompts that do not line up
        return [(fence.line, f"no valid Python session: {error}")]
    return []


def cross_references(check: Markdown, found: Outline) -> Problems:
    """Sections are linked, and a section that is spoken of exists."""
    problems: Problems = []
    titles = {same(head.title) for head in found.headings}
    numbers = {word for head in found.headings for word in re.findall(r"^\d+(?:\.\d+)*", head.title)}
    for block in found.texts():
        for title, number in _SEE.findall(block.content):
            if (title and same(title) not in titles) or (number and number not in numbers):
                line = (block.map or [0])[0] + 1
                problems.append((line, f"the text speaks of section {title or number!r}, which is not there"))
    anchors = anchors_of(found)
    inner = [link for link in found.links if link.target.startswith("#")]
    problems += [(link.line, f"the link {link.target[:80]!r} leads nowhere") for link in inner
                 if unquote(link.target[1:]) not in anchors]  # fmt: skip
    if len(inner) < check.min_links:
        problems.append((0, f"sections are linked {len(inner)} times and should be at least {check.min_links} times"))
    return problems


FACETS: dict[str, Callable[[Markdown, Outline], Problems]] = {
    "headings": headings,
    "links": links,
    "fences": fences,
    "cross_references": cross_references,
}
