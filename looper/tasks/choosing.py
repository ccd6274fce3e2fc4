"""Which failed rule a writer works on next, for tasks whose inner policy chooses rules."""

from collections.abc import Mapping

from looper.criteria import Criteria, Evaluation


def next_rule(criteria: Criteria, verdict: Evaluation, tries: Mapping[str, int], most: int) -> str | None:
    """Blockers first, then the one worked on least, then by weight; None if all had `most` tries."""
    weight = {rule.id: rule.weight for rule in criteria.rules}
    left = [rule for rule in verdict.failed if tries.get(rule, 0) < most]
    return min(left, key=lambda r: (r not in verdict.blockers, tries.get(r, 0), -weight[r], r), default=None)
