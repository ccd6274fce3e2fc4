"""Who may do what in which step: the table of document 002, Steps x Mechanisms, as data.

Every step has one kind of actor, so a step's rights and its actor say all: the watchdog writes no versions because
`inspect` has none, and an operative cannot touch the tree because no step of operatives has it.
"""

from typing import Literal

from looper.loops.cabal.board.entities import Role, Step

Mechanism = Literal[
    "charter", "create", "tree", "version", "collab", "resolve", "remark", "assignment", "flag", "inspection",
    "message", "halt", "override", "done", "request", "reflection",
]  # fmt: skip

STEPS: tuple[Step, ...] = ("bootstrap", "reflect", "plan", "write", "review", "inspect", "present")
ACTORS: dict[Step, Role] = {
    "bootstrap": "chair", "reflect": "operative", "plan": "chair", "write": "operative", "review": "operative",
    "inspect": "watchdog", "present": "envoy",
}  # fmt: skip
RIGHTS: dict[Mechanism, tuple[Step, ...]] = {
    "charter": ("bootstrap",),
    "create": ("bootstrap", "plan"),
    "tree": ("plan",),
    "version": ("plan", "write"),
    "collab": ("reflect", "write", "review", "inspect"),
    "resolve": ("reflect", "plan", "write"),
    "remark": ("reflect", "plan", "write", "review", "inspect"),
    "assignment": ("plan",),
    "flag": ("inspect",),
    "inspection": ("inspect",),
    "message": ("present",),
    "halt": ("bootstrap", "plan"),
    "override": ("plan",),
    "done": ("plan",),
    "request": ("reflect", "plan", "write", "review", "inspect", "present"),
    "reflection": ("reflect",),
}
"""Steps in which each mechanism creates something. A flag is a finding of importance >= 8, bound to a criterion; the
feedback of a peer that is as important blocks acceptance too (SPEC 4.2), but it is a collab."""

NOUNS: dict[Mechanism, str] = {
    "charter": "mission and team are set", "create": "products are created", "tree": "the tree is changed",
    "version": "versions are written", "collab": "feedback is given", "resolve": "feedback is resolved",
    "remark": "remarks are made", "assignment": "work is assigned", "flag": "flags are raised",
    "inspection": "products are inspected", "message": "the session log is written", "halt": "the user is asked",
    "override": "bootstrap is overridden", "done": "the mission is closed", "request": "context is requested",
    "reflection": "reflections are noted",
}  # fmt: skip


def refusal(mechanism: Mechanism, step: Step, role: Role) -> str:
    """Why a member of this role may not use the mechanism in this step, and when it is used; empty if it may."""
    steps = RIGHTS[mechanism]
    if step in steps and ACTORS[step] == role:
        return ""
    roles = {ACTORS[one] for one in steps}
    whose = " or ".join(sorted(roles))
    told = f"{NOUNS[mechanism]} by the {whose} in the steps {', '.join(steps)}"
    if role not in roles:
        return f"{told[:1].upper()}{told[1:]}, not by the {role}; say what you want in a remark or in feedback."
    return f"{told[:1].upper()}{told[1:]}, not in {step}; do it there."
