"""What the code task passes around; revisions and the work of its inner policy are those of documents."""

from typing import Any

from pydantic import BaseModel, Field

from looper.criteria import Finding
from looper.tasks.code.program import spoken
from looper.tasks.contracts import Draft, Steps


class Brief(BaseModel):
    """What every role may see: never the official tests or the official solution."""

    goal: str
    prompt: str
    """The problem to the letter: imports, helpers, head and docstring of the function."""
    function: str
    examples: str
    """The docstring's examples as they are checked, a line each."""
    rules: str
    warning: str = ""


class Plan(Steps):
    """Steps towards the program, and the program where the design asks nobody else to write it."""

    draft: str = Field(default="", description="the whole program")


class NewPlan(BaseModel):
    """Other steps with a new program, or no plan if there is no way on."""

    plan: Plan | None


class Solution(BaseModel):
    """A program and what the visible checks said of it."""

    text: str
    findings: dict[str, Finding] = {}
    """By rule."""
    last: str = ""
    """What the last change led to; `refused...` if it was not made."""

    def share(self) -> float:
        """Share of rules that are met, 0 to 1."""
        return sum(finding.passed for finding in self.findings.values()) / max(1, len(self.findings))


class Prepared(BaseModel):
    """PREPARE: nothing, every rule has its check."""

    checks: list[Any] = []


class Program(Draft):
    """PRODUCE: the program."""

    @classmethod
    def of_words(cls, text: str) -> "Program | None":
        """The program of a reply without JSON: in a fenced block, or bare."""
        code = spoken(text)
        return cls(text=code) if code else None
