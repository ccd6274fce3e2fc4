"""The part of an artifact that a program is given."""

from looper.checks.bench import Bench
from looper.checks.evidence import Seen
from looper.checks.kinds import Part, Running
from looper.checks.reader import pieces_of

JOINT = "\n\n"


def text_of_part(check: Running, artifact: str, bench: Bench, *, blank: bool) -> tuple[str, Seen | None]:
    """Its blocks one after the other; what is missing, if there is no such part."""
    if blank or not check.part.strip():
        return artifact.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), None
    pieces, seen = pieces_of(Part(part=check.part), artifact, bench)
    return JOINT.join(text for _, text in pieces), seen
