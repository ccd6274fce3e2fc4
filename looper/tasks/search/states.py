"""What both exercises pass around: plans, states, actions, answers, memories."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictBool

from looper.tasks.search.query import Hit, Query

Kind = Literal["broaden", "narrow", "rephrase", "diversify", "reweight"]


class Plan(Query, frozen=True):
    """A query to begin with."""

    reason: str = ""

    @property
    def query(self) -> Query:
        return Query(**self.model_dump(exclude={"reason"}))


class Replan(BaseModel):
    """Another query to begin with, or none if there is no way on."""

    plan: Plan | None


class Result(BaseModel):
    """One line of the answer."""

    id: str
    reason: str = Field(description="why it answers the need, in one sentence")


class Answer(BaseModel):
    """What is handed to the person who has the need."""

    results: list[Result] = Field(description="ids of hits, best first, each with its reason")
    text: str = Field(default="", description="one or two sentences on the whole")


class Change(BaseModel):
    """An action on a query: the query as it shall be, and why."""

    kind: Kind
    query: Query
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.query} ({self.why})"


class Decision(BaseModel):
    """The next change, or nothing."""

    action: Change | None


class Move(Change):
    """The next change, or done."""

    kind: Kind = "rephrase"
    query: Query = Query()
    done: bool = False


class Results(BaseModel):
    """State of the band exercise: a query and what it finds."""

    query: Query
    total: int
    hits: list[Hit] = []
    before: int | None = None
    """Hits of the state before this one."""
    seen: list[str] = []
    """Ids of hits of the states before this one."""
    last: str = ""
    answer: Answer | None = None
    waited: float = 0.0
    """Seconds that the server said to wait; not working time."""


class Label(BaseModel):
    """What a person, a model or the known answers say of one hit."""

    relevant: StrictBool = Field(description="whether this entry answers the need")
    why: str = ""


class Trail(BaseModel):
    """What a policy of the band exercise remembers."""

    tried: list[str] = []
    """Keys of the queries that were looked at."""
    narrow: Query | None = None
    """The latest query that found too little."""
    broad: Query | None = None
    """The latest query that found too much."""


class Steering(BaseModel):
    """What moves a query when a policy takes a step; the ladder's level scales it (SPEC 1.5)."""

    low: Annotated[int, Field(ge=1)]
    high: Annotated[int, Field(ge=1)]
    level: Annotated[float, Field(ge=0, le=3)] = 0.0


class Ranking(BaseModel):
    """State of the relevance exercise: weights of terms, what was labelled, and the ranking of all the rest."""

    weights: dict[str, float]
    """By term as the index has it; may be negative."""
    labels: dict[str, bool] = {}
    """By document, in the order in which they were labelled."""
    rounds: list[list[str]] = []
    """Documents labelled at each state that was looked at, the latest last."""
    hits: list[Hit] = []
    """The best that are not labelled, with excerpts."""
    ranking: list[str] = []
    """Ids of the best that are not labelled, deeper than `hits`."""
    last: str = ""
    answer: Answer | None = None

    @property
    def relevant(self) -> list[str]:
        """Labelled relevant, in order."""
        return [name for name, good in self.labels.items() if good]

    @property
    def precision(self) -> float:
        """Share of relevant ones among the latest labels; 0 before the first."""
        latest = self.rounds[-1] if self.rounds else []
        return sum(self.labels[name] for name in latest) / len(latest) if latest else 0.0


class Words(BaseModel):
    """A plan of the relevance exercise: words to begin with."""

    words: list[str]
    reason: str = ""


class NextWords(BaseModel):
    """Other words to begin with, or none if there is no way on."""

    plan: Words | None


class Reweight(BaseModel):
    """An action: the weights as they shall be, and why."""

    kind: Kind = "reweight"
    weights: dict[str, float] = {}
    why: str = ""

    def __str__(self) -> str:
        top = sorted(self.weights.items(), key=lambda item: (-abs(item[1]), item[0]))[:6]
        return f"{self.kind}: {' '.join(f'{term}:{weight:.2g}' for term, weight in top)} ({self.why})"


class Weighing(BaseModel):
    """The next weights, or nothing."""

    action: Reweight | None


class Reworded(BaseModel):
    """A model's next step: words with their weights, or done."""

    kind: Kind = "reweight"
    weights: dict[str, float] = Field(default={}, description="weight by word, 1.0 is usual, negative to avoid")
    why: str = ""
    done: bool = False


class Tried(BaseModel):
    """What a policy of the relevance exercise remembers."""

    keys: list[str] = []
    """Keys of the weights that were looked at."""
