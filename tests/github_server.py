"""A server on loopback that behaves like GitHub's repository search, and can misbehave.

    with GitHubServer(limited(reset=5), answers) as server:
        GitHub(base_url=server.url, ...).search(Query(keywords=["shutdown"]), 10)

Each request takes the next behaviour of the script; the last one repeats. `server.asked` holds the parameters and
headers of every request. The repositories are invented.
"""

import gzip
import hashlib
import itertools
import json
import re
import socket
import struct
import threading
from collections.abc import Callable
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

Behaviour = Callable[["Handler"], None]
Row = tuple[str, str, str, int, str, str]

ROWS: list[Row] = [
    ("harbor/graceful", "Graceful shutdown for Node.js", "JavaScript", 900, "graceful nodejs", "2024-05-01"),
    ("harbor/drain", "Drain connections, then stop HTTP", "JavaScript", 400, "http stop nodejs", "2023-01-10"),
    ("mill/quiet-exit", "Graceful stop of worker processes", "Python", 120, "graceful stop signals", "2022-03-04"),
    ("mill/lights-out", "Shutdown hooks for services", "Go", 75, "shutdown graceful", "2021-07-07"),
    ("mill/nightfall", "Graceful shutdown and stop for daemons", "Go", 310, "daemon graceful", "2024-02-02"),
    ("tower/kettle", "A C++ kettle that boils tea", "C++", 5, "tea", "2020-01-01"),
    ("tower/teapot", "Tea timer in JavaScript", "JavaScript", 50, "tea timer", "2024-01-01"),
    *((f"field/crop-{n:03}", f"Sample crop number {n}", "Python", n, "crop", "2023-06-01") for n in range(250)),
]  # fmt: skip


def repository(row: Row) -> dict[str, Any]:
    name, description, language, stars, topics, pushed = row
    return {
        "full_name": name,
        "name": name.split("/")[1],
        "description": description,
        "language": language,
        "stargazers_count": stars,
        "topics": topics.split(),
        "pushed_at": f"{pushed}T10:00:00Z",
        "html_url": f"https://github.test/{name}",
        "private": False,
        "score": 1.0,
    }


def matches(q: str, row: Row) -> bool:
    """Words side by side must all occur, NOT excludes, OR joins; qualifiers hold in all cases."""
    terms = re.findall(r'[a-z]+:(?:"[^"]*"|\S+)|"[^"]*"|\S+', q)
    if not all(_qualified(term, row) for term in terms if re.match(r"[a-z]+:", term)):
        return False
    words = [term for term in terms if not re.match(r"[a-z]+:", term)]
    if "OR" in words:
        return any(_holds(word, row) for word in words if word != "OR")
    wanted = [word for before, word in itertools.pairwise(["", *words]) if "NOT" not in (before, word)]
    without = [word for before, word in itertools.pairwise(["", *words]) if before == "NOT"]
    return all(_holds(word, row) for word in wanted) and not any(_holds(word, row) for word in without)


def _holds(word: str, row: Row) -> bool:
    text = f" {row[0].split('/')[1]} {row[1]} {row[4]} ".lower()
    return re.search(rf"(?<!\w){re.escape(word.strip(chr(34)).lower())}(?!\w)", text) is not None


def _qualified(term: str, row: Row) -> bool:
    name, _, value = term.partition(":")
    value = value.strip('"')
    checks: dict[str, Callable[[], bool]] = {
        "language": lambda: row[2].lower() == value.lower(),
        "stars": lambda: row[3] >= int(value.removeprefix(">=")),
        "topic": lambda: value in row[4].split(),
        "pushed": lambda: date.fromisoformat(row[5]) >= date.fromisoformat(value.removeprefix(">=")),
        "in": lambda: set(value.split(",")) <= {"name", "description", "topics", "readme"},
        "is": lambda: value == "public",
    }
    return checks[name]()


def broken_limit(q: str) -> str:
    """Which of the documented limits the query breaks."""
    bare = re.sub(r'[a-z]+:(?:"[^"]*"|\S+)', "", q).split()
    if sum(word in ("AND", "OR", "NOT") for word in bare) > 5:
        return "More than five AND / OR / NOT operators were used."
    length = len(" ".join(word for word in bare if word not in ("AND", "OR", "NOT")))
    return "The search is longer than 256 characters." if length > 256 else ""


class Handler(BaseHTTPRequestHandler):
    """Reads the request, notes it, and lets the script answer."""

    @property
    def book(self) -> "_Server":
        assert isinstance(self.server, _Server)
        return self.server

    @property
    def params(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def do_GET(self) -> None:
        behave = self.book.noted(self.params, {k.lower(): v for k, v in self.headers.items()})
        try:
            behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client hung up, which is what it should do

    def send(self, body: bytes, code: int = 200, length: int | None = None, **headers: str) -> None:
        self.head(code, len(body) if length is None else length, **headers)
        self.wfile.write(body)

    def head(self, code: int, length: int, **headers: str) -> None:
        self.send_response(code)
        fields = {"Content-Type": "application/json", "Content-Length": str(length)}
        for name, value in (fields | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the tests read `asked`."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: tuple[Behaviour, ...]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: tuple[Behaviour, ...] = script or (answers,)
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []
        self.over, self.lock = threading.Event(), threading.Lock()

    def noted(self, params: dict[str, str], headers: dict[str, str]) -> Behaviour:
        with self.lock:
            self.asked.append((params, headers))
            return self.script[min(len(self.asked), len(self.script)) - 1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A socket that a behaviour closed on purpose is no news."""


class GitHubServer:
    """A server with a script; leave the `with` block to stop it."""

    def __init__(self, *script: Behaviour):
        self.http = _Server(script)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.asked = self.http.asked

    @property
    def queries(self) -> list[str]:
        return [params["q"] for params, _ in self.asked]

    def __enter__(self) -> "GitHubServer":
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def answers(handler: Handler) -> None:
    """Behaves: paging with Link, limits of the query, ETag, headers of the rate limit."""
    params = handler.params
    reason = broken_limit(params["q"])
    if urlsplit(handler.path).path != "/search/repositories":
        return refuses(404, "Not Found")(handler)
    if reason:
        return handler.send(json.dumps({"message": "Validation Failed", "errors": [{"message": reason}]}).encode(), 422)
    found = [repository(row) for row in ROWS if matches(params["q"], row)]
    page, size = int(params.get("page", 1)), int(params.get("per_page", 30))
    items = found[:1000][(page - 1) * size : page * size]
    body = envelope(items, total=len(found))
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    more = {"ETag": etag, "X_RateLimit_Remaining": "29"}
    if page * size < len(found):
        query = urlencode({**params, "page": page + 1})
        more["Link"] = f'<http://{handler.headers["Host"]}/search/repositories?{query}>; rel="next"'
    if handler.headers.get("If-None-Match") == etag:
        handler.send(b"", 304, **more)
    else:
        handler.send(body, **more)
    return None


def envelope(items: list[Any], total: Any = None, incomplete: Any = False) -> bytes:
    """The body of an ordinary answer."""
    total = len(items) if total is None else total
    return json.dumps({"total_count": total, "incomplete_results": incomplete, "items": items}).encode()


def body(raw: bytes, code: int = 200, length: int | None = None, **headers: str) -> Behaviour:
    return lambda handler: handler.send(raw, code, length, **headers)


def items(*rows: Any, total: Any = None, incomplete: Any = False) -> Behaviour:
    return body(envelope(list(rows), total, incomplete))


def refuses(code: int, message: str = "no", **headers: str) -> Behaviour:
    return body(json.dumps({"message": message, "documentation_url": "https://docs.test"}).encode(), code, **headers)


def echoes_token(code: int) -> Behaviour:
    """Refuses and repeats the caller's token in the body and in headers, as real servers do."""

    def behave(handler: Handler) -> None:
        token = handler.headers["Authorization"]
        refuses(code, f"Bad credentials: {token}", ETag=f'"{token}"', X_Echo=token)(handler)

    return behave


def embeds_token(handler: Handler) -> None:
    """A good answer that holds the caller's token in every text, and in its ETag."""
    token = handler.headers["Authorization"].removeprefix("Bearer ")
    row = repository(ROWS[0]) | {
        "description": f"{'a' * 225} {token}",
        "topics": [token],
        "html_url": f"https://x/{token}",
    }
    handler.send(envelope([row]), ETag=f'"{token}"')


def redirects(location: str, code: int = 302) -> Behaviour:
    return body(b"", code, Location=location)


def resets(handler: Handler) -> None:
    """Closes the connection with a reset, without a word."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def mumbles(handler: Handler) -> None:
    """Speaks, but not HTTP."""
    handler.wfile.write(b"220 mail.test ESMTP\r\n\x1b[31mready\r\n\r\n")
    handler.close_connection = True


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
        handler.wfile.write(b'{"items": [' + b" " * 65_536)


def bomb(handler: Handler) -> None:
    """A small body that unpacks to 50 MB."""
    handler.send(gzip.compress(b" " * 50_000_000, 1), Content_Encoding="gzip")
