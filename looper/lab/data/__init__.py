"""Runs as pandas frames, from run folders or from MLflow, with the same columns (SPEC 6.2).

from looper.lab.data import Store, histories_of, runs_of
runs = runs_of("outputs/sweeps/first")                          # folders: a run, a sweep, or all of outputs/
runs = runs_of(Store("sqlite:///outputs/mlflow.db", sweep="first"))
history = histories_of(runs)
"""

from looper.lab.data.frame import COLUMNS, HISTORY
from looper.lab.data.sources import Source, Store, histories_of, runs_of

__all__ = ["COLUMNS", "HISTORY", "Source", "Store", "histories_of", "runs_of"]
