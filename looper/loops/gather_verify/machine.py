"""The phases of the outer loop and the transitions between them (document 000, FSM Transitions; SPEC 5.1).

INITIALIZED --> GATHER --> INTERVIEW --> INNER_LOOP --> VERIFY --> LEARN --> COMPLETED
                                             ^            |
                                             +-- gaps ----+   (at most `max_loops` times)
"""

from enum import StrEnum

from looper.errors import PhaseError


class Phase(StrEnum):
    """Where the outer loop is."""

    INITIALIZED = "INITIALIZED"
    GATHER = "GATHER"
    INTERVIEW = "INTERVIEW"
    INNER_LOOP = "INNER_LOOP"
    VERIFY = "VERIFY"
    LEARN = "LEARN"
    COMPLETED = "COMPLETED"


TRANSITIONS: dict[Phase, tuple[Phase, ...]] = {
    Phase.INITIALIZED: (Phase.GATHER,),
    Phase.GATHER: (Phase.INTERVIEW,),
    Phase.INTERVIEW: (Phase.INNER_LOOP,),
    Phase.INNER_LOOP: (Phase.VERIFY,),
    Phase.VERIFY: (Phase.INNER_LOOP, Phase.LEARN),
    Phase.LEARN: (Phase.COMPLETED,),
    Phase.COMPLETED: (),
}
"""Phases that may follow each phase."""


class IllegalTransition(PhaseError):
    """A phase was entered that may not follow, or whose guard does not hold; the machine stays where it is."""


class Machine:
    """Where a run of the outer loop is, how it came there, and how often it looped back."""

    def __init__(self, max_loops: int):
        """`max_loops` >= 0: loop-backs from VERIFY to INNER_LOOP at most. Raises ValueError."""
        if max_loops < 0:
            raise ValueError(f"max_loops is {max_loops}; give 0 or more")
        self.max_loops = max_loops
        self.loops = 0
        """Loop-backs so far; the first inner loop is none."""
        self.path = [Phase.INITIALIZED]
        """All phases in the order in which they were entered."""

    @property
    def phase(self) -> Phase:
        return self.path[-1]

    @property
    def allowed(self) -> tuple[Phase, ...]:
        """Phases that may follow now: those of the table, without the loop-back once the limit is reached."""
        return tuple(phase for phase in TRANSITIONS[self.phase] if not (self._loops_back(phase) and self._spent))

    def to(self, phase: Phase, *, guard: bool = True, why: str = "") -> Phase:
        """Enter a phase and return it. Raises IllegalTransition.

        `guard` is the condition that the caller has computed for this step; `why` says what it is, for the error.
        """
        if phase not in self.allowed or not guard:
            raise IllegalTransition(self._refusal(phase, why))
        self.loops += self._loops_back(phase)
        self.path.append(phase)
        return phase

    def grant(self, loops: int) -> None:
        """Allow this many loop-backs more, >= 0. Raises ValueError."""
        if loops < 0:
            raise ValueError(f"{loops} loop-backs cannot be granted; give 0 or more")
        self.max_loops += loops

    @property
    def _spent(self) -> bool:
        return self.loops >= self.max_loops

    def _loops_back(self, phase: Phase) -> bool:
        return (self.phase, phase) == (Phase.VERIFY, Phase.INNER_LOOP)

    def _refusal(self, phase: Phase, why: str) -> str:
        step = f"The outer loop cannot go from {self.phase} to {phase}"
        if phase in self.allowed:
            return f"{step}: {why or 'its guard does not hold'}."
        follows = " or ".join(self.allowed) or "nothing"
        if self._loops_back(phase):
            return f"{step}: all {self.max_loops} loop-backs are used; from here {follows} may follow."
        return f"{step}; from here {follows} may follow."
