"""How the checks of the launch brief read it: headings, sections, tables, days.

A document that a team has joined ends in a Change Log and begins with a list of contents; neither is read.
"""

import datetime
import re
from pathlib import Path
from typing import NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
YEAR = 2026
DAY = rf"(\d{{1,2}})(?:st|nd|rd|th)?(?: of)?\s+({'|'.join(MONTHS)})\b"
"""A day as the task wants it: `3 May 2026` or `3 May`."""
HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
WORD = re.compile(r"[^\W_]+(?:['\u2019\-.,][^\W_]+)*")


class Heading(NamedTuple):
    level: int
    title: str
    line: int
    """From 0."""


class Brief:
    """A brief up to its Change Log."""

    def __init__(self, text: str):
        self.whole = headings(text.split("\n"))
        log = next((head.line for head in self.whole if head.level <= 2 and same(head.title) == "change log"), None)
        self.lines = text.split("\n")[:log]
        self.text = "\n".join(self.lines)
        self.headings = [head for head in self.whole if log is None or head.line < log]

    def section(self, title: str) -> str:
        """What stands below a heading, those below it included; the longest if there are several, empty if none."""
        parts = [self.below(head) for head in self.headings if same(head.title) == same(title)]
        return max(parts, key=len, default="")

    def below(self, head: Heading) -> str:
        ends = (other.line for other in self.headings if other.line > head.line and other.level <= head.level)
        return "\n".join(self.lines[head.line + 1 : next(ends, len(self.lines))])

    def without(self, title: str) -> str:
        """The text without one of its sections."""
        part = self.section(title)
        return self.text.replace(part, "", 1) if part else self.text


def read(name: str = "artifact.md") -> Brief:
    return Brief(Path(name).read_text(encoding="utf-8"))


def headings(lines: list[str]) -> list[Heading]:
    """Those that stand outside code blocks."""
    found, fence = [], ""
    for number, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and (head := HEADING.match(line)):
            found.append(Heading(len(head[1]), plain(head[2] or ""), number))
    return found


def plain(text: str) -> str:
    """A line without its marks."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?<!\\)[*`]+|(?<![\w\\])_+|_+(?!\w)", "", text)
    return " ".join(re.sub(r"\\(?=[^\w\s])", "", text).split())


def same(title: str) -> str:
    """A title as it is compared."""
    return re.sub(r"^\d+(?:\.\d+)*[.)]?\s+", "", plain(title)).strip(" :.").casefold()


def words(text: str) -> int:
    """Words of running text; headings do not count."""
    return len(WORD.findall(plain("\n".join(line for line in text.split("\n") if not HEADING.match(line)))))


def rows(section: str, *columns: str) -> list[dict[str, str]]:
    """The rows of the first table that has these columns, by column; empty if there is no such table."""
    lines = [cells(line) for line in section.split("\n")]
    for number, header in enumerate(lines[:-1]):
        places = {
            wanted: next((place for place, name in enumerate(header) if same(name).startswith(wanted)), -1)
            for wanted in columns
        }
        if min(places.values()) < 0 or not re.fullmatch(r"[:\- ]+", "".join(lines[number + 1]) or "x"):
            continue
        found = []
        for line in lines[number + 2 :]:
            if not line:
                break
            found.append({name: line[place] if place < len(line) else "" for name, place in places.items()})
        return found
    return []


def cells(line: str) -> list[str]:
    """The cells of a line of a table, empty for another line."""
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [plain(cell) for cell in re.split(r"(?<!\\)\|", line.removeprefix("|").removesuffix("|"))]


def days(text: str) -> list[tuple[datetime.date, int]]:
    """Days and where they stand; one that no calendar has is left out."""
    found = []
    for match in re.finditer(rf"\b{DAY}(?:,?\s+(\d{{4}}))?", text):
        try:
            day = datetime.date(int(match[3] or YEAR), MONTHS.index(match[2]) + 1, int(match[1]))
        except ValueError:
            continue
        found.append((day, match.start()))
    return found


def told(day: datetime.date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"


def note(problems: list[str]) -> tuple[bool, str]:
    """What `verdict` takes."""
    return not problems, "; ".join(list(dict.fromkeys(problems))[:5])
