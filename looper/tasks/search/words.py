"""Words of people: which of them carry a need, and how identifiers fall into words."""

import re

STOP_WORDS = """
a about above after again all also am an and any anything are as at be because been before being below between both
but by can cannot could did do does doing don't each else etc even every everything few for from further get gets
getting give given gives go goes got had has have having he her here hers him his how i i'd i'm i've if in into is
isn't it its itself just kind know let let's like look looking lot make makes making many may me might more most much
must my need needed needs no nor not of off on once one only onto or other our out over own per please same shall she
should show so some somehow someone something such than that that's the their them then there these they thing things
this those through to too under until up upon us use used useful uses using very via want wanted wants was way ways we
well were what what's when where whether which while who whole whose why will with within without would yet you your
"""
STOP = frozenset(STOP_WORDS.split())
"""Words that say nothing of what is looked for, in needs such as "find a way to keep the n largest of a stream"."""
ASKING = frozenset({"find", "library", "libraries", "python", "module", "modules", "package", "packages"})
"""Words of the asking itself: stop words at the beginning of a need, content elsewhere."""
WORD = re.compile(r"\w+(?:['\u2019]\w+)?")
HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def content(text: str) -> list[str]:
    """The content words of a text: lower case, in order, without doublets; identifiers stay whole.

    Where every word is a stop word, they are all content: a need is never empty because of its words.
    """
    spoken = [match.group().replace("\u2019", "'").lower().removesuffix("'s") for match in WORD.finditer(text)]
    found = list(dict.fromkeys(word.strip("_") for word in spoken if word.strip("_")))
    asked = [word for place, word in enumerate(found) if not (place < 3 and word in ASKING)]
    kept = [word for word in asked if word not in STOP and len(word) > 1]
    return kept or [word for word in found if word not in STOP] or found


def parts(text: str) -> list[str]:
    """What identifiers in camel case consist of: ServerSocket, Server, Socket; snake case falls apart by itself."""
    return [hump for word in camels(text) for hump in HUMP.findall(word) if len(hump) > 1]


def camels(text: str) -> list[str]:
    found = re.findall(r"[^\W_]+", text)
    return [word for word in found if not word.islower() and not word.isupper() and len(HUMP.findall(word)) > 1]


def identifiers(text: str) -> set[str]:
    """Identifiers in camel case, in lower case as the index has them."""
    return {word.lower() for word in camels(text)}


def searchable(text: str) -> str:
    """The text with the parts of its identifiers after it, free of what SQLite cannot hold."""
    return clean(" ".join([text, *parts(text)]))


def clean(text: str) -> str:
    """Without NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def excerpt(text: str, longest: int) -> str:
    """The first paragraph in one line, cut between words at `longest` characters."""
    line = " ".join(text.strip().split("\n\n")[0].split())
    if len(line) <= longest:
        return line
    short = line[: longest - 1]
    return (short.rpartition(" ")[0] or short) + "\u2026"
