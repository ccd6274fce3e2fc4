"""A process without a network: whatever asks for a connection while the block runs is refused (SPEC 6.5).

The refusal is an audit hook of the interpreter, below every library of Python's: `connect`, `sendto`, `sendmsg` and the
look-up of names raise OSError (ENETUNREACH), to this machine's own addresses too. What stays open are sockets of the
file system and pairs of sockets, which lead to nobody else's machine and which the sandbox may need. What the sandbox
starts has no network of its own on its strong rungs; other child processes are not held back.
"""

import errno
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TO_AN_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg")
"""Audit events with the socket and the address; a message without one goes where the socket is connected already."""
OF_A_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
WORDS = "the network is blocked while a run is replayed"

_told: list[Callable[[str], None]] = []
_installed = threading.Event()
_lock = threading.Lock()


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _told or not event.startswith("socket."):
        return
    if event in OF_A_NAME:
        _refuse(str(args[0]))
    elif event in TO_AN_ADDRESS and args[1] is not None and args[0].family != socket.AF_UNIX:
        _refuse(str(args[1]))


def _refuse(where: str) -> None:
    for tell in list(_told):
        tell(where)
    raise OSError(errno.ENETUNREACH, f"{WORDS} ({where})")


@contextmanager
def offline(tell: Callable[[str], None]) -> Iterator[None]:
    """No network for any thread of this process; `tell` hears where somebody wanted to go."""
    with _lock:
        if not _installed.is_set():  # an audit hook stays for good; it does nothing outside these blocks
            sys.addaudithook(_hook)
            _installed.set()
        _told.append(tell)
    try:
        yield
    finally:
        with _lock:
            _told.remove(tell)
