"""What checks are run with."""

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Limits, Sandbox
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Bench:
    """The sandbox and the limits of checks."""

    sandbox: Sandbox = Sandbox()
    """Where artifacts are parsed and programs are run."""
    seconds: float = Field(default=10.0, gt=0, le=600)
    """Wall clock of one reading check; a validator takes a second or two on 1 MB."""
    pattern_seconds: float = Field(default=2.0, gt=0, le=60)
    """Wall clock of one regular expression: an honest one takes milliseconds on 1 MB, a catastrophic one years."""
    test_seconds: float = Field(default=30.0, gt=0, le=600)
    """Wall clock of one pytest check, all its tests together."""
    memory_mb: int = Field(default=1024, ge=128)
    """Memory of one check, MiB; the syntax tree of 1 MB of source takes 300."""
    max_bytes: int = Field(default=4_000_000, ge=1000, le=50_000_000)
    """The longest artifact that is looked at, bytes in UTF-8; a longer one fails every check."""

    def limits(self) -> Limits:
        return Limits(memory_mb=self.memory_mb, processes=64, workspace_mb=64)
