"""What a check looks at: the artifact, fenced blocks of it, or a section of it."""

from dataclasses import dataclass
from typing import Any

from looper.checks.reading.loaders import LANGUAGES, is_language
from looper.checks.reading.outline import Fence, outline, same

ALIASES = {
    "yml": "yaml", "py": "python", "python3": "python", "py3": "python", "jsonc": "json", "dotenv": "env", "cfg": "ini",
    "md": "markdown",
}  # fmt: skip


class Missing(Exception):
    """The artifact has no such part; the text says so to whoever is to fix it."""


@dataclass(frozen=True)
class Piece:
    """A part of the artifact."""

    text: str
    line: int = 1
    """Line of the artifact at which it begins."""
    remark: str = ""
    """What to add to a problem in it: how it came to be looked at."""

    def at(self, line: int) -> int:
        """A line of the piece as a line of the artifact."""
        return self.line + max(line, 1) - 1


class Artifact:
    """The text of an artifact, with line ends unified and lone surrogates replaced: no parser takes them."""

    def __init__(self, text: str):
        clean = text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        self.text = clean.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    def pieces(self, check: Any) -> list[Piece]:
        """The part that a check asks for, at least one piece. Raises Missing."""
        part: str = check.part.strip()
        if not part or not self.text.strip():
            return [Piece(self.text)]
        return self.section(part) if part.startswith("#") else self.blocks(part)

    def section(self, part: str) -> list[Piece]:
        """What stands below a heading, up to the next of its level; a title may occur more than once."""
        found = outline(self.text)
        heads = found.headings
        pieces = []
        for place, head in enumerate(heads):
            if same(head.title) == same(part):
                after = (other.line for other in heads[place + 1 :] if other.level <= head.level)
                end = next(after, len(found.lines) + 1)
                pieces.append(Piece("\n".join(found.lines[head.line : end - 1]), head.line + 1))
        if not pieces:
            there = ", ".join(head.title for head in heads[:8]) or "none"
            raise Missing(f"there is no heading {part.lstrip('# ')!r}; the headings are: {there}")
        return pieces

    def blocks(self, part: str) -> list[Piece]:
        """Fenced blocks by language or by name; the whole if it is itself of that language."""
        language = language_of(part)
        if language and is_language(self.text, language):
            return [Piece(self.text)]
        fences = outline(self.text).fences
        chosen = [fence for fence in fences if fits(fence, part)]
        if chosen:
            return [Piece(fence.text, fence.line + 1) for fence in chosen]
        if not fences and language:
            return [Piece(self.text, remark=f"the artifact has no fenced block, so all of it was read as {language}")]
        there = ", ".join(sorted({f"{fence.language} {fence.name}".strip() or "unnamed" for fence in fences})) or "none"
        raise Missing(f"there is no fenced block {part!r}; the fenced blocks are: {there[:200]}")


def fits(fence: Fence, part: str) -> bool:
    language = ALIASES.get(fence.language, fence.language)
    return part in (fence.name, fence.language) or ALIASES.get(part.lower(), part.lower()) == language


def language_of(part: str) -> str:
    """The language that a part's name stands for, empty if none is known."""
    word = part.rpartition(".")[2].lower()
    word = ALIASES.get(word, word)
    return word if word in LANGUAGES else ""
