"""The GitHub backend against a loopback server: queries, paging, limits, cache, and a name for every bad behaviour."""

import email.utils
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import github_server as gh
import pytest
from github_server import ROWS, GitHubServer, answers, repository
from pydantic import ValidationError

from looper import redact
from looper.errors import ConfigError, Paused, PhaseError
from looper.tasks.search.github import GitHub, limits
from looper.tasks.search.github.phrase import phrase, quoted
from looper.tasks.search.github.reply import clean
from looper.tasks.search.query import LONGEST_EXCERPT, Backend, Found, Hit, Query

CANARY = "canary~0123456789~abcdefABCDEF012345"
"""Of no known shape: it has to be known by its value."""
STOP = Query(keywords=["graceful", "shutdown"])
TEA = Query(keywords=["tea"])


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that would have been slept; nothing is."""
    slept: list[float] = []
    monkeypatch.setattr(limits, "sleep", slept.append)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    return slept


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    redact.rescan()  # before the token is there
    monkeypatch.setenv("GITHUB_TOKEN", CANARY)
    yield CANARY
    monkeypatch.delenv("GITHUB_TOKEN")
    redact.rescan()


@contextmanager
def served(*script: gh.Behaviour, **settings: Any) -> Iterator[tuple[GitHub, GitHubServer]]:
    with GitHubServer(*script) as server:
        yield GitHub(**{"base_url": server.url, "cache": "", "deadline": 5.0, **settings}), server


def ids(found: Found) -> list[str]:
    return [hit.id for hit in found.hits]


def hit(name: str, excerpt: str = "", topics: str = "") -> Hit:
    return Hit(id=name, score=1.0, title=name, excerpt=excerpt, fields={"topics": topics})


# What is asked


def test_it_is_a_backend():
    backend: Backend = GitHub()
    assert (backend.name, backend.fingerprint, backend.frequency("tea")) == ("github", "", None)


def test_words_side_by_side_must_all_occur():
    with served() as (github, server):
        found = github.search(STOP, 10)
    assert server.queries == ["graceful shutdown is:public"]
    assert ids(found) == ["harbor/graceful", "mill/lights-out", "mill/nightfall"]
    assert found.total == 3


def test_a_hit_carries_what_people_look_at():
    with served() as (github, _):
        first = github.search(STOP, 1).hits[0]
    assert (first.title, first.excerpt, first.score) == ("graceful", "Graceful shutdown for Node.js", 1.0)
    assert first.fields == {
        "stars": 900,
        "language": "JavaScript",
        "topics": "graceful nodejs",
        "pushed": "2024-05-01",
        "url": "https://github.test/harbor/graceful",
    }


def test_an_exclusion_is_kept_out():
    with served() as (github, server):
        found = github.search(STOP.model_copy(update={"exclusions": ["daemons"]}), 10)
    assert server.queries == ["graceful shutdown NOT daemons is:public"]
    assert ids(found) == ["harbor/graceful", "mill/lights-out"]


def test_alternatives_of_the_only_keyword_are_joined_by_or():
    with served() as (github, server):
        found = github.search(Query(keywords=["kettle"], alternatives={"kettle": ["timer", "C++"]}), 10)
    assert server.queries == ['kettle OR timer OR "c++" is:public']
    assert (ids(found), found.total) == (["tower/kettle", "tower/teapot"], 2)


def test_alternatives_beside_other_words_are_requests_of_their_own_and_the_union_is_exact_when_read():
    with served() as (github, server):
        found = github.search(STOP.model_copy(update={"alternatives": {"shutdown": ["stop"]}}), 10)
    assert server.queries == ["graceful shutdown is:public", "graceful stop is:public"]
    # rank by rank in turn; nightfall is in both
    assert ids(found) == ["harbor/graceful", "mill/quiet-exit", "mill/lights-out", "mill/nightfall"]
    assert found.total == 4
    assert "upper bound" not in found.note
    assert [hit.score for hit in found.hits] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_a_union_that_was_not_read_whole_is_called_an_upper_bound():
    with served(per_page=2) as (github, _):
        query = Query(keywords=["crop", "sample"], alternatives={"sample": ["number"]})
        found = github.search(query, 2)
    assert found.total == 498  # twice 250, of which two were seen to be the same
    assert "upper bound, united from 2 requests" in found.note


@pytest.mark.parametrize(
    ("filters", "qualifier", "expected"),
    [
        ({"language": "c++"}, 'language:"c++"', ["tower/kettle"]),
        ({"stars": 10}, "stars:>=10", ["tower/teapot"]),
        ({"stars": "10"}, "stars:>=10", ["tower/teapot"]),
        ({"topic": "timer"}, "topic:timer", ["tower/teapot"]),
        ({"pushed": "2023-12-31"}, "pushed:>=2023-12-31", ["tower/teapot"]),
        ({"in": "topics,name"}, "in:name,topics", ["tower/kettle", "tower/teapot"]),
    ],
)
def test_a_filter_becomes_a_qualifier(filters: dict[str, Any], qualifier: str, expected: list[str]):
    with served() as (github, server):
        found = github.search(Query(keywords=["tea"], filters=filters), 10)
    assert server.queries == [f"tea {qualifier} is:public"]
    assert ids(found) == expected


@pytest.mark.parametrize(
    "filters",
    [
        {"licence": "mit"},
        {"stars": -1},
        {"stars": "many"},
        {"language": 'go" user:me'},
        {"language": 3},
        {"topic": "a b"},
        {"pushed": "yesterday"},
        {"in": "code"},
    ],
)
def test_a_filter_that_does_not_fit_is_refused_before_anything_is_asked(filters: dict[str, Any]):
    with served() as (github, server):
        with pytest.raises(ConfigError, match="filter"):
            github.search(Query(keywords=["tea"], filters=filters), 10)
        assert server.asked == []


@pytest.mark.parametrize(
    "word", ["user:me", "-tea", "NOT", "or", 'tea" OR "x', "tea\\", "node.js", "two words", "\x1b[31mtea", "stars:>1"]
)
def test_a_word_stays_a_word(word: str):
    text = quoted(word)
    inner = text.strip('"')
    assert text == f'"{inner}"' or inner.isalnum()
    assert '"' not in inner
    assert "\\" not in inner
    assert "\x1b" not in inner
    assert inner not in ("not", "or") or text != inner


def test_an_empty_query_finds_nothing_and_asks_nothing():
    with served() as (github, server):
        for query in (Query(), Query(exclusions=["tea"]), Query(filters={"in": "name"}), Query(keywords=["!?"])):
            found = github.search(query, 10)
            assert (found.total, found.hits) == (0, [])
            assert "finds nothing" in found.note
        assert server.asked == []


def test_filters_alone_are_a_query():
    with served() as (github, _):
        assert ids(github.search(Query(filters={"topic": "timer"}), 10)) == ["tower/teapot"]


def test_what_is_too_much_for_the_api_is_left_out_and_said():
    excluded = [f"no{letter}" for letter in "abcdefg"]
    with served() as (github, server):
        found = github.search(Query(keywords=["tea"], exclusions=[*excluded, "2024"]), 10)
    assert server.queries == ["tea NOT noa NOT nob NOT noc NOT nod NOT noe is:public"]
    for word in ("nof", "nog", "2024"):
        assert f"exclusion {word}" in found.note


def test_numbers_are_not_excluded_and_it_is_said():
    with served() as (github, server):
        found = github.search(Query(keywords=["tea"], exclusions=["2024", "kettle"]), 10)
    assert server.queries == ["tea NOT kettle is:public"]
    assert "exclusion 2024 (GitHub excludes words only)" in found.note


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("size", [1, 30, 120])
def test_every_request_keeps_the_limits_of_the_api(count: int, size: int):
    words = [f"{chr(97 + n)}{'x' * size}" for n in range(count)]
    query = Query(
        keywords=words,
        alternatives={w: [f"{w}y", f"{w}z", f"{w}q"] for w in words},
        exclusions=[f"e{chr(97 + n)}{'e' * size}" for n in range(9)],
    )
    made = phrase(query, ("is:public",))
    assert 1 <= len(made.requests) <= 6
    assert not any(gh.broken_limit(request) for request in made.requests)
    assert made.left_out  # nine exclusions are too many in any case


def test_one_keyword_beyond_the_length_is_refused():
    with pytest.raises(ConfigError, match="too long"):
        phrase(Query(keywords=["x" * 300]))


def test_a_query_as_wide_as_allowed_loses_nothing():
    words = list("abcdef")[: GitHub.widest]
    assert phrase(Query(keywords=words[:1], alternatives={words[0]: words[1:]})).left_out == ()
    assert phrase(Query(keywords=words[:1], exclusions=words[1:])).left_out == ()
    assert phrase(Query(keywords=words)).left_out == ()


# Words


def test_words_keep_names_whole_and_drop_the_asking():
    need = "Find libraries for graceful shutdown in Node.js, C++ or c#; don\u2019t use graceful-fs or .NET 4.5."
    assert GitHub().words(need) == ["graceful", "shutdown", "node.js", "c++", "c#", "graceful-fs", ".net"]


def test_related_words_come_from_topics_before_descriptions_and_are_never_the_word():
    hits = [
        hit("a/1", "graceful shutdown of servers", "sigterm graceful-shutdown"),
        hit("a/2", "shutdown hooks", "sigterm"),
        hit("a/3", "tea timer", "tea"),
    ]
    words = GitHub().related("shutdown", hits, 3)
    assert words[0] == "sigterm"
    assert "graceful-shutdown" in words
    assert not {"shutdown", "tea", "timer"} & set(words)
    assert GitHub().related("Shutdown", list(reversed(hits)), 3) == words
    assert GitHub().related("unheard", hits, 3) == []
    assert GitHub().related("shutdown", hits, 0) == []


# Paging


def test_pages_are_read_until_there_are_enough():
    with served(per_page=40) as (github, server):
        found = github.search(Query(keywords=["crop"]), 100)
    assert [params["page"] for params, _ in server.asked] == ["1", "2", "3"]
    assert len(set(ids(found))) == 100
    assert found.total == 250


def test_the_last_page_ends_the_reading():
    with served() as (github, server):
        found = github.search(Query(keywords=["crop"]), 2000)
    assert len(found.hits) == 250
    assert len(server.asked) == 3


def test_no_more_than_a_thousand_are_asked_for_and_it_is_said():
    rows = [repository(row) for row in ROWS[:50]]
    with served(gh.items(*rows, total=5000), per_page=70) as (github, server):
        found = github.search(TEA, 1000)
    assert len(server.asked) == 14
    assert "980 results at most" in found.note


def test_a_page_that_repeats_items_brings_no_doublets():
    rows = [repository(row) for row in ROWS[:2]]
    with served(gh.items(*rows, *rows, total=9), per_page=4) as (github, _):
        assert ids(github.search(TEA, 9)) == ["harbor/graceful", "harbor/drain"]


def test_an_empty_page_ends_the_reading():
    with served(gh.items(repository(ROWS[0]), total=900), gh.items(total=900), per_page=1) as (github, server):
        assert len(github.search(TEA, 50).hits) == 1
    assert len(server.asked) == 2


def test_incomplete_results_are_said_and_not_kept(tmp_path: Path):
    with served(gh.items(repository(ROWS[0]), incomplete=True), answers, cache=str(tmp_path)) as (github, server):
        assert "incomplete" in github.search(STOP, 5).note
        assert "incomplete" not in github.search(STOP, 5).note
    assert len(server.asked) == 2


# Bad behaviour, each with its name

GOOD = repository(ROWS[0])
FAULTS: dict[str, tuple[gh.Behaviour, str]] = {
    "a bad token": (gh.refuses(401, "Bad credentials"), "auth_denied"),
    "forbidden": (gh.refuses(403, "Resource not accessible by token"), "auth_denied"),
    "forbidden, limit not spent": (gh.refuses(403, "no", X_RateLimit_Remaining="12"), "auth_denied"),
    "no such address": (gh.refuses(404, "Not Found"), "not_found"),
    "an invalid query": (gh.refuses(422, "Validation Failed"), "query_refused"),
    "teapot": (gh.refuses(418), "unexpected_status"),
    "not modified, unasked": (gh.body(b"", 304), "unexpected_status"),
    "an empty success": (gh.body(b"", 204), "unexpected_status"),
    "failing for ever": (gh.refuses(502, "Bad Gateway"), "server_error"),
    "reset": (gh.resets, "connection_reset"),
    "another protocol": (gh.mumbles, "not_http"),
    "a web page": (gh.body(b"<!DOCTYPE html><html>", Content_Type="text/html"), "not_json"),
    "half of the JSON": (gh.body(gh.envelope([GOOD])[:40]), "not_json"),
    "a number too long": (gh.body(b'{"total_count": ' + b"9" * 9000 + b"}"), "not_json"),
    "brackets": (gh.body(b"[" * 100_000), "not_json"),
    "half of the body": (gh.body(gh.envelope([GOOD]), 200, 5000), "cut_short"),
    "not UTF-8": (gh.body(b'{"total_count": 1, "items": ["\xff\xfe"]}'), "not_utf8"),
    "a list": (gh.body(b"[]"), "bad_shape"),
    "null": (gh.body(b"null"), "bad_shape"),
    "no items": (gh.body(b'{"total_count": 1, "incomplete_results": false}'), "bad_shape"),
    "null items": (gh.body(b'{"total_count": 1, "incomplete_results": false, "items": null}'), "bad_shape"),
    "a negative total": (gh.items(GOOD, total=-1), "bad_shape"),
    "a total in words": (gh.items(GOOD, total="many"), "bad_shape"),
    "a true total": (gh.items(GOOD, total=True), "bad_shape"),
    "incomplete in words": (gh.items(GOOD, incomplete="yes"), "bad_shape"),
    "null as an item": (gh.items(None), "bad_shape"),
    "no name": (gh.items({k: v for k, v in GOOD.items() if k != "full_name"}), "bad_shape"),
    "a name that is none": (gh.items(GOOD | {"full_name": "../../etc/passwd"}), "bad_shape"),
    "null stars": (gh.items(GOOD | {"stargazers_count": None}), "bad_shape"),
    "too many items": (gh.items(*[GOOD] * 101), "bad_shape"),
    "a flood": (gh.floods, "too_large"),
    "a large body": (gh.body(b" " * 1_500_000), "too_large"),
    "a bomb": (gh.bomb, "compressed"),
    "redirect elsewhere": (gh.redirects("http://127.0.0.2:9/search"), "redirected_elsewhere"),
    "redirect to another port": (gh.redirects("//127.0.0.1:9/search"), "redirected_elsewhere"),
    "redirect to nowhere": (gh.redirects(""), "redirected_elsewhere"),
    "redirect to nonsense": (gh.redirects("http://[bad"), "redirected_elsewhere"),
    "redirect in a circle": (gh.redirects("/search/repositories?q=tea"), "redirect_loop"),
}
HEAL = {"server_error", "connection_reset", "not_http", "not_json", "not_utf8", "cut_short", "bad_shape"}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_ends_with_its_name(kind: str, naps: list[float], tmp_path: Path):
    behave, reason = FAULTS[kind]
    with served(behave, retries=2, max_bytes=1_000_000, cache=str(tmp_path)) as (github, server):
        with pytest.raises(PhaseError) as caught:
            github.search(TEA, 5)
        asked = len(server.asked)
    assert caught.value.reason == reason
    message = str(caught.value)
    assert message.startswith("GitHub search")
    assert message.isprintable()
    assert len(message) < 400
    redirected = 3 if reason == "redirect_loop" else 0
    assert asked == (3 if reason in HEAL else 1 + redirected)
    assert naps == ([1.0, 2.0] if reason in HEAL else [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [kind for kind, (_, reason) in FAULTS.items() if reason in HEAL])
def test_a_fault_that_heals_is_survived(kind: str):
    with served(FAULTS[kind][0], answers) as (github, _):
        found = github.search(TEA, 5)
    assert len(found.hits) == 2
    assert found.waited == 0  # nobody told us to wait


@pytest.mark.parametrize("behave", [gh.hangs, gh.drips, gh.drips_head], ids=["hang", "drip", "drip in the head"])
def test_the_deadline_is_a_wall_and_a_timeout_is_tried_again_once(behave: gh.Behaviour):
    began = time.monotonic()
    with served(behave, deadline=0.2) as (github, server):
        with pytest.raises(PhaseError) as caught:
            github.search(TEA, 5)
        took = time.monotonic() - began
        assert len(server.asked) == 2
    assert caught.value.reason == "timeout"
    assert took < 2.0


def test_a_request_that_is_cut_leaves_no_thread_behind():
    with served(gh.drips, deadline=0.2, retries=0) as (github, _):
        with pytest.raises(PhaseError, match="deadline"):
            github.search(TEA, 5)
        until = time.monotonic() + 2
        while (left := [t for t in threading.enumerate() if t.name == "github-search"]) and time.monotonic() < until:
            time.sleep(0.01)
    assert left == []


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with served() as (github, _):
        assert len(github.search(TEA, 5).hits) == 2


def test_nobody_there_is_unreachable(naps: list[float]):
    with GitHubServer() as server:
        address = server.url
    with pytest.raises(PhaseError) as caught:
        GitHub(base_url=address, cache="", retries=1).search(TEA, 5)
    assert caught.value.reason == "unreachable"
    assert naps == [1.0]


def test_null_in_optional_fields_is_no_fault():
    row = GOOD | {"description": None, "language": None, "topics": None, "pushed_at": None, "html_url": None}
    with served(gh.items(row)) as (github, _):
        found = github.search(TEA, 5).hits[0]
    assert found.excerpt == ""
    assert found.fields == {"stars": 900, "language": "", "topics": "", "pushed": "", "url": ""}


def test_a_redirect_at_home_is_followed_with_the_token(token: str):
    with served(gh.redirects("/search/repositories?q=tea&per_page=100", 307), answers) as (github, server):
        assert len(github.search(TEA, 5).hits) == 2
    assert [headers["authorization"] for _, headers in server.asked] == [f"Bearer {token}"] * 2


def test_a_redirect_to_another_host_is_never_asked(token: str):
    with GitHubServer() as other, served(gh.redirects(f"{other.url}/search/repositories?q=tea")) as (github, _):
        with pytest.raises(PhaseError, match="not followed"):
            github.search(TEA, 5)
        assert other.asked == []


# Rate limits


def spent(seconds: float, code: int = 403) -> gh.Behaviour:
    """The primary limit, which ends so many seconds from the server's now."""

    def behave(handler: gh.Handler) -> None:
        reset = str(int(limits.now() + seconds))
        gh.refuses(code, "API rate limit exceeded", X_RateLimit_Remaining="0", X_RateLimit_Reset=reset)(handler)

    return behave


@pytest.mark.parametrize("code", [403, 429])
def test_a_limit_that_ends_soon_is_waited_for(code: int, naps: list[float]):
    with served(spent(30, code), answers) as (github, _):
        found = github.search(TEA, 5)
    assert len(found.hits) == 2
    assert naps == [found.waited]
    assert 28 <= found.waited <= 32


def test_a_limit_that_ends_late_pauses_and_tells_when(naps: list[float]):
    with served(spent(1800)) as (github, server):
        with pytest.raises(Paused) as caught:
            github.search(TEA, 5)
        assert len(server.asked) == 1
    assert caught.value.reason == "rate_limited"
    assert "UTC, in 31 min" in str(caught.value) or "UTC, in 30 min" in str(caught.value)
    assert "token" in str(caught.value)
    assert naps == []


def test_a_reset_in_the_past_is_a_second(naps: list[float]):
    with served(spent(-500), answers) as (github, _):
        assert len(github.search(TEA, 5).hits) == 2
    assert naps == [1.0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("7", 7.0), ("0", 0.0), ("-5", 60.0), ("soon", 60.0), ("nan", 60.0), ("inf", 60.0), ("", 60.0)],
)
def test_retry_after_is_believed_where_it_makes_sense(value: str, expected: float, naps: list[float]):
    with served(gh.refuses(403, "You have exceeded a secondary rate limit", Retry_After=value), answers) as (github, _):
        assert github.search(TEA, 5).waited == expected
    assert naps == [expected]


def test_retry_after_may_be_a_date(naps: list[float]):
    date = email.utils.formatdate(limits.now() + 20, usegmt=True)
    with served(gh.refuses(429, Retry_After=date), answers) as (github, _):
        assert 17 <= github.search(TEA, 5).waited <= 21


@pytest.mark.parametrize("value", ["1e9", "999999999999", "1e300"])
def test_an_absurd_wait_pauses(value: str, naps: list[float]):
    with served(gh.refuses(429, Retry_After=value)) as (github, _), pytest.raises(Paused, match="more than a year"):
        github.search(TEA, 5)
    assert naps == []


@pytest.mark.parametrize("reset", ["tomorrow", "-1", "9" * 40])
def test_an_absurd_reset_counts_as_none(reset: str, naps: list[float]):
    limit = gh.refuses(403, "no", X_RateLimit_Remaining="0", X_RateLimit_Reset=reset)
    with served(limit, answers) as (github, _):
        assert github.search(TEA, 5).waited == 60.0


def test_a_limit_without_any_header_is_waited_for_longer_each_time_and_pauses_then(naps: list[float]):
    with served(gh.refuses(403, "You have exceeded a secondary rate limit."), max_wait=150) as (github, server):
        with pytest.raises(Paused) as caught:
            github.search(TEA, 5)
        assert len(server.asked) == 3
    assert caught.value.reason == "rate_limited"
    assert naps == [60.0, 120.0]


def test_a_limit_that_never_ends_pauses_after_the_retries(naps: list[float]):
    with served(gh.refuses(429, Retry_After="2"), retries=2) as (github, _), pytest.raises(Paused, match="rate limit"):
        github.search(TEA, 5)
    assert naps == [2.0, 2.0]


def test_a_busy_server_that_says_when_is_waited_for(naps: list[float]):
    with served(gh.refuses(503, Retry_After="3"), answers) as (github, _):
        assert github.search(TEA, 5).waited == 3.0


def test_waiting_can_be_interrupted(monkeypatch: pytest.MonkeyPatch):
    def pressed(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(limits, "sleep", pressed)
    with served(gh.refuses(429, Retry_After="30")) as (github, _), pytest.raises(KeyboardInterrupt):
        github.search(TEA, 5)


# Token and settings


def test_the_token_is_sent_and_without_one_it_is_said(token: str, monkeypatch: pytest.MonkeyPatch):
    with served() as (github, server):
        assert github.search(TEA, 5).note == ""
        monkeypatch.setenv("GITHUB_TOKEN", " ")
        assert "GITHUB_TOKEN is not set" in github.search(TEA, 5).note
    signed, anonymous = (headers for _, headers in server.asked)
    assert signed["authorization"] == f"Bearer {token}"
    assert signed["accept-encoding"] == "identity"
    assert "authorization" not in anonymous


@pytest.mark.parametrize("value", ["short", "two words here", "line\nbreak-token", "kлюч-kлюч-kлюч"])
def test_a_token_that_cannot_be_sent_is_refused_without_showing_it(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", value)
    with served() as (github, server), pytest.raises(ConfigError, match="GITHUB_TOKEN") as caught:
        github.search(TEA, 5)
    assert value not in str(caught.value)
    assert server.asked == []
    monkeypatch.delenv("GITHUB_TOKEN")
    redact.rescan()


@pytest.mark.parametrize("code", [401, 403, 422, 500])
def test_an_echoed_token_reaches_neither_message_nor_cache(code: int, token: str, tmp_path: Path):
    settings = {"retries": 0, "cache": str(tmp_path)}
    with served(gh.echoes_token(code), **settings) as (github, _), pytest.raises(PhaseError) as caught:
        github.search(TEA, 5)
    assert token not in str(caught.value)
    assert token not in repr(caught.value)
    assert redact.MASK in str(caught.value)
    assert token not in kept(tmp_path)


def test_an_embedded_token_reaches_neither_hit_nor_cache(token: str, tmp_path: Path):
    with served(gh.embeds_token, cache=str(tmp_path)) as (github, _):
        found = github.search(TEA, 5)
    assert redact.MASK in found.model_dump_json()
    for text in (found.model_dump_json(), kept(tmp_path), repr(github)):
        assert token not in text
        assert token[:12] not in text  # a text that is cut must not keep a part of it
    assert kept(tmp_path)


def kept(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://api.github.test"},
        {"base_url": "http://127.evil.test"},
        {"base_url": "ftp://api.github.test"},
        {"base_url": "https://me:pass@api.github.test"},
        {"base_url": "https://api.github.test?q=1"},
        {"base_url": "https://"},
        {"token_env": "ghp_canary0123456789abcdefABCDEF012345"},
        {"token_env": "a b"},
        {"per_page": 101},
        {"deadline": 0},
        {"fresh_fro": 1},
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any]):
    with pytest.raises(ValidationError):
        GitHub(**settings)


def test_plain_http_to_another_machine_needs_a_word():
    assert GitHub(base_url="http://api.github.test/", insecure=True).base_url == "http://api.github.test"


def test_a_negative_limit_is_refused():
    with pytest.raises(ConfigError, match="0 or more"):
        GitHub().search(TEA, -1)


def test_private_repositories_are_asked_for_only_when_the_user_says_so():
    with served(public_only=False) as (github, server):
        github.search(TEA, 5)
    assert server.queries == ["tea"]


# Text of strangers


def test_text_of_the_server_cannot_act_on_a_terminal():
    evil = "\x1b[2Jwipe\x1b]0;title\x07 \u202egnp\x00.\ud800exe\x9b31m\r\nnext\u200b " + "x" * 5000
    row = GOOD | {
        "description": evil,
        "language": "\x1b[31mred",
        "topics": ["\x07bell"],
        "html_url": "javascript:alert(1)",
    }
    with served(gh.items(row)) as (github, _):
        found = github.search(TEA, 5).hits[0]
    assert found.excerpt.startswith("wipe gnp .")
    assert len(found.excerpt) <= LONGEST_EXCERPT
    for text in (found.excerpt, str(found.fields["language"]), str(found.fields["topics"])):
        assert text.isprintable()
    assert found.fields["url"] == ""
    assert found.fields["language"] == "red"


def test_cleaning_is_fast_on_hostile_text():
    began = time.monotonic()
    clean("\x1b]" * 5_000_000)
    clean("\x1b[" * 5_000_000)
    assert time.monotonic() - began < 1.0


# Cache


def test_a_page_is_not_asked_for_twice(tmp_path: Path):
    with served(cache=str(tmp_path)) as (github, server):
        first = github.search(TEA, 5)
        assert github.search(TEA, 5) == first
        assert len(server.asked) == 1
        github.search(STOP, 5)
    assert len(server.asked) == 2


def test_an_aged_page_is_confirmed_by_its_etag(tmp_path: Path, later: Callable[[float], None]):
    with served(cache=str(tmp_path), fresh_for=100) as (github, server):
        first = github.search(TEA, 5)
        later(101)
        assert github.search(TEA, 5) == first
        later(150)  # confirmed 49 seconds ago
        assert github.search(TEA, 5) == first
    assert [headers.get("if-none-match") is not None for _, headers in server.asked] == [False, True]


def test_a_page_without_etag_cannot_be_confirmed(tmp_path: Path, later: Callable[[float], None]):
    with served(gh.items(GOOD), gh.body(b"", 304), cache=str(tmp_path), fresh_for=100) as (github, _):
        github.search(TEA, 5)
        later(101)
        with pytest.raises(PhaseError, match="304"):
            github.search(TEA, 5)


def test_an_aged_page_that_changed_is_replaced(tmp_path: Path, later: Callable[[float], None]):
    with served(answers, gh.items(GOOD), cache=str(tmp_path), fresh_for=100) as (github, server):
        github.search(TEA, 5)
        later(101)
        assert ids(github.search(TEA, 5)) == ["harbor/graceful"]
        assert ids(github.search(TEA, 5)) == ["harbor/graceful"]
    assert len(server.asked) == 2


def test_a_page_from_the_future_is_not_trusted(tmp_path: Path, later: Callable[[float], None]):
    with served(cache=str(tmp_path)) as (github, server):
        later(1000)
        github.search(TEA, 5)
        later(0)
        github.search(TEA, 5)
    assert len(server.asked) == 2


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock to so many seconds after the beginning of the test."""
    began = limits.now()
    return lambda seconds: monkeypatch.setattr(limits, "now", lambda: began + seconds)


def test_the_cache_is_apart_by_server_and_by_token(tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch):
    with served(cache=str(tmp_path)) as (github, server), served(cache=str(tmp_path)) as (other, elsewhere):
        github.search(TEA, 5)
        other.search(TEA, 5)
        monkeypatch.setenv("GITHUB_TOKEN", "")
        github.search(TEA, 5)
    assert (len(server.asked), len(elsewhere.asked)) == (2, 1)


def test_a_damaged_file_is_asked_anew_and_said(tmp_path: Path):
    with served(cache=str(tmp_path)) as (github, server):
        good = github.search(TEA, 5)
        (path,) = tmp_path.iterdir()
        whole = path.read_bytes()
        damages = [b"", b"null", b"{}", b"[" * 50_000, b"\xff" * 10, whole[:-1], whole.replace(b"Tea", b"Sea", 1)]
        damages += [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(0, len(whole), 97)]
        for count, damage in enumerate(damages, start=2):
            path.write_bytes(damage)
            found = github.search(TEA, 5)
            assert found.hits == good.hits
            assert "1 damaged file" in found.note
            assert len(server.asked) == count
        assert github.search(TEA, 5) == good


def test_a_file_under_another_name_is_not_believed(tmp_path: Path):
    with served(cache=str(tmp_path)) as (github, _):
        github.search(TEA, 5)
        (tea,) = tmp_path.iterdir()
        stolen = tea.read_bytes()
        github.search(STOP, 5)
        (stop,) = set(tmp_path.iterdir()) - {tea}
        stop.write_bytes(stolen)
        assert len(github.search(STOP, 5).hits) == 3


def test_a_cache_that_cannot_be_read_is_the_users_to_mend(tmp_path: Path):
    with served(cache=str(tmp_path)) as (github, _):
        github.search(TEA, 5)
        (path,) = tmp_path.iterdir()
        path.unlink()
        path.mkdir()
        with pytest.raises(ConfigError, match="cannot be read"):
            github.search(TEA, 5)


def test_runs_that_share_a_cache_always_read_whole_pages(tmp_path: Path):
    with served(cache=str(tmp_path), fresh_for=0) as (github, _):
        expected = github.search(TEA, 5)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: github.search(TEA, 5), range(24)))
    assert all(found == expected for found in results)
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_what_is_kept_is_the_checked_page_and_nothing_else(tmp_path: Path):
    with served(gh.items(GOOD | {"permissions": {"admin": True}}), cache=str(tmp_path)) as (github, _):
        github.search(TEA, 5)
    (path,) = tmp_path.iterdir()
    entry = json.loads(path.read_bytes())["entry"]
    assert set(entry) == {"asked", "etag", "at", "page"}
    assert "permissions" not in path.read_text()
