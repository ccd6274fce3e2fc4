"""Feeds a program its input and drains its output, keeping no more than a limit."""

import os
import selectors
import time
from typing import IO

from looper.checks.sandbox.process import Worker
from looper.checks.sandbox.types import Limits, Result

PIECE = 65536
FLOOD = 64
"""Times the output limit that are read and dropped before the program is ended."""


class _Kept:
    """The beginning of a stream."""

    def __init__(self, limit: int):
        self.limit, self.seen, self.data = limit, 0, bytearray()

    def take(self, piece: bytes) -> None:
        self.seen += len(piece)
        self.data += piece[: max(0, self.limit - len(self.data))]


def finish(worker: Worker, stdin: bytes, limits: Limits) -> Result:
    """Waits for the end of the program; the warden ends it when it is over a limit."""
    kept = {worker.stdout: _Kept(limits.output_kb * 1024), worker.stderr: _Kept(limits.output_kb * 1024)}
    try:
        _pump(worker, memoryview(stdin), kept)
        ended = worker.wait()
    finally:
        worker.close()
    out, err = kept[worker.stdout], kept[worker.stderr]
    return Result(
        exit_code=worker.exit_code,
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        seconds=time.monotonic() - worker.started,
        ended=ended,
        peak_mb=worker.peak_mb,
        truncated=max(out.seen, err.seen) > out.limit,
    )


def _pump(worker: Worker, rest: memoryview, kept: dict[IO[bytes], _Kept]) -> None:
    """Moves bytes until both output streams are closed."""
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ)
        os.set_blocking(worker.stdin.fileno(), False)
        selector.register(worker.stdin, selectors.EVENT_WRITE)
        while any(pipe in selector.get_map() for pipe in kept):
            for key, _ in selector.select():
                if key.fileobj is worker.stdin:
                    rest = _feed(worker.stdin, rest)
                    if not rest:
                        selector.unregister(worker.stdin)
                        worker.stdin.close()
                else:
                    _drain(worker, selector, key, kept)


def _feed(pipe: IO[bytes], rest: memoryview) -> memoryview:
    """What is left to write; nothing once the program has stopped reading."""
    try:
        return rest[os.write(pipe.fileno(), rest[:PIECE]) :] if rest else rest
    except BrokenPipeError:
        return rest[:0]


def _drain(
    worker: Worker, selector: selectors.BaseSelector, key: selectors.SelectorKey, kept: dict[IO[bytes], _Kept]
) -> None:
    piece = os.read(key.fd, PIECE)
    for pipe, store in kept.items():
        if pipe is key.fileobj:
            store.take(piece)
            if store.seen > FLOOD * store.limit:
                worker.kill("output")
            if not piece:
                selector.unregister(pipe)
