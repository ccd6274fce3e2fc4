"""Which steps ask which role."""

from collections.abc import Mapping

ASKED: Mapping[str, tuple[str, ...]] = {
    "planner": ("plan", "replan", "evaluate"), "policy": ("decide",), "actor": ("act",), "writer": ("write",),
    "judge": ("judge",), "labeller": ("label",),
}  # fmt: skip
"""What roles are asked where the design does not say."""
