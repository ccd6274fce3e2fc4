"""What passes between a design and the repair task: states, actions, answers of the roles."""

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from looper.tasks.repair.edits import Edit
from looper.tasks.repair.problem import Report


class Plan(BaseModel):
    """Where to look and what to try: the most suspicious lines of the program and kinds of edit.

    Leave a list empty to consider everything; name lines only if you are confident.
    """

    lines: list[int] = Field(default=[], description="suspicious line numbers, most suspicious first; [] for all")
    kinds: list[str] = Field(default=[], description="kinds of edit, e.g. compare or compare.swap; [] for all")
    skip: int = Field(default=0, ge=0, description="candidates of the fixed order to leave out: they were tried before")
    reason: str = ""


class Replan(BaseModel):
    """Where to look next, or no plan if you see no way on."""

    plan: Plan | None = None


class Rewrite(BaseModel):
    """Replace one passage of the program by another."""

    find: str = Field(default="", description="text that occurs exactly once in the program, to the letter")
    replace: str = Field(default="", description="what takes its place")


class Move(Rewrite):
    """One change of the program, or `done` if nothing is left to do."""

    done: bool = False
    why: str = ""

    def __str__(self) -> str:
        return "done" if self.done else self.why or f"replace {self.find!r} by {self.replace!r}"


class Batch(BaseModel):
    """Candidates to try side by side, each made from `base`: typed edits, or free rewrites."""

    base: str
    edits: list[Edit] = []
    rewrites: list[Rewrite] = []
    why: str = ""

    def __str__(self) -> str:
        return self.why or f"{len(self.edits) + len(self.rewrites)} candidates"


class Coded(Move):
    """One change of the program, or `done` if nothing is left to do."""

    search: SkipJsonSchema[Batch | None] = None
    """What the edit search does in the coder's place; not for models."""

    def __str__(self) -> str:
        return str(self.search) if self.search else super().__str__()


class Decision(BaseModel):
    """The candidates to try next, or nothing if there are none left."""

    action: Batch | None = None


class Choice(BaseModel):
    """The patch to hand over, chosen among those that pass all visible tests, and why."""

    candidate: int = Field(default=0, ge=0, description="index into the list of plausible patches")
    text: str = Field(default="", description="what was wrong and why this patch is right, in two sentences")


class Failure(BaseModel):
    """A visible test that does not pass."""

    id: str
    error: str


class Variant(BaseModel):
    """A program that is worth editing further: it came nearer to passing than what it was made from."""

    source: str
    share: float
    distance: float
    suspicion: dict[int, float] = {}
    errors: list[str] = []
    """Error lines of its failing tests, one each, empty where nothing was raised."""
    path: list[str] = []
    """The edits that led here, in words."""
    prior: float = 1.0
    kinds: list[str] = []


class Program(BaseModel):
    """The state of a repair: the best program so far, what the tests say of it, and what was tried."""

    source: str
    """The best program so far; in the baseline the program as it now stands."""
    results: dict[str, bool]
    """Test id -> passed, for `source`."""
    failures: list[Failure] = []
    share: float
    """Share of visible tests that `source` passes, 0 to 1."""
    distance: float
    """Mean distance of its outputs from the expected ones, 0 equal to 1."""
    suspicion: dict[int, float] = {}
    """Line of the original program -> how suspicious, 0 to 1."""
    errors: list[str] = []
    """Error lines of the original's failing tests."""
    plan: Plan = Plan()
    frontier: list[Variant] = []
    """Most promising programs to edit further, best first."""
    plausible: list[Variant] = []
    """Programs that pass every visible test, in the order in which they were found."""
    cursors: dict[str, int] = {}
    """How many candidates of a base were tried, by digest of the base."""
    explored: int = 0
    """Candidates executed since the plan."""
    since: int = 0
    """Candidates executed since the first plausible one."""
    last: str = ""
    """What the last action came to, in a line."""


def errors(report: Report) -> list[str]:
    """Error lines of the failing tests, one each."""
    return [result.error for result in report.results if not result.passed]


def judged(source: str, report: Report) -> dict[str, object]:
    """The fields of a state that a report on its program settles."""
    failed = [Failure(id=r.id, error=r.error or "wrong result") for r in report.results if not r.passed]
    return {
        "source": source,
        "results": {r.id: r.passed for r in report.results},
        "failures": failed[:20],
        "share": report.share,
        "distance": report.distance,
    }
