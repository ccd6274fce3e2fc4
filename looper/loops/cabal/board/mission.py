"""Mission and team, questions to the user, reflections, context requests, the session log (SPEC 4.2, 4.7, 4.9)."""

from collections.abc import Sequence

from looper.loops.cabal.board.acceptance import all_accepted, deliverables
from looper.loops.cabal.board.answers import Charter, Told
from looper.loops.cabal.board.entities import Member
from looper.loops.cabal.board.operations import ChangeMember, NewMember, Override
from looper.loops.cabal.board.records import Halt, MemberChange, Message, Overrides, Request, Session, Thought
from looper.loops.cabal.board.table import Board, forbidden, put, reject, unknown
from looper.loops.cabal.board.tree import create, start_log

MOST_PRODUCTS, MOST_REQUESTS = 5, 3
"""Products of a context request, and requests of a member in a step (document 002, Context Request Loop)."""


def charter(board: Board, author: str, op: Charter) -> Board:
    """Bootstrap: mission, objectives, constraints, team, first products, Change Log. Once."""
    why = forbidden(board, author, "charter")
    if not why and board.mission:
        why = "The mission is set; override it in plan."
    if why:
        return reject(board, author, "charter", why)
    board = board.model_copy(
        update={
            "mission": op.mission, "objectives": tuple(op.objectives), "constraints": tuple(op.constraints), "keys": {},
        }
    )  # fmt: skip
    for one in op.team:
        board = _join(board, author, one)
    return start_log(create(board, author, op.products))


def _join(board: Board, author: str, op: NewMember) -> Board:
    seated = len(board.operatives())
    if seated >= board.seats:
        why = f"There are {board.seats} seats for operatives, and all are taken; make the team smaller."
        return reject(board, author, f"member {op.name}", why)
    if board.member(op.key) or board.member(op.name):
        return reject(board, author, f"member {op.name}", f"Key or name of {op.name} is taken; choose another one.")
    member = Member(id=f"o{seated + 1}", role="operative", **op.model_dump())
    return put(board, "members", member)


def override(board: Board, author: str, op: Override) -> Board:
    """What bootstrap said, said anew: kept until the next round begins."""
    if why := forbidden(board, author, "override"):
        return reject(board, author, "override", why)
    changes: list[MemberChange] = []
    for one in op.members:
        change = _change(board, one)
        if change:
            changes.append(change)
        else:
            ids = ", ".join(known.id for known in board.operatives())
            why = f"{one.member or '(nobody)'} is no operative; change one of {ids}."
            board = reject(board, author, f"override of {one.member}", why)
    before = board.pending or Overrides()
    pending = Overrides(
        mission=op.mission or before.mission,
        objectives=tuple(op.objectives) or before.objectives,
        constraints=before.constraints if op.constraints is None else tuple(op.constraints),
        members=(*before.members, *changes),
    )
    if pending == before:
        return board
    return board.model_copy(update={"pending": pending})


def _change(board: Board, op: ChangeMember) -> MemberChange | None:
    who = board.member(op.member)
    if who is None or who.role != "operative":
        return None
    return MemberChange(**(op.model_dump() | {"member": who.id}))


def apply_overrides(board: Board) -> Board:
    """The board of a new round with what was overridden in the last one."""
    new = board.pending
    if new is None:
        return board
    fields = {"mission": new.mission, "objectives": new.objectives, "constraints": new.constraints}
    members = tuple(_changed(one, new.members) for one in board.members)
    given = {name: value for name, value in fields.items() if value is not None}
    return board.model_copy(update=given | {"members": members, "pending": None})


def _changed(member: Member, changes: Sequence[MemberChange]) -> Member:
    for one in changes:
        if one.member == member.id:
            given = one.model_dump(exclude={"member"})
            member = member.model_copy(update={name: value for name, value in given.items() if value})
    return member


def halt(board: Board, author: str, question: str) -> Board:
    """A question that only the user can answer; the chair alone may stop the work for it."""
    if why := forbidden(board, author, "halt"):
        return reject(board, author, "halt", why)
    if not question.strip():
        return reject(board, author, "halt", "There is no question; ask one, or go on.")
    return put(board, "halts", Halt(round=board.round, step=board.step, question=question.strip()))


def answer_halt(board: Board, answer: str) -> Board:
    """The user's answer to the latest question. Raises ValueError if none waits."""
    if not board.halts or board.halts[-1].answer:
        raise ValueError("no question waits for an answer")
    answered = board.halts[-1].model_copy(update={"answer": answer})
    return board.model_copy(update={"halts": (*board.halts[:-1], answered)})


def request(board: Board, author: str, products: Sequence[str]) -> Board:
    """A look at up to 5 products, up to 3 times a step; granted ones are appended to `requests`."""
    name = f"context of {', '.join(products)}"
    why = forbidden(board, author, "request") or _too_much(board, author, products)
    if why:
        return reject(board, author, name, why)
    ids = tuple(dict.fromkeys(one.id for one in map(board.product, products) if one))
    return put(board, "requests", Request(round=board.round, step=board.step, author=author, products=ids))


def _too_much(board: Board, author: str, products: Sequence[str]) -> str:
    if not requests_left(board, author):
        return f"You asked {MOST_REQUESTS} times in this step; give your final output now."
    if not 1 <= len(products) <= MOST_PRODUCTS:
        return f"{len(products)} products are asked for; ask for 1 to {MOST_PRODUCTS}, the most important ones."
    lost = [ref for ref in products if board.product(ref) is None]
    return unknown(board, lost[0]) if lost else ""


def requests_left(board: Board, author: str) -> int:
    """How often the author may still ask for context in this step."""
    here = [one for one in board.requests if (one.round, one.step, one.author) == (board.round, board.step, author)]
    return max(0, MOST_REQUESTS - len(here))


def reflect(board: Board, author: str, assessment: str) -> Board:
    """What an operative thinks of its situation."""
    if why := forbidden(board, author, "reflection"):
        return reject(board, author, "reflection", why)
    return put(board, "thoughts", Thought(round=board.round, author=author, text=assessment))


def finish(board: Board, author: str) -> Board:
    """The chair's `done`: taken only if all deliverables are accepted (SPEC 4.8)."""
    if why := forbidden(board, author, "done"):
        return reject(board, author, "done", why)
    if not all_accepted(board):
        left = [one.id for one in deliverables(board) if one.status != "accepted"]
        why = f"Not accepted yet: {', '.join(left) or 'there is no deliverable'}; go on with these."
        return reject(board, author, "done", why)
    return board


def present(board: Board, author: str, op: Told) -> Board:
    """The round in the session log. What was accepted and blocked is taken from the board; other claims are refused."""
    why = forbidden(board, author, "message")
    if not why and any(one.round == board.round for one in board.sessions):
        why = f"Round {board.round} is told already; wait for the next one."
    if why:
        return reject(board, author, "session log", why)
    messages: list[Message] = []
    for one in op.messages:
        who = board.member(one.member)
        if who:
            messages.append(Message(member=who.id, text=one.text))
        else:
            ids = ", ".join(known.id for known in board.members)
            why = f"There is no such member; speak as one of {ids}."
            board = reject(board, author, f"message of {one.member}", why)
    accepted, stopped = became(board, "accepted"), became(board, "blocked")
    for kind, said, true in (("accepted", op.accepted, accepted), ("blocked", op.blocked, stopped)):
        if false := [ref for ref in said if ref not in true]:
            why = f"{', '.join(false)}: not {kind} in this round; {kind} were: {', '.join(true) or 'none'}."
            board = reject(board, author, f"{kind} of the session log", why)
    session = Session(
        round=board.round, messages=tuple(messages), findings=tuple(op.findings), accepted=tuple(accepted),
        blocked=tuple(stopped), questions=tuple(op.questions),
    )  # fmt: skip
    return put(board, "sessions", session)


def became(board: Board, kind: str) -> list[str]:
    """Products that were accepted (or blocked, written, ...) in this round and, for a status, still are."""
    here = [one.product for one in board.happenings if one.round == board.round and one.kind == kind]
    states = {one.id: one.status for one in board.products}
    lasting = kind not in ("accepted", "blocked", "rejected")
    return [one for one in dict.fromkeys(here) if lasting or states[one] == kind]
