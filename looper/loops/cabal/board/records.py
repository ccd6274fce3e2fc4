"""What the board keeps of the course of a mission: questions, session log, what happened and what was refused."""

from looper.loops.cabal.board.entities import Entity, Kind, Step


class Halt(Entity):
    """A question of the chair that only the user can answer."""

    round: int
    step: Step
    question: str
    answer: str = ""


class Request(Entity):
    """A look at more products, granted."""

    round: int
    step: Step
    author: str
    products: tuple[str, ...]


class Thought(Entity):
    """What an operative thinks of its situation, for the chair's plan."""

    round: int
    author: str
    text: str


class Message(Entity):
    """A line of the session log, spoken as one of the members."""

    member: str
    text: str


class Session(Entity):
    """A round as it was told to the user."""

    round: int
    messages: tuple[Message, ...]
    findings: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    """What was accepted in this round, from the board and not from the envoy."""
    blocked: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


class Happening(Entity):
    """Something that became of a product; the Change Log is made of these."""

    round: int
    kind: Kind
    product: str
    text: str = ""


class Entry(Entity):
    """One round in the Change Log, written by code."""

    round: int
    lines: tuple[str, ...]


class Tally(Entity):
    """What a round came to, for the test of stagnation."""

    round: int
    accepted: int
    """Products that were accepted in it and still are at its end."""
    open_importance: int
    """Sum of the importance of what stands open at its end."""


class Rejection(Entity):
    """An operation that was not done; the reason tells its author what to do instead."""

    round: int
    step: Step
    author: str
    operation: str
    reason: str


class MemberChange(Entity):
    """Another persona or domain; empty fields stay as they are."""

    member: str
    persona: str = ""
    responsibility: str = ""
    area: str = ""


class Overrides(Entity):
    """What bootstrap said, said anew; None stays as it is."""

    mission: str | None = None
    objectives: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    members: tuple[MemberChange, ...] = ()
