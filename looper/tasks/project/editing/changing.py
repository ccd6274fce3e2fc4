"""What becomes of a coder's answer: a change to the letter, files to see, a question, or a refusal that is said."""

from collections.abc import Mapping

from looper.tasks.project.editing.edits import EditLimits, applied
from looper.tasks.project.guard.watch import Watch, violations
from looper.tasks.project.reading.source import Source
from looper.tasks.project.states import Edits, Tree


def changed_by(state: Tree, action: Edits, source: Source, limits: EditLimits, watch: Watch) -> Tree:
    """The workspace after an answer; what does not apply, or may not be, changes nothing."""
    if action.look_at:
        return _asked(state, action, source, watch)
    if action.needs_clarification.strip():
        return state.model_copy(
            update={"became": "clarify", "last": action.needs_clarification, "violations": [], "desk": {}}
        )
    made = applied(source, state.changed, action.edits, limits)
    found = violations(source, state.changed, made.changed, action, watch)
    fouls = "; ".join(one.text for one in found if one.foul)
    refused = made.problem or (f"not allowed: {fouls}" if fouls else "")
    if refused:
        said = {"became": "refused", "last": f"refused: {refused}", "violations": found, "desk": {}}
        return state.model_copy(update=said)
    more = " and more" if len(made.touched) > 5 else ""
    return Tree(
        changed=made.changed, shown=state.shown, violations=found, last=f"changed {', '.join(made.touched[:5])}{more}"
    )


def texts_of(source: Source, changed: Mapping[str, str | None]) -> dict[str, str]:
    """All text files with these changes."""
    both = {**source.texts, **changed}
    return {path: text for path, text in both.items() if text is not None}


def _asked(state: Tree, action: Edits, source: Source, watch: Watch) -> Tree:
    """The files that are wanted are shown from now on."""
    texts = texts_of(source, state.changed)
    known = [path for path in action.look_at if path in texts]
    gone = [path for path in action.look_at if path not in texts]
    last = f"shows {', '.join(known) or 'nothing'}" + (f"; there is no {', '.join(gone)}" if gone else "")
    shown = [*(path for path in state.shown if path not in known), *known]
    found = violations(source, state.changed, state.changed, action, watch)
    return state.model_copy(update={"shown": shown, "became": "asked", "last": last, "violations": found, "desk": {}})
