"""What designs of several members need of a search besides: parts of the space to begin in."""

from typing import TYPE_CHECKING

from looper.tasks.search.states import Plan

if TYPE_CHECKING:
    from looper.tasks.search.band import Band


class Workshop:
    """The first part begins with the whole need, every other one with a word of it, the most common first."""

    def __init__(self, task: "Band"):
        self.task = task

    def plan(self, number: int, parts: int) -> Plan:
        words = self.task.moves.rarest(self.task.content)[::-1]
        if not number or not words:
            return self.task.planned()
        word = words[(number - 1) % len(words)]
        return Plan(keywords=[word], reason=f"part {number + 1} of {parts}: from {word}")
