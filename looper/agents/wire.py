"""The network side of one model call: a hard wall of time, a cap on bytes, and never a second request.

Import it only when a call is about to be made: httpx is slow to import. The client library's own time-out counts per
read, so a server that sends a byte now and then is never late (SAFETY, model-call facts).
"""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any

import httpx

REFUSAL_BYTES = 65_536
"""What is kept of the body of a refusal: enough for its reason."""


class WireCut(OSError):
    """Raised inside the client library to end a call that broke a bound; `Wire.fault` says which."""


class Wire:
    """One attempt on the network: what came back, and the means to cut it off."""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.requests, self.received = 0, 0
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self.fault = ""
        self.streams: list[Any] = []

    def refuse(self, fault: str) -> WireCut:
        self.fault = self.fault or fault
        return WireCut(fault)

    def traced(self, event: str, info: dict[str, Any]) -> None:
        """Keeps each network stream that is opened, so that it can be cut from another thread."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.streams.append(info["return_value"])
            if self.fault:
                raise WireCut(self.fault)

    def cut(self, fault: str) -> None:
        """Shuts every socket, from whichever thread: a blocked read returns at once."""
        self.fault = self.fault or fault
        for stream in list(self.streams):
            raw = stream.get_extra_info("socket")
            try:
                socket.socket.shutdown(raw, socket.SHUT_RDWR)
            except OSError:
                continue  # it was closed already, which is all that is wanted


_CURRENT: ContextVar[Wire | None] = ContextVar("wire", default=None)


class _Counted(httpx.SyncByteStream):
    """A response body that ends the call when it grows beyond the cap."""

    def __init__(self, inner: Any, wire: Wire):
        self.inner, self.wire = inner, wire

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.inner:
            self.wire.received += len(chunk)
            if self.wire.received > self.wire.max_bytes:
                raise self.wire.refuse("too_large")
            if self.wire.status is not None and self.wire.status >= 400:
                self.wire.body = (self.wire.body + chunk)[:REFUSAL_BYTES]
            yield chunk

    def close(self) -> None:
        self.inner.close()


def _leaving(request: httpx.Request) -> None:
    wire = _CURRENT.get()
    if wire is None:
        return
    wire.requests += 1
    if wire.requests > 1:  # client libraries resend on some errors by themselves; nobody would have paid for that
        raise wire.refuse("resent")
    request.headers["accept-encoding"] = "identity"  # so that the cap counts what will be held in memory
    request.extensions["trace"] = wire.traced


def _arriving(response: httpx.Response) -> None:
    wire = _CURRENT.get()
    if wire is None:
        return
    wire.status, wire.headers = response.status_code, {k.lower(): v for k, v in response.headers.items()}
    if wire.headers.get("content-encoding", "identity").lower() != "identity":
        raise wire.refuse("bad_body")
    response.stream = _Counted(response.stream, wire)


def client() -> httpx.Client:
    """A client for all calls of the process. No connection is kept: each call owns its socket and may cut it."""
    hooks = {"request": [_leaving], "response": [_arriving]}
    return httpx.Client(event_hooks=hooks, limits=httpx.Limits(max_keepalive_connections=0), follow_redirects=False)


def nobody() -> httpx.Client:
    """A client that reaches nobody, for look-ups that no run has paid for or waits for."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("look-ups are switched off", request=request)

    return httpx.Client(transport=httpx.MockTransport(refuse))


def within(seconds: float, wire: Wire, call: Callable[[], Any]) -> Any:
    """What `call` returned or, as a value, what it raised; after `seconds` its sockets are shut and it is left."""
    future: Future[Any] = Future()

    def work() -> None:
        _CURRENT.set(wire)
        try:
            future.set_result(call())
        except BaseException as error:  # a thread's boundary: it is handed over and classified by the caller
            future.set_exception(error)

    worker = threading.Thread(target=work, name="model-call", daemon=True)
    worker.start()
    try:
        return future.exception(timeout=max(seconds, 0.001)) or future.result()
    except TimeoutError as late:
        wire.cut("timeout")
        return late
    finally:
        if not future.done():
            wire.cut("aborted")
            worker.join(0.2)
