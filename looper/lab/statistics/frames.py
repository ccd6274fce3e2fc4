"""Columns and rows of a frame, as types that can be relied on."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pandas as pd

from looper.errors import ConfigError


def needed(frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Raises ConfigError where a column is missing or there is no row."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns))
        raise ConfigError(f"The frame of runs has no column {', '.join(missing)}; it has {there}.")
    if frame.empty:
        raise ConfigError("The frame of runs is empty; nothing can be compared.")


def numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as floats; missing values are NaN."""
    return np.asarray(frame[name], dtype=float)


def labels(frame: pd.DataFrame, name: str) -> list[Any]:
    return list(frame[name])


def rows(frame: pd.DataFrame, chosen: Any) -> pd.DataFrame:
    """The rows where `chosen` is true."""
    return cast(pd.DataFrame, frame.loc[np.asarray(chosen, dtype=bool)])


def only(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    return cast(pd.DataFrame, frame.loc[:, list(columns)])


def distinct(frame: pd.DataFrame, name: str) -> list[Any]:
    """The different values of a column in order of appearance."""
    return list(dict.fromkeys(labels(frame, name)))
