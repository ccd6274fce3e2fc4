"""A process that tries 60 times to be the one that runs a folder; prints entered, refused and overlaps as JSON.

python lock_attempts.py FOLDER: says `ready`, and begins when a line comes in.
"""

import json
import os
import sys
import time
from pathlib import Path

from looper.errors import RunLocked
from looper.folder import Folder


def attempt(folder: Path, found: dict[str, int]) -> None:
    marker = folder / "inside"
    try:
        with Folder(folder).locked():
            found["entered"] += 1
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                found["overlaps"] += 1
            time.sleep(0.002)
            marker.unlink(missing_ok=True)
    except RunLocked:
        found["refused"] += 1
        time.sleep(0.001)


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    counts = {"entered": 0, "refused": 0, "overlaps": 0}
    for _ in range(60):
        attempt(Path(sys.argv[1]), counts)
    print(json.dumps(counts))
