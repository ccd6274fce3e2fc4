"""Files by how well they fit some words: BM25 over the words that identifiers consist of."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from looper.tasks.search.words import STOP

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
"""A word within an identifier: HTTPServer, http_server and httpServer hold the same two."""
SATURATION, LENGTH = 1.2, 0.75
"""k1 and b of BM25 as usual (Robertson and Zaragoza 2009)."""
IN_PATH = 5
"""How often a word counts that stands in a file's path."""


def ranked(texts: Mapping[str, str], words: str) -> list[tuple[str, float]]:
    """Paths of the files that hold any of the words, the best first, with their BM25 scores; ties by path."""
    wanted = [word for word in dict.fromkeys(parts(words)) if word not in STOP]
    bags = {path: bag(text) + Counter(dict.fromkeys(parts(path), IN_PATH)) for path, text in texts.items()}
    sizes = {path: held.total() for path, held in bags.items()}
    mean = sum(sizes.values()) / max(len(sizes), 1) or 1.0
    scores: dict[str, float] = {}
    for word in wanted:
        holders = {path: held[word] for path, held in bags.items() if word in held}
        rarity = math.log(1 + (len(bags) - len(holders) + 0.5) / (len(holders) + 0.5))
        for path, times in holders.items():
            damped = times + SATURATION * (1 - LENGTH + LENGTH * sizes[path] / mean)
            scores[path] = scores.get(path, 0.0) + rarity * times * (SATURATION + 1) / damped
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def parts(text: str) -> list[str]:
    """The words of a text and of its identifiers, in lower case and the singular."""
    return [word for found in PART.findall(text) if len(word := _singular(found.lower())) > 1]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=12_000)
def bag(text: str) -> Counter[str]:
    """How often each word occurs in a text. To be read only: it is kept."""
    return Counter(parts(text))
