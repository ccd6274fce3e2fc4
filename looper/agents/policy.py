"""A deterministic function in a role."""

from collections.abc import Callable
from typing import Any, ClassVar

from looper.errors import ConfigError
from looper.types import Question, Reply


class Policy:
    """A deterministic function in a role: same question, same answer, no model call.

    The task brings it (`task.policy(step)`), or the design for questions of its own.
    """

    kind: ClassVar[str] = "policy"

    def __init__(self, design: Any = None):
        self.design = design

    def answer(self, question: Question) -> Reply:
        fn = policy_of(question.task, self.design, question.step)
        if fn is None:
            raise ConfigError(f"{question.role}: the task has no policy for `{question.step}`.")
        value: Any = fn(**question.context)
        return Reply(value=value, by="policy")


def policy_of(task: Any, design: Any, step: str) -> Callable[..., Any] | None:
    """The function that answers a kind of question: the task's, else the design's, else None."""
    own = getattr(design, "policy", None)
    return task.policy(step) or (own(step) if own else None)
