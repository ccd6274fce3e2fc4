"""The probe of the relevance exercise: somebody says of one hit whether it answers the need (0.05 units)."""

from typing import Any, ClassVar

from looper.tasks.search.states import Label, Ranking
from looper.types import Signal


class Labelling:
    """Asks about the hit at one place of the ranking."""

    role: ClassVar[str] = "labeller"
    step: ClassVar[str] = "label"
    returns: ClassVar[type[Label]] = Label

    def __init__(self, place: int, most: int):
        self.place, self.most = place, most
        self.name = f"label-{place + 1}"

    def question(self, state: Ranking) -> dict[str, Any] | None:
        """The hit, unless there is none at this place or the labels of the run are used up."""
        if self.place >= len(state.hits) or len(state.labels) + self.place >= self.most:
            return None
        return {"hit": state.hits[self.place]}

    def reading(self, state: Ranking, answer: Label) -> Signal:
        hit = state.hits[self.place]
        reason = f"{hit.title}: {'relevant' if answer.relevant else 'not relevant'}"
        data = {"id": hit.id, "relevant": answer.relevant}
        return Signal(name=self.name, passed=answer.relevant, value=float(answer.relevant), reason=reason, data=data)
