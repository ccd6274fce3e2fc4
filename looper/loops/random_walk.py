"""Random walk: adaptive with dice in the policy's seat. A trivial rival at the same budget (SPEC 6.4).

plan --> observe --> [ probe --> stable? --> any action --> apply --> ladder ]* --> evaluate --> completed, or stopped
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from looper.loops.adaptive import Adaptive
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RandomWalk(Adaptive):
    """The same actions, prices, probes and stops as adaptive; which action is taken is thrown (`Task.simulate`)."""

    name: ClassVar[str] = "random_walk"
    seats: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "policy": {
            "model": "simulated", "skill": 0.0, "tokens": 0, "tokens_in": 0, "price": None, "latency": 0.0,
            "faults": 0.0, "invalid": 0.0,
        }
    }  # fmt: skip
    """Who fills a role unless the configuration says otherwise. Dice cost nothing, as adaptive's policy does, whatever
    a simulated model costs in the other roles."""
