"""The files that a coder is shown, the most relevant ones first, within a limit."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from looper.tasks.project.desk.excerpt import excerpt
from looper.tasks.project.desk.imports import imported, modules
from looper.tasks.project.desk.ranking import bag, parts, ranked
from looper.tasks.project.desk.repo_map import CHARACTERS_PER_TOKEN
from looper.tasks.search.words import STOP

SHARE = 3
"""A file may take this part of the limit; a longer one is shown as an excerpt."""
SMALLEST = 400
"""Characters of room below which nothing more is shown."""
NAMED = re.compile(r"[\w./-]*\w")
"""What may be a path or a dotted module in a text."""
PLACE = re.compile(r"(?P<path>.+?)(?:::.*|:(?P<line>\d+)(?:\D.*)?)?", re.DOTALL)


def relevant(
    texts: Mapping[str, str],
    words: str,
    mentioned: Sequence[str],
    asked: Sequence[str],
    tokens: int,
    changed: Collection[str] = (),
) -> dict[str, str]:
    """Texts to show by path, the most relevant first, within `tokens` for texts and paths.

    First the files that were `asked` for, then those `mentioned` in failures (`path`, `path:line`, `path::test`) and in
    the `words` of the task (path or module), then the `changed` ones, then what all these import, then the files that
    hold the words. A file longer than a third of the limit is an excerpt around the lines that were mentioned or that
    hold the words, and says so; a file without room is left out, unless it was asked for or mentioned.
    """
    lines = _lines(texts, mentioned)
    wishes = [path.removeprefix("./") for path in asked]
    named = [path for path in dict.fromkeys([*wishes, *lines, *_named(texts, words)]) if path in texts]
    left = tokens * CHARACTERS_PER_TOKEN
    share = left // SHARE
    shown: dict[str, str] = {}
    for path in _order(texts, words, named, changed):
        room = min(share, left - len(path)) if path in named else share
        text = texts[path]
        if not text.strip() and path not in named:
            continue
        if len(text) > room:
            text = excerpt(text, lines.get(path) or _hits(text, words), room)
        if len(path) + len(text) <= left:
            shown[path] = text
            left -= len(path) + len(text)
        if left < SMALLEST:
            break
    return shown


def _order(texts: Mapping[str, str], words: str, named: Sequence[str], changed: Collection[str]) -> Iterator[str]:
    first = list(dict.fromkeys([*named, *(path for path in sorted(changed) if path in texts)]))
    yield from first
    known = modules(texts)
    second = dict.fromkeys(target for path in first for target in imported(path, texts[path], known))
    yield from (path for path in second if path not in first)
    yield from (path for path, _ in ranked(texts, words) if path not in second and path not in first)


def _lines(texts: Mapping[str, str], mentioned: Sequence[str]) -> dict[str, list[int]]:
    """Line numbers by path, in the order in which they were mentioned."""
    found: dict[str, list[int]] = {}
    for place in mentioned:
        match = PLACE.fullmatch(place.strip())
        path = match["path"].removeprefix("./") if match else ""
        if match and path in texts:
            found.setdefault(path, []).extend([int(match["line"])] if match["line"] else [])
    return found


def _named(texts: Mapping[str, str], words: str) -> list[str]:
    """Files that a text names: by path, by a file name that only one has, or by dotted module."""
    known = modules(texts)
    ends: dict[str, list[str]] = {}
    for path in texts:
        ends.setdefault(path.rpartition("/")[2], []).append(path)
    found = []
    for word in NAMED.findall(words):
        word = word.removeprefix("./")
        if word in texts:
            found.append(word)
        elif len(ends.get(word, ())) == 1 and "." in word:
            found += ends[word]
        elif "." in word and "/" not in word:
            found += [known[name] for name in (word, word.rpartition(".")[0]) if name in known][:1]
    return list(dict.fromkeys(found))


def _hits(text: str, words: str) -> list[int]:
    """The lines that hold the most of the words, the best first."""
    wanted = {word for word in parts(words) if word not in STOP and word in bag(text)}
    if not wanted:
        return []
    scores = [(len(wanted.intersection(parts(line))), -number) for number, line in enumerate(text.split("\n"), 1)]
    return [-number for score, number in sorted(scores, reverse=True)[:3] if score]
