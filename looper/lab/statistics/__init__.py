"""Comparing designs on the same tasks and seeds (SPEC 6.2, 6.3): frames in, frames and numbers out.

A frame of runs has one row per run: run, task, design, seed, gate_score, passed, holdout (NaN where there is none),
score, inner, outer, usd, tokens, calls, seconds. A frame of histories has one row per evaluated step, its accounts
counted from the run's start. Runs of one task are alike, so the task is the cluster everywhere: it is what is
resampled, and what signs are flipped for.
"""

from looper.lab.statistics.anytime import anytime
from looper.lab.statistics.comparing import ACCOUNTS, SCORES, all_pairs, compare, per_task
from looper.lab.statistics.gates import after_correct, gate_truth
from looper.lab.statistics.intervals import Interval, interval, wilson
from looper.lab.statistics.pairing import pairs
from looper.lab.statistics.pareto import pareto, pareto_share
from looper.lab.statistics.power import detectable, minimum_detectable
from looper.lab.statistics.significance import holm, mcnemar, permutation, unpaired
from looper.lab.statistics.verdicts import Verdict, note, verdict

__all__ = [
    "ACCOUNTS", "SCORES", "Interval", "Verdict", "after_correct", "all_pairs", "anytime", "compare", "detectable",
    "gate_truth", "holm",
    "interval", "mcnemar", "minimum_detectable", "note", "pairs", "pareto", "pareto_share", "per_task", "permutation",
    "unpaired", "verdict", "wilson",
]  # fmt: skip
