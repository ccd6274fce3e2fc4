"""Python read without a warning for each text that deserves one."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_FILTERS = threading.Lock()
"""The filters of warnings are the process's: whoever changes them does so one thread at a time."""


@contextmanager
def quietly() -> Iterator[None]:
    """No SyntaxWarning from what is parsed or compiled in here."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
