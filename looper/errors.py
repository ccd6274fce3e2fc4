"""Everything looper raises.

* LooperError              one sentence: what, where, what to do next
  x ConfigError            the user's input cannot be used; exit code 2
    x EpisodesUnusable     the episode store is damaged, something else, or of a newer looper
  x JournalDamaged         history.jsonl is not what was written; nothing is run
  x ReplayMismatch         the code no longer does what its journal says it did; nothing is run
  x RunLocked              another process runs this folder
  x SandboxUnavailable     nothing on this machine can contain what is to be executed
  x Interruption           ends a run with a status; caught in `execution.execute` alone
    x BudgetExceeded       an account cannot pay the next step          -> stopped
    x StopRequested        a person asked for an orderly end            -> stopped
    x Paused               a person, time or disk is waited for         -> paused, resumable
    x InvalidAnswer        a role could not give an answer of its type  -> failed, phase_error
    x PhaseError           a step of the design cannot go on            -> failed, phase_error
    x Aborted              a person ended it at once                    -> aborted
"""

from typing import Any


class LooperError(Exception):
    """Base of all; its text is shown to the user as it is."""


class ConfigError(LooperError):
    """A key, value, file or name that cannot be used."""


class JournalDamaged(LooperError):
    """A line of the journal was changed or lost after it was written."""


class ReplayMismatch(LooperError):
    """A step of the journal was reached with other inputs."""


class RunLocked(LooperError):
    """The run is alive in another process."""


class SandboxUnavailable(LooperError):
    """There is no isolation here that would be good enough."""


class Interruption(LooperError):
    """Ends the run with `status` and `reason`; `facts` go into the outcome."""

    status = "stopped"

    def __init__(self, message: str, reason: str, **facts: Any):
        super().__init__(message)
        self.reason, self.facts = reason, facts


class BudgetExceeded(Interruption):
    """An account cannot pay the next step."""

    def __init__(self, message: str, reason: str = "budget_exhausted", **facts: Any):
        super().__init__(message, reason, **facts)


class StopRequested(Interruption):
    """A person asked for an orderly end."""

    def __init__(self, message: str, reason: str = "user_stop", **facts: Any):
        super().__init__(message, reason, **facts)


class Paused(Interruption):
    """Something outside is waited for; `resume` goes on from here."""

    status = "paused"


class PhaseError(Interruption):
    """A step of the design cannot go on."""

    status = "failed"

    def __init__(self, message: str, reason: str = "phase_error", **facts: Any):
        super().__init__(message, reason, **facts)


class InvalidAnswer(PhaseError):
    """A role could not give an answer of its type; `facts["calls"]` lists what the tries cost."""


class Aborted(Interruption):
    """A person ended the run at once."""

    status = "aborted"

    def __init__(self, message: str, reason: str = "user_abort", **facts: Any):
        super().__init__(message, reason, **facts)
