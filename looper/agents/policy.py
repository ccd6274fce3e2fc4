from typing import Any, ClassVar

from looper.errors import ConfigError
from looper.types import Question, Reply


class Policy:
    """A deterministic function in a role: same question, same answer, no model call.

    The task brings it: `task.policy(step)` is the function for a kind of question, or None.
    """

    kind: ClassVar[str] = "policy"

    def answer(self, question: Question) -> Reply:
        fn = question.task.policy(question.step)
        if fn is None:
            raise ConfigError(f"{question.role}: the task has no policy for `{question.step}`.")
        value: Any = fn(**question.context)
        return Reply(value=value, by="policy")
