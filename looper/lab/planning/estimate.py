"""What a run is to be expected to take where none was ever made: the questions of a design, each as long as its task
says, answered right at once. A floor rather than a forecast, and called so; runs that repair and retry take more."""

import math
from collections.abc import Sequence

from looper.agents.prices import BYTES_PER_TOKEN
from looper.lab.planning.bounds import Amount, Seated, bounds, metered, question_bytes
from looper.parts import Parts
from looper.run import KEPT_PROMPT

SOURCE = "estimate, no run was made: each question once and its answer right; time unknown"
AFTER_FAILURE = ("replan",)
"""Steps that nobody is asked where all goes well."""


def estimated(parts: Parts) -> Amount | None:
    """Calls, tokens and USD of such a run; None where the task does not say how long questions and answers are."""
    known, seated = getattr(parts.task, "answer_bytes", None), metered(parts)
    if known is None or not seated or any(getattr(agent, "kind", "model") != "model" for *_, agent in seated):
        return None
    asked = _asked(parts, seated)
    sizes = [question_bytes(parts.task, step) for _, step, _ in asked]
    given = [_tokens(KEPT_PROMPT if size is None else size) for size in sizes]
    taken = [min(_tokens(known()), agent.max_tokens) for *_, agent in asked]
    usd = [agent.tariff().usd(*tokens) for (*_, agent), *tokens in zip(asked, given, taken, strict=True)]
    return _within(Amount(len(asked), sum(given) + sum(taken), math.fsum(usd), None), bounds(parts)[0])


def _asked(parts: Parts, seated: Sequence[Seated]) -> list[Seated]:
    """The questions of a run in which every answer is right, as the design tells them; else each of its questions."""
    straight = None if getattr(parts.loop, "own", "") else getattr(parts.loop, "straight", None)
    if straight is None:
        return [one for one in seated if one[1] not in AFTER_FAILURE]
    agents = {(role, step): agent for role, step, agent in seated}
    return [(*place, agents[place]) for place in straight(parts.task) if place in agents]


def _tokens(size: int) -> int:
    return math.ceil(size / BYTES_PER_TOKEN)


def _within(amount: Amount, worst: Amount) -> Amount:
    """No more than the caps allow."""
    least = {name: getattr(amount, name) for name in ("calls", "tokens", "usd")}
    most = {name: getattr(worst, name) for name in least}
    return Amount(**{name: value if most[name] is None else min(value, most[name]) for name, value in least.items()},
                  seconds=None)  # fmt: skip
