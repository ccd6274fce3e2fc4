"""One request to GitHub: a hard deadline, a cap on bytes, redirects at home only.

Imported when a request is about to be made: httpx is slow to import. Its own time-outs count per read, so that a
server that sends a byte now and then would never be late (SAFETY, model-call facts).
"""

import socket
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

import httpx

from looper.tasks.search.github.access import loopback
from looper.tasks.search.github.faults import Fault
from looper.tasks.search.github.reply import clean, harmless

HOPS = 3
"""Redirects that are followed, each to the same scheme, host and port."""


@dataclass(frozen=True)
class Answer:
    """What the server sent, whole."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Exchange:
    """One request and its answer; the sockets are its own, so that it can be cut from another thread."""

    def __init__(self, url: httpx.URL, headers: dict[str, str], deadline: float, max_bytes: int):
        self.url, self.max_bytes, self.deadline = url, max_bytes, deadline
        self.headers = {**headers, "Accept-Encoding": "identity"}  # so that the cap counts what is held in memory
        self.streams: list[Any] = []
        self.over = self.answered = False

    def run(self) -> Answer | Fault:
        """The answer, or why there is none, after at most `deadline` seconds."""
        future: Future[Answer | Fault] = Future()
        threading.Thread(target=self._work, args=(future,), name="github-search", daemon=True).start()
        try:
            done, _ = wait([future], timeout=self.deadline)
            return future.result() if done else Fault("timeout", f"{self.deadline:g} s")
        finally:
            if not future.done():
                self._cut()

    def _work(self, future: "Future[Answer | Fault]") -> None:
        try:
            future.set_result(self._talk())
        except BaseException as error:  # a thread's boundary: the caller raises it
            future.set_exception(error)

    def _talk(self) -> Answer | Fault:
        try:
            with self._client() as client:
                return self._follow(client)
        except httpx.TimeoutException:
            return Fault("timeout", f"{self.deadline:g} s")
        except (httpx.ConnectError, httpx.ProxyError) as error:
            return Fault("unreachable", _harmless(error))
        except httpx.RemoteProtocolError as error:
            return Fault(self._broken(str(error)), _harmless(error))
        except (httpx.TransportError, OSError) as error:
            return Fault("cut_short" if self.answered else "connection_reset", _harmless(error))

    def _broken(self, words: str) -> str:
        if self.answered:
            return "cut_short"
        return "connection_reset" if "disconnected" in words else "not_http"

    def _client(self) -> httpx.Client:
        """Proxies of the environment are for the world, not for this machine; plain http needs no certificates."""
        return httpx.Client(
            timeout=self.deadline,
            follow_redirects=False,
            trust_env=not loopback(self.url.host),
            verify=self.url.scheme == "https",
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    def _follow(self, client: httpx.Client) -> Answer | Fault:
        url = self.url
        for _ in range(HOPS + 1):
            trace = {"trace": self._traced}
            with client.stream("GET", url, headers=self.headers, extensions=trace) as response:
                self.answered = True
                if response.status_code not in (301, 302, 303, 307, 308):
                    return self._read(response)
                target = _target(url, response.headers.get("location", ""))
            if target is None or _origin(target) != _origin(self.url):
                return Fault("redirected_elsewhere", clean(target.host)[:100] if target else "no address")
            url = target
        return Fault("redirect_loop", f"{HOPS} redirects")

    def _read(self, response: httpx.Response) -> Answer | Fault:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if headers.get("content-encoding", "identity").lower() != "identity":
            return Fault("compressed", clean(headers["content-encoding"])[:40])
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > self.max_bytes:
                return Fault("too_large", f"{self.max_bytes} bytes")
        return Answer(response.status_code, headers, bytes(body))

    def _traced(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.streams.append(info["return_value"])
            if self.over:
                raise ConnectionAbortedError("the deadline has passed")

    def _cut(self) -> None:
        """Shuts the sockets: a blocked read returns at once and the thread ends."""
        self.over = True
        for stream in list(self.streams):
            try:
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
            except OSError:
                continue  # closed already, which is all that is wanted


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    usual = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or usual


def _target(url: httpx.URL, location: str) -> httpx.URL | None:
    if not location:
        return None
    try:
        return url.join(location)
    except httpx.InvalidURL:
        return None


def _harmless(error: BaseException) -> str:
    return harmless(str(error))[:160]
