"""Why a replay may have left its record: what is known to be different now, and what the kind of difference tells."""

from collections.abc import Mapping
from typing import Any

from looper.lab.replaying.record import Record
from looper.lab.replaying.rehearsal import Difference
from looper.parts import Parts, versions

BY_KIND = {
    "inputs": "the design, the task or a setting asks or does this with other inputs than then",
    "event": "the step ended in another way than then",
    "value": "with the inputs it had then it gives another value now: the files that the task reads, or the code, are "
    "other ones, or the record was changed",
    "cost": "prices (budget.prices) or who fills the role are other ones than then",
    "new": "the design goes on where it ended then",
    "missing": "the design goes another way than then",
    "form": "what the step's value looks like is another thing in this version of looper",
    "outcome": "the design ends otherwise than then, after the same steps",
}  # fmt: skip


def likely(record: Record, parts: Parts, found: Difference, steady: bool) -> list[str]:
    """What may be the cause, as sentences without a full stop; what is known comes before what is supposed."""
    told = [] if steady else ["nondeterminism: repeated once more it came out in yet another way"]
    told += _versions(record.setup.get("versions") or {})
    changed = record.setup.get("config_hash") not in (None, parts.identity)
    if changed and not record.resumed:
        told.append("other settings: config.yaml was changed after the run began")
    elif changed:
        told.append("other settings: they were changed by a resume")
    if found.key.startswith("start/"):
        told.append("other task files: the task's first look at them differs")
    return [*told, BY_KIND[found.what]]


def _versions(then: Mapping[str, Any]) -> list[str]:
    now = versions()
    other = [f"{name} {then[name]}, now {now[name]}" for name in now if name in then and then[name] != now[name]]
    return [f"another version: {'; '.join(other)}"] if other else []
