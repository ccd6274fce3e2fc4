"""The board as roles and people read it: the tree within a limit, and one product in full."""

from collections.abc import Sequence

from looper.loops.cabal.board.acceptance import flags, open_feedback, shortfalls
from looper.loops.cabal.board.entities import Collab, Member, Product
from looper.loops.cabal.board.table import Board

LIMIT = 8_000
"""Characters of an overview: 40 products and 12 operatives fit into a prompt beside the work itself."""
HEAD = 3_000
"""Characters of it for mission and team."""


def clip(text: str, limit: int) -> str:
    """On one line, cut off visibly at `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def overview(board: Board, *, viewer: str = "", limit: int = LIMIT) -> str:
    """Mission, team and tree, in fewer than `limit` characters (at least 1,000); what is left out is said.

    Accepted products are left out first, from the end of the tree, then others that do not belong to the `viewer`.
    """
    head = _head(board, min(HEAD, limit // 2))
    return f"{head}\n\n{_tree(board, viewer, limit - len(head) - 3)}"


def _head(board: Board, limit: int) -> str:
    """Whole if there is room for it, else each part within its share."""
    whole = _heading(board, limit * 12)
    return whole if len(whole) <= limit else _heading(board, limit)


def _heading(board: Board, limit: int) -> str:
    share = limit // 12
    lines = [f"Round {board.round}. Mission: {clip(board.mission or '(not set)', share * 2)}"]
    lines += _listed("Objectives", board.objectives, share * 2)
    lines += _listed("Constraints", board.constraints, share * 2)
    team = board.operatives()
    each = share * 6 // max(1, len(team)) - 1
    lines += ["Team:", *(clip(_member(one), max(each, 12)) for one in team)]
    text = "\n".join(lines)
    return text if len(text) <= limit else text[: limit - 4] + "\n..."


def _listed(name: str, items: Sequence[str], limit: int) -> list[str]:
    each = limit // max(1, len(items)) - 4
    return [f"{name}:", *(f"- {clip(one, max(each, 12))}" for one in items)] if items else []


def _member(one: Member) -> str:
    return f"- {one.id} {one.name}: {one.responsibility} ({one.area})"


def _tree(board: Board, viewer: str, limit: int) -> str:
    """A line per product; whole lines are left out until the rest fits, and counted."""
    lines = {one.id: _line(board, depth, one) for depth, one in board.walk()}
    if not lines:
        return "Products: none yet."
    order = [*_expendable(board, viewer)]
    gone: list[str] = []
    size = sum(len(line) + 1 for line in lines.values())
    while order and size + 200 > limit:
        gone.append(order.pop(0))
        size -= len(lines[gone[-1]]) + 1
    kept = [line for product, line in lines.items() if product not in gone]
    return "\n".join([f"Products ({len(lines)}):", *kept, *_left_out(board, gone)])


def _expendable(board: Board, viewer: str) -> list[str]:
    """Products in the order in which they are left out: accepted, dropped, of others, one's own; last ones first."""
    tree = [one for _, one in board.walk()][::-1]
    ranks = {"accepted": 0, "rejected": 1}
    return [one.id for one in sorted(tree, key=lambda one: (ranks.get(one.status, 2), one.owner == viewer))]


def _left_out(board: Board, gone: Sequence[str]) -> list[str]:
    if not gone:
        return []
    states = {one.id: one.status for one in board.products}
    accepted = sum(states[one] == "accepted" for one in gone)
    ids = clip(", ".join(sorted(gone, key=lambda one: int(one[1:]))), 100)
    return [f"{len(gone)} more products are left out here, {accepted} of them accepted: {ids}"]


def _line(board: Board, depth: int, one: Product) -> str:
    number = board.number(one.id)
    raised, left = flags(board, one.id), open_feedback(board, one.id)
    parts = [one.type, one.owner, one.status + (f" v{number}" if number else "")]
    parts += [f"flags {', '.join(flag.id for flag in raised[:3])}{' ...' if len(raised) > 3 else ''}"] if raised else []
    parts += [f"open feedback {len(left)}"] if left else []
    return f"{'  ' * min(depth, 6)}- {one.id} {clip(one.title, 60)} ({'; '.join(parts)})"


def card(board: Board, product: str, room: int | None = None) -> str:
    """One product in full: place, checklist, directive, content, history, unresolved feedback.

    Within `room` characters, if that is given; what is left out is said.
    Raises KeyError for a product that does not exist.
    """
    one = board.product(product)
    if one is None:
        raise KeyError(product)
    latest = board.latest(one.id)
    content = f"Content (version {latest.number}):\n{latest.content}" if latest else "Content:\n(no version yet)"
    parts = [
        "\n".join(_place(board, one)), "\n".join(_checklist(board, one)), _directive(board, one),
        content, _history(board, one), _left(board, one),
    ]  # fmt: skip
    if room is not None:
        parts = _fitted(parts, room)
    return "\n\n".join(part for part in parts if part)


def _fitted(parts: list[str], room: int) -> list[str]:
    """The parts within the room: history goes first, then feedback is cut, then the content, last the rest."""
    place, checklist, directive, content, history, left = parts
    if sum(len(part) + 2 for part in parts) > room:
        history = ""
    firm = len(place) + len(checklist) + len(directive) + 10
    content = cut(content, max(room - firm - min(len(left), room // 4), room // 4))
    left = cut(left, max(room - firm - len(content), 0))
    return [place, cut(checklist, room // 2), cut(directive, room // 4), content, history, left]


def cut(text: str, room: int) -> str:
    """A text within the room; what is missing in its middle is said."""
    if len(text) <= room:
        return text
    half = max(0, room // 2 - 40)
    return (
        f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:] if half else ''}".strip()
    )


def _place(board: Board, one: Product) -> list[str]:
    lines = [f"{one.id} {one.title}", f"type {one.type}, owner {one.owner}, status {one.status}"]
    lines += [f"marked by the chair: {one.reason}"] if one.reason else []
    below = ", ".join(child.id for child in board.children(one.id))
    lines += [f"below {one.parent}"] if one.parent else []
    lines += [f"above {below}"] if below else []
    if one.id != board.log and one.status not in ("accepted", "rejected"):
        lines.append(f"missing for acceptance: {'; '.join(shortfalls(board, one)) or 'nothing, it is accepted next'}")
    return lines


def _checklist(board: Board, one: Product) -> list[str]:
    found = board.inspection(one.id)
    notes = (
        {check.item: f"{'met' if check.met else 'NOT met'}: {check.note}" for check in found.checks} if found else {}
    )
    items = [f"{place}. {item} [{notes.get(item, 'not inspected')}]" for place, item in enumerate(one.done, 1)]
    verdict = [f"Verdict on version {found.version}: {found.verdict}"] if found else []
    return ["Definition of done:", *items, *verdict]


def _directive(board: Board, one: Product) -> str:
    found = board.assignment(one.id)
    if found is None:
        return ""
    lines = [f"Assigned to {found.assignee} ({found.id}): {found.objective}"]
    lines += [f"- done when: {item}" for item in found.done]
    lines += [f"why: {found.why}"] if found.why else []
    lines += [f"context: {found.context}"] if found.context else []
    return "\n".join(lines)


def _history(board: Board, one: Product) -> str:
    lines = [f"- v{v.number}, round {v.round}, {v.author}: {clip(v.summary, 200)}" for v in board.history(one.id)]
    more = [f"- ... {len(lines) - 10} older versions"] if len(lines) > 10 else []
    return "\n".join(["History:", *more, *lines[-10:]]) if lines else ""


def _left(board: Board, one: Product) -> str:
    left = sorted(open_feedback(board, one.id), key=lambda said: -said.importance)
    return "\n".join(["Unresolved feedback:", *map(feedback_line, left)]) if left else ""


def feedback_line(one: Collab) -> str:
    """One piece of feedback on one line, whole."""
    about = f" [{one.criterion}]" if one.criterion else ""
    promised = ", accepted by the owner" if one.state == "accepted" else ""
    text = " ".join(one.text.split())
    return f"- {one.id} {one.kind} {one.importance}/10 by {one.author} on v{one.version}{promised}{about}: {text}"
