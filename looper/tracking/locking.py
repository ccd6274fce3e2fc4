"""One process at a time, where several commands mirror into one store."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from looper.errors import LooperError


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold a lock file, for which at most so many seconds are waited. Raises LooperError."""
    deadline = time.monotonic() + seconds
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise LooperError(f"{path.name}: another process is at it; try again later.") from error
                time.sleep(0.1)
        yield
