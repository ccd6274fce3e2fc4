"""Kind `config`: what a configuration file should say about itself besides being readable."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from looper.checks.kinds import Config
from looper.checks.reading.document import Found, Problems, documents
from looper.checks.reading.parse import TOOLS, unreadable
from looper.checks.reading.parts import Artifact, Piece

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)((?::?[-?+=])[^}\n]*)?\}|(?<![\w$\\])\$([A-Z][A-Z0-9_]+)\b")
_OWN_PLACE = re.compile(
    r"(?<![\w/.~$}])(?:/home/(?!\$)[\w.\-]+|/Users/[\w.\-]+|/root/[\w.\-]+|~/[\w.\-]+)|(?<![\w])[A-Za-z]:\\\\?[\w]"
)
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_ANY = {"0.0.0.0", "255.255.255.255"}
_WIDE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"^\s*[\"']?privileged[\"']?\s*[:=]\s*[\"']?true", "runs with all privileges"),
        (r"^\s*[\"']?(?:run_?as_?user|uid)[\"']?\s*[:=]\s*[\"']?0\b", "runs as root"),
        (r"^\s*[\"']?user[\"']?\s*[:=]\s*[\"']?(?:root|0)(?:[:\"'\s,]|$)", "runs as root"),
        (r"^\s*[\"']?allow_?privilege_?escalation[\"']?\s*[:=]\s*[\"']?true", "lets programs gain privileges"),
        (r"^\s*[\"']?(?:network_mode|pid|ipc)[\"']?\s*[:=]\s*[\"']?host\b", "shares a namespace of the host"),
        (r"^\s*[\"']?host_?(?:network|pid|ipc)[\"']?\s*[:=]\s*[\"']?true", "shares a namespace of the host"),
        (r"/var/run/docker\.sock", "hands over the container engine"),
        (r"(?:mode|perm\w*|chmod|umask)[\"']?\s*[:= ]\s*[\"']?(?:0o?|-R )?[0-7]?(?:777|666)\b", "is open to all users"),
        (r"^\s*[\"']?umask[\"']?\s*[:=]\s*[\"']?0+[\"']?\s*$", "is open to all users"),
        (r"[\"']?(?:allow|action|resource|principal|origins?|verbs)\w*[\"']?\s*[:=]\s*(?:\[\s*)?[\"']\*[\"']",
         "allows everything (`*`)"),
        (r"\bcap_add\b.*\b(?:ALL|SYS_ADMIN)\b|^\s*-\s*[\"']?(?:ALL|SYS_ADMIN)[\"']?\s*$",
         "adds a dangerous capability"),
    )
)  # fmt: skip


def read(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    problems: Problems = []
    for facet in dict.fromkeys(check.facets):
        problems += FACETS[facet](check, artifact, pieces)
    return problems, f"{TOOLS[check.language]} and looper's configuration rules", None


def syntax(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    return unreadable(pieces, check.language)


def required(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    """Each key is there, in one of the pieces, with a value."""
    read_ones, problems = documents(pieces, check.language, stream=True)
    for path in check.required:
        found = [value for document in read_ones for value in reached(document.value, path.split("."))]
        if not found:
            problems.append((0, f"the key {path} is missing"))
        elif all(value is None or value == "" for value in found):
            problems.append((0, f"the key {path} has no value"))
    return problems if check.required else [*problems, (0, "the check names no required key")]


def reached(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Values at a path; `*` and numbers go into lists; a key may itself have dots in it."""
    if not path:
        yield value
    elif isinstance(value, dict):
        for length in range(1, len(path) + 1):
            key = ".".join(path[:length])
            if key in value:
                yield from reached(value[key], path[length:])
        if path[0] == "*":
            for inner in value.values():
                yield from reached(inner, path[1:])
    elif isinstance(value, list):
        rest, wanted = (path[1:], value) if path[0] == "*" else (path, value)
        if path[0].isdigit():
            rest, wanted = path[1:], value[int(path[0]) : int(path[0]) + 1] if len(path[0]) < 9 else []
        for inner in wanted:
            yield from reached(inner, rest)


def variables(pieces: Sequence[Piece]) -> Iterator[tuple[int, str, str, str]]:
    """Line, name, default clause and text of each use of an environment variable outside comments."""
    for piece in pieces:
        for number, line in enumerate(piece.text.split("\n"), 1):
            for match in _VARIABLE.finditer(uncommented(line)):
                yield piece.at(number), match[1] or match[3], match[2] or "", line


def uncommented(line: str) -> str:
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0]


def env_vars(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    """Each variable is explained in a comment or in the text around the file; a file of variables comments each."""
    comments = [line.partition("#")[2] for piece in pieces for line in piece.text.split("\n") if "#" in line]
    outside = artifact.text
    for piece in pieces:
        outside = outside.replace(piece.text, "")
    told = "\n".join([*comments, outside])
    words = set(re.findall(r"[A-Za-z_]\w*", told))
    first: dict[str, tuple[int, str]] = {}
    for line, name, _, text in variables(pieces):
        first.setdefault(name, (line, text))
    problems: Problems = []
    for name, (line, text) in first.items():
        if name not in words and not text.partition(" #")[2].strip():
            problems.append((line, f"the variable {name} is explained nowhere"))
    if check.language == "env":
        problems += uncommented_keys(check, pieces, 1.0)
    return sorted(problems)


def permissions(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    problems: Problems = []
    for piece in pieces:
        for number, line in enumerate(piece.text.split("\n"), 1):
            text = uncommented(line[:2000])
            problems += [(piece.at(number), f"{line.strip()[:60]!r} {why}") for pattern, why in _WIDE
                         if pattern.search(text)][:1]  # fmt: skip
    return problems


def defaults(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    """Each variable has a default or is marked as required; no key is left without a value."""
    problems: Problems = []
    for line, name, clause, text in variables(pieces):
        if not clause and not re.search(r"#.*\b(?:required|must be set|mandatory)\b", text, re.IGNORECASE):
            problems.append(
                (line, f"the variable {name} has no default (`${{{name}:-value}}`) and is not marked required")
            )
    found, unread = documents(pieces, check.language, stream=True)
    problems += unread
    for document in found:
        problems += [(document.line(path), f"the key {'.'.join(path)} has no value") for path in empty(document.value)]
    return problems


def empty(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from empty(inner, (*path, str(key)))
    elif value is None and path:
        yield path


def comments(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    if check.language == "json":
        return [(0, "JSON has no comments; use YAML or TOML, or drop this facet")]
    return uncommented_keys(check, pieces, check.min_comments)


def uncommented_keys(check: Config, pieces: Sequence[Piece], share: float) -> Problems:
    """Top-level keys without a comment beside, above or inside, if they are too many."""
    bare: Problems = []
    total = 0
    for piece in pieces:
        keys = top_keys(check, piece)
        lines = piece.text.split("\n")
        total += len(keys)
        for place, (number, key) in enumerate(keys):
            end = keys[place + 1][0] if place + 1 < len(keys) else len(lines) + 1
            block = lines[number - 1 : end - 1]
            while block and (not block[-1].strip() or block[-1].lstrip().startswith(("#", ";"))):
                block.pop()  # what stands before the next key belongs to that
            above = number > 1 and lines[number - 2].lstrip().startswith(("#", ";"))
            if not above and not any(re.search(r"(?:^|\s)[#;]\s*\S", line) for line in block):
                bare.append((piece.at(number), f"the key {key} has no comment"))
    return bare if total and (total - len(bare)) / total < share - 1e-9 else []


def top_keys(check: Config, piece: Piece) -> list[tuple[int, str]]:
    """Line within the piece and name of each key or table at the top."""
    pattern = {"yaml": r"^([^\s#\-][^:#]*):(?:\s|$)", "env": r"^(?:export\s+)?([A-Za-z_]\w*)="}.get(
        check.language, r"^\[*([\w.\-\"']+)\]*\s*(?:=|$)"
    )
    found = [(number, re.match(pattern, line)) for number, line in enumerate(piece.text.split("\n"), 1)]
    keys = [(number, match[1]) for number, match in found if match]
    tables = [(number, match[1]) for number, match in found if match and match[0].startswith("[")]
    return tables if check.language in ("toml", "ini") and tables else keys


def portability(check: Config, artifact: Artifact, pieces: Sequence[Piece]) -> Problems:
    """No path of one person's machine, no address of one network."""
    problems: Problems = []
    for piece in pieces:
        for number, line in enumerate(piece.text.split("\n"), 1):
            text = uncommented(line[:2000])
            for match in [*_OWN_PLACE.finditer(text), *_ADDRESS.finditer(text)]:
                if match[0] not in _ANY and not match[0].startswith("127.") and not in_default(text, match.start()):
                    problems.append((piece.at(number), f"{match[0][:60]!r} belongs to one machine; use a variable"))
    return problems


def in_default(text: str, at: int) -> bool:
    """Whether a place is inside `${NAME:-...}`, where it can be changed."""
    return any(match.start() < at < match.end() for match in _VARIABLE.finditer(text))


FACETS: dict[str, Callable[[Config, Artifact, Sequence[Piece]], Problems]] = {
    "syntax": syntax,
    "required": required,
    "env_vars": env_vars,
    "permissions": permissions,
    "defaults": defaults,
    "comments": comments,
    "portability": portability,
}
