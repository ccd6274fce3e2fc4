"""Applies a revision to a text, to the letter or not at all."""

from looper.tasks.document.states import Revision

REFUSED = "refused"
"""How a problem begins that kept a revision from being made."""


def revised(text: str, revision: Revision) -> tuple[str, str]:
    """The text after a revision, and why it was not made, if it was not. All passages or none."""
    if revision.text.strip():
        return revision.text, ""
    after = text
    for number, edit in enumerate(revision.edits, 1):
        times = after.count(edit.find)
        if times != 1:
            how = "does not occur" if not times else f"occurs {times} times"
            return text, f"{REFUSED}, nothing was changed: passage {number} {how}: {edit.find[:80]!r}"
        after = after.replace(edit.find, edit.replace)
    if after == text:
        return text, f"{REFUSED}: the revision changes nothing"
    return (after, "") if after.strip() else (text, f"{REFUSED}, nothing was changed: it would leave nothing")
