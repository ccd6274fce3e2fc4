"""In which order edits are tried, and how small a patch is."""

import difflib
import io
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import accumulate

from looper.tasks.repair.edits import Edit, apply_pair
from looper.tasks.repair.forms import compiles
from looper.tasks.repair.hints import favour
from looper.tasks.repair.operators.scene import LINE

FLOOR = 0.05
"""Weight of a line that no failing test ran: missing logic may have to go there."""
SAME_KIND, SAME_SPOT, SAME_LINE = 0.25, 0.12, 0.02
"""How much each earlier edit of the same line and kind, the same piece of text, or the same line puts an edit back."""
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER}


def ranked(
    source: str, edits: Collection[Edit], suspicion: Mapping[int, float], *, errors: Collection[str] = ()
) -> list[Edit]:
    """Likeliest first: prior times suspicion of the line, spread over places and kinds.

    `errors` are the error lines of the failing tests, one each; they favour the kinds that answer to them (hints.py).
    Stable: the same edits in the same order give the same ranking; edits of equal weight, the smaller first.
    """
    starts = [0, *accumulate(map(len, LINE.findall(source)))]
    hint = favour(errors)
    weights = {e: e.prior * hint(e) * (FLOOR + (1 - FLOOR) * blame(e, starts, suspicion)) for e in edits}
    first = sorted(weights, key=lambda edit: (-weights[edit], len(edit.text) + edit.end - edit.start))
    seen: Counter[Hashable] = Counter()
    spread: list[tuple[float, Edit]] = []
    for edit in first:
        keys = ((edit.line, edit.kind), (edit.line, edit.start, edit.end), edit.line)
        back = [1 + rate * seen[key] for rate, key in zip((SAME_KIND, SAME_SPOT, SAME_LINE), keys, strict=True)]
        spread.append((weights[edit] / (back[0] * back[1] * back[2]), edit))
        seen.update(keys)
    return [edit for _, edit in sorted(spread, key=lambda item: -item[0])]


def blame(edit: Edit, starts: Sequence[int], suspicion: Mapping[int, float]) -> float:
    """Suspicion of the edit's line; of the worst line it covers, where whole statements are moved."""
    own = suspicion.get(edit.line, 0.0)
    if edit.kind.split(".")[0] not in ("statement", "flow"):
        return own
    covered = range(bisect_right(starts, edit.start), bisect_right(starts, max(edit.start, edit.end - 1)) + 1)
    return max([own, *(suspicion.get(line, 0.0) for line in covered)])


def second_order(
    source: str, ranked_first: Sequence[Edit], *, among: int = 120, distance: int = 12
) -> Iterator[tuple[Edit, Edit]]:
    """Disjoint pairs of the `among` best edits, at most `distance` lines apart, best and nearest pairs first.

    The order is by the sum of both ranks, plus a little for every line between them. `apply_pair` makes both;
    pairs whose result does not compile are left out.
    """
    best = ranked_first[:among]
    pairs = [
        (i + j + 2 * abs(one.line - two.line), i, j)
        for i, one in enumerate(best)
        for j, two in enumerate(best[i + 1 :], i + 1)
        if abs(one.line - two.line) <= distance and disjoint(one, two)
    ]
    for _, i, j in sorted(pairs):
        if compiles(apply_pair(source, (best[i], best[j]))):
            yield best[i], best[j]


def disjoint(one: Edit, two: Edit) -> bool:
    """Whether both can be made: they neither overlap nor insert at the same offset."""
    if one.start == two.start:
        return False
    return one.end <= two.start if one.start < two.start else two.end <= one.start


def size(before: str, after: str) -> int:
    """Tokens to take out and put in to get from one source to the other; comments and layout do not count."""
    old, new = _tokens(before), _tokens(after)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return sum((i2 - i1) + (j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")


def _tokens(source: str) -> list[str]:
    """The words of a program; of a text that is not Python, its words as they stand."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source.split()
    marks = {tokenize.INDENT: "<indent>", tokenize.DEDENT: "<dedent>"}
    return [marks.get(token.type, token.string) for token in found if token.type not in LAYOUT]
