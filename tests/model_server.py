"""An OpenAI-compatible server on loopback that can misbehave.

    with ModelServer(status(429, **{"Retry-After": "0"}), says('{"ok": true}')) as server:
        Model(name="openai/test", base_url=server.url, ...)

Each request takes the next behaviour of the script; the last one repeats. `server.requests` holds what was asked.
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]
USAGE = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}


class Handler(BaseHTTPRequestHandler):
    """Reads the request, notes it, and lets the script answer."""

    @property
    def book(self) -> "_Server":
        assert isinstance(self.server, _Server)
        return self.server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behave = self.book.noted(json.loads(body), {k.lower(): v for k, v in self.headers.items()})
        try:
            behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client hung up on a slow or huge reply, which is what it should do

    def send(self, body: bytes, code: int = 200, length: int | None = None, **headers: str) -> None:
        self.head(code, len(body) if length is None else length, **headers)
        self.wfile.write(body)

    def head(self, code: int, length: int, **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(length), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the tests read `requests`."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: tuple[Behaviour, ...]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.headers = script, [], []
        self.over, self.lock = threading.Event(), threading.Lock()

    def noted(self, body: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        with self.lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self.script[min(len(self.requests), len(self.script)) - 1]


class ModelServer:
    """A server with a script; leave the `with` block to stop it."""

    def __init__(self, *script: Behaviour):
        self.http = _Server(script)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.requests: list[dict[str, Any]] = self.http.requests
        self.headers: list[dict[str, str]] = self.http.headers

    def __enter__(self) -> "ModelServer":
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def completion(text: Any, finish: str = "stop", usage: Any = USAGE, **message: Any) -> bytes:
    """The body of an ordinary chat completion."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "test", "choices": [choice]}
    return json.dumps(body if usage is None else body | {"usage": usage}).encode()


def says(text: Any, **more: Any) -> Behaviour:
    return body(completion(text, **more))


def body(raw: bytes, code: int = 200, length: int | None = None, **headers: str) -> Behaviour:
    return lambda handler: handler.send(raw, code, length, **headers)


def status(code: int, message: str = "no", kind: str = "error", **headers: str) -> Behaviour:
    return body(json.dumps({"error": {"message": message, "type": kind, "code": kind}}).encode(), code, None, **headers)


def echoes_key(code: int) -> Behaviour:
    """Refuses and repeats the caller's key, as real servers do."""
    return lambda handler: status(code, f"Incorrect API key provided: {handler.headers['Authorization']}")(handler)


def resets(handler: Handler) -> None:
    """Drops the socket without a word."""
    handler.close_connection = True
    handler.connection.close()


def hangs(handler: Handler) -> None:
    handler.book.over.wait(30)


def drips(handler: Handler) -> None:
    """Never silent for long, never done: a header, then spaces, 100 a second."""
    handler.head(200, 1_000_000)
    while not handler.book.over.wait(0.01):
        handler.wfile.write(b" ")


def drips_head(handler: Handler) -> None:
    """The same inside the header, where a client's read time-out never fires."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.book.over.wait(0.01):
        handler.wfile.write(b"x")


def floods(handler: Handler) -> None:
    """A reply that does not end."""
    handler.head(200, 10**12)
    while not handler.book.over.is_set():
        handler.wfile.write(b'{"choices": [' + b" " * 65_536)
