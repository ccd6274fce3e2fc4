"""A cabal's whole board as text and as data: mission, team, products, feedback, refusals, rounds, Change Log."""

from collections.abc import Mapping
from typing import Any

from looper.console.board import counted, flag_lines, halt_lines, itemised, session_lines, tree_lines, wrapped
from looper.console.screen import brief, plain
from looper.console.story import Story
from looper.console.summary import advice
from looper.loops.cabal.board.acceptance import deliverables, flags, open_feedback, open_importance, shortfalls
from looper.loops.cabal.board.entities import Collab, Product
from looper.loops.cabal.board.records import Rejection
from looper.loops.cabal.board.table import Board
from looper.state import glimpse


def headline(story: Story, board: Board) -> str:
    """How far the mission has come, on one line."""
    reason = story.state["stop"]["reason"]
    found = deliverables(board)
    accepted = sum(one.status == "accepted" for one in found)
    return (
        f"{story.status}{f' ({reason})' if reason else ''}, round {board.round}, {accepted} of "
        f"{counted(len(found), 'deliverable')} accepted, open importance {open_importance(board)}"
    )


def board_lines(story: Story, board: Board) -> list[str]:
    """All of the board but the texts of its products."""
    known = glimpse(board.model_dump(mode="json"))
    lines = [f"board of {story.name}: {headline(story, board)}", *wrapped(f"mission: {board.mission or 'none yet'}")]
    lines += itemised("objectives", board.objectives) + itemised("constraints", board.constraints)
    lines += itemised("team", [f"{one.id} {one.name}: {one.responsibility} ({one.area})" for one in board.operatives()])
    lines += [f"products ({len(board.products)}):", *tree_lines(known)]
    lines += itemised("missing for acceptance", _missing(board)) + flag_lines(known)
    lines += itemised("open feedback", [feedback_words(board, one) for one in waiting(board)])
    lines += _refused(board) + _asked(board)
    for one in board.sessions:
        lines += [f"── Round {one.round} ──", *session_lines(one.model_dump(), known)]
    lines += change_log_lines(board)
    told = advice(story)
    return [*lines, *([f"next: {told}"] if told and story.status != "running" else [])]


def _missing(board: Board) -> list[str]:
    told = {one: lacking(board, one) for one in deliverables(board)}
    return [f"{one.id} {one.title}: {'; '.join(what)}" for one, what in told.items() if what]


def lacking(board: Board, one: Product) -> list[str]:
    """What is missing for the acceptance of a product; nothing for what is not to be accepted."""
    final = one.status in ("accepted", "rejected") or one.id == board.log
    return [] if final else shortfalls(board, one)


def waiting(board: Board) -> list[Collab]:
    """Feedback below the importance of a flag on which something is left to do, the gravest first."""
    living = [one.id for one in board.products if one.status != "rejected"]
    found = [said for product in living for said in open_feedback(board, product) if not said.blocking]
    return sorted(found, key=lambda said: -said.importance)


def feedback_words(board: Board, said: Collab) -> str:
    return (
        f"{said.id} on {said.product} v{said.version} ({said.kind}, {said.importance}/10, "
        f"{name_of(board, said.author)}): {brief(said.text, 300)}"
    )


def name_of(board: Board, who: str) -> str:
    """A member for people."""
    found = next((one for one in board.members if one.id == who), None)
    return (found.name if found else "") or who


def refusals(board: Board) -> dict[str, list[Rejection]]:
    """Rejected operations by author, in the order of the team."""
    by = {one.id: [said for said in board.rejections if said.author == one.id] for one in board.members}
    return {who: found for who, found in by.items() if found}


def _refused(board: Board) -> list[str]:
    lines = ["rejected operations:"] if board.rejections else []
    for who, found in refusals(board).items():
        lines.append(f"  {brief(name_of(board, who), 40)} ({who}):")
        for one in found:
            lines += wrapped(f"- round {one.round}, {one.step}: {one.operation}: {one.reason}", "    ")
    return lines


def _asked(board: Board) -> list[str]:
    """The chair's questions to the user; one that waits is shown whole."""
    lines: list[str] = []
    for one in board.halts:
        lines += halt_lines(one.model_dump())
        lines += wrapped(f"User: {one.answer}", "  ") if one.answer else ["  (waits for an answer)"]
    return lines


def change_log_lines(board: Board) -> list[str]:
    """What the chair wrote into the Change Log, and what code wrote of each round."""
    latest = board.latest(board.log) if board.log else None
    lines = ["── Change Log ──", *(f"  {plain(line)}" for line in (latest.content.split("\n") if latest else []))]
    for entry in board.entries:
        lines += itemised(f"Round {entry.round}", entry.lines)
    return lines


def board_card(story: Story, board: Board) -> dict[str, Any]:
    """One JSON object: the board as it is, and what code makes of it."""
    missing: Mapping[str, Any] = {one.id: lacking(board, one) for one in board.products}
    found = deliverables(board)
    return {
        "run": story.name, "folder": str(story.folder.path), "status": story.status,
        "reason": story.state["stop"]["reason"], "round": board.round,
        "deliverables": len(found), "accepted": sum(one.status == "accepted" for one in found),
        "open_importance": open_importance(board),
        "flags": [said.id for one in board.products if one.status != "rejected" for said in flags(board, one.id)],
        "open_feedback": [said.id for said in waiting(board)],
        "missing": {product: what for product, what in missing.items() if what},
        "tree": glimpse(board.model_dump(mode="json"))["products"], "board": board.model_dump(mode="json"),
    }  # fmt: skip
