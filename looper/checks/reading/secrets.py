"""Kind `secrets`: nothing in clear text that would have to be kept. What is found is never repeated in a finding."""

import re
from collections.abc import Iterator, Sequence

from looper.checks.kinds import Secrets
from looper.checks.reading.document import Found
from looper.checks.reading.parts import Artifact, Piece
from looper.checks.reading.placeholders import REFERENCE, placeholder
from looper.redact import Redactor

NAME = "looper's secret patterns"
LONGEST = 2000
"""Characters of a line that are looked at; data in one line is no configuration."""
_NAMED = re.compile(
    r"""(?ix) (?P<name> [\w.\-]{0,60}? (?: pass(?:word|wd|phrase)? | secret | token | api[_\-]?key | access[_\-]?key
    (?:[_\-]?id)? | private[_\-]?key | client[_\-]?secret | credentials? | signing[_\-]?key | encryption[_\-]?key
    | auth[_\-]?key | secret[_\-]?key ) ) ["']? \s* (?P<sign> [:=]=? ) \s* 
    (?P<value> "[^"\n]*" | '[^'\n]*' | [^\s,;\#"']+ )
    (?P<rest> [^\n]* )""",
)
_HINT = re.compile(r"pass|secret|token|[a-z][_\-]?key|credential", re.IGNORECASE)
"""One of these words is in every name that `_NAMED` finds; it is much faster."""
_LINE_START = re.compile(r"^\s*(?:[-*]\s+)?(?:export\s+|ENV\s+|ARG\s+|set\s+)?[\"']?$", re.IGNORECASE)
_EXPRESSION = re.compile(r"[()\[\]{}]|^[A-Za-z_][\w]*\.[A-Za-z_]")
_SHAPES = Redactor({})
_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
SHORTEST = 3
_URL = re.compile(r"[a-z][a-z0-9+.\-]*://[^/\s:@\"']{0,200}:(?P<value>[^/\s@\"']{1,500})@", re.IGNORECASE)


def read(check: Secrets, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    problems = [(piece.at(line), text) for piece in pieces for line, text in secrets(piece.text)]
    return problems, NAME, None


def secrets(text: str) -> Iterator[tuple[int, str]]:
    """Line and kind of each secret."""
    shaped = _SHAPES.redact(text) != text
    for number, line in enumerate(text.split("\n"), 1):
        found = in_line(line[:LONGEST], shaped)
        if found:
            yield number, f"{found}; put a reference to the environment in its place"


def in_line(line: str, shaped: bool) -> str:
    """What the line gives away, empty if nothing; `shaped`: whether anything in the text looks like a key."""
    if _HEADER.search(line):
        return "a private key in clear text"
    url = _URL.search(line) if "://" in line else None
    if url and not placeholder(url["value"]):
        return "a password inside an address"
    bare = REFERENCE.sub("", line) if shaped and url is None else ""
    if _SHAPES.redact(bare) != bare:
        return "a key or token in clear text"
    for match in _NAMED.finditer(line) if _HINT.search(line) else ():
        if gives_away(match, line):
            return f"a value for {match['name']!r} in clear text"
    return ""


def gives_away(match: re.Match[str], line: str) -> bool:
    """Whether `name: value` sets a literal. Unquoted ones count where a line of configuration begins only: in prose and
    in programs a word behind a colon or an equals sign is no literal."""
    value = match["value"]
    if value[:1] in ("'", '"'):
        return len(value) - 2 >= SHORTEST and not placeholder(value)
    starts = _LINE_START.match(line[: match.start()]) is not None
    rest = match["rest"].strip()
    if not starts or (rest and not rest.startswith("#")) or _EXPRESSION.search(value):
        return False
    if match["sign"] == "=" and re.search(r"\s=\s", line) and re.fullmatch(r"[A-Za-z_]\w*", value) and value.islower():
        return False  # `token = other_name` of a program
    return len(value) >= SHORTEST and not placeholder(value)
