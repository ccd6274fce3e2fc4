import json
import math
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from looper.errors import ConfigError
from looper.tasks.search import cache, documents, stdlib, tokens, words
from looper.tasks.search.index import Embedded
from looper.tasks.search.query import LONGEST_EXCERPT, Query

SMALL = [
    {"id": "a", "name": "alpha", "text": "beta beta", "stars": 3, "public": True, "tags": ["x"]},
    {"id": "b", "name": "beta", "text": "gamma", "module": "one.two", "kind": "note", "stars": 4, "public": False},
    {"id": "c", "name": "delta", "text": "alpha", "module": "one", "kind": "page"},
]
TREE = "find a way to keep the n largest of a stream"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return Embedded(cache=str(tmp_path_factory.mktemp("library")))


def collection(folder: Path, rows: Sequence[object]) -> Embedded:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Embedded(source=str(path), cache=str(folder / "cache"))


def ids(found: Embedded, *keywords: str, **filters: str | int) -> list[str]:
    return [hit.id for hit in found.search(Query(keywords=list(keywords), filters=filters), 10).hits]


def built(folder: Path) -> tuple[int, int]:
    [path] = (folder / "cache").glob("*.sqlite")
    return path.stat().st_ino, path.stat().st_mtime_ns


# Documents


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b'{"text": "good"}\nnot json\n', ":2: is not JSON"),
        (b"[1]\n", ":1: is not a JSON object"),
        (b'{"id": "a"}\n', ":1: has no field `text`"),
        (b'{"text": "  "}\n', ":1: has no field `text`"),
        (b'{"text": "a", "id": 1.5}\n', ":1: the field `id`"),
        (b'{"text": "a", "id": true}\n', ":1: the field `id`"),
        (b'{"text": "a", "name": 7}\n', ":1: the field `name`"),
        (b'{"text": "a", "longest": 7}\n', ":1: the field `longest`"),
        (b'{"text": "\\ud800"}\n', ":1: holds half a character"),
        (b'{"text": "a", "id": "x"}\n\n{"text": "b", "id": "x"}\n', ":3: the id 'x'"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', ":2: is not UTF-8"),
        (b"\n \n", ": holds no document"),
        (b"", ": holds no document"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, lines: bytes, said: str):
    path = tmp_path / "own.jsonl"
    path.write_bytes(lines)
    with pytest.raises(ConfigError) as caught:
        list(documents.read(path))
    assert str(caught.value).startswith(f"{path}{said}")
    assert "\n" not in str(caught.value)


def test_documents_are_read_with_their_fields(tmp_path: Path):
    path = tmp_path / "own.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "one", "title": "First", "stars": 3, "share": 0.5, "open": true, "tags": []}\n'
    )
    [found] = documents.read(path)
    assert (found.id, found.name, found.title) == ("1", "First", "First")
    assert found.extra == {"open": "true", "share": "0.5", "stars": 3}


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_source_that_is_no_file_is_an_error(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match="cannot be read"):
        _ = Embedded(source=str(tmp_path / name), cache=str(tmp_path / "cache")).size


def test_a_misspelt_setting_is_an_error():
    with pytest.raises(ValueError, match="surce"):
        Embedded(surce="stdlib")  # pyright: ignore[reportCallIssue]


# Ranking


def weight(frequency: float, length: float, held: int) -> float:
    """BM25 of the small collection: 3 documents of 5, 5 and 5 words when a name counts three times."""
    idf = math.log(1 + (3 - held + 0.5) / (held + 0.5))
    return idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / ((5 + 6 + 5) / 3)))


def test_rank_is_bm25_computed_by_hand(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    # a: alpha x 3, beta x 2 = 5; b: beta x 3, gamma, one, two = 6; c: delta x 3, alpha, one = 5
    beta = {hit.id: hit.score for hit in own.rank({"beta": 1.0}, [], 10)}
    assert beta == pytest.approx({"b": weight(3, 6, 2), "a": weight(2, 5, 2)})
    assert list(beta) == ["b", "a"]
    both = {hit.id: hit.score for hit in own.rank({"alpha": 2.0, "beta": -1.0, "unheard": 5.0}, [], 10)}
    expected = {"a": 2 * weight(3, 5, 2) - weight(2, 5, 2), "c": 2 * weight(1, 5, 2)}
    assert both == pytest.approx(expected)
    assert list(both) == sorted(expected, key=lambda each: -expected[each])


def test_rank_leaves_out_what_is_labelled_and_what_is_not_positive(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    assert [hit.id for hit in own.rank({"beta": 1.0}, ["b"], 10)] == ["a"]
    assert own.rank({"beta": -1.0}, [], 10) == []
    assert own.rank({"beta": 1.0}, [], 0) == []
    assert own.rank({}, [], 10) == []
    with pytest.raises(ConfigError, match="no document 'nobody'"):
        own.rank({"beta": 1.0}, ["nobody"], 10)


def test_ties_are_ordered_by_id(tmp_path: Path):
    own = collection(tmp_path, [{"id": name, "text": "the same words"} for name in "dbca"])
    assert [hit.id for hit in own.rank({"same": 1.0, "word": 0.5}, [], 3)] == ["a", "b", "c"]
    assert ids(own, "same") == ["a", "b", "c", "d"]


def test_a_vector_holds_what_rank_adds_up(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    found = own.vector("a")
    assert found == pytest.approx({"alpha": weight(3, 5, 2), "beta": weight(2, 5, 2)})
    assert own.rank({"alpha": 1.0, "beta": 1.0}, [], 1)[0].score == pytest.approx(sum(found.values()))


# Searching


def test_all_keywords_one_alternative_each_and_no_exclusion(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    assert sorted(ids(own, "beta")) == ["a", "b"]
    assert ids(own, "beta", "alpha") == ["a"]
    wide = Query(keywords=["beta", "alpha"], alternatives={"alpha": ["gamma"], "unused": ["delta"]})
    assert sorted(hit.id for hit in own.search(wide, 10).hits) == ["a", "b"]
    assert [hit.id for hit in own.search(wide.model_copy(update={"exclusions": ["gamma", "nil"]}), 10).hits] == ["a"]


def test_a_word_in_the_name_counts_more(tmp_path: Path):
    assert ids(collection(tmp_path, SMALL), "alpha") == ["a", "c"]


def test_the_total_counts_all_matches_and_the_hits_are_limited(library: Embedded):
    found = library.search(Query(keywords=["file"]), 3)
    assert len(found.hits) == 3
    assert found.total > 300
    assert found.total == library.frequency("file")
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert library.search(Query(keywords=["file"]), 0).hits == []


def test_an_empty_query_finds_nothing(library: Embedded):
    assert library.search(Query(), 10).total == 0
    assert library.search(Query(exclusions=["file"], filters={"kind": "class"}), 10).total == 0


HOSTILE = [
    '"', '""', "'", "(", ")", "NEAR", "NEAR(a b, 3)", "*", "a*", ":", "name:alpha", "-", "+", "^", "AND", "OR", "NOT",
    "", " ", "\0", "a\0b", "\U0001f600", "\ud800", '" OR "', "{name}: x", ";", "--", "\\", "%", "_",
    "\u202e", "a" * 100_000, "x " * 2_000,
]  # fmt: skip


@pytest.mark.parametrize("word", HOSTILE, ids=[repr(word[:12]) for word in HOSTILE])
def test_nothing_in_a_word_is_syntax(tmp_path_factory: pytest.TempPathFactory, library: Embedded, word: str):
    alone = library.search(Query(keywords=[word]), 5)
    assert alone.total <= library.size
    assert library.frequency(word) == alone.total
    beside = library.search(Query(keywords=["heap"], alternatives={"heap": [word]}, exclusions=["thread"]), 5)
    assert beside.total >= library.search(Query(keywords=["heap"], exclusions=["thread"]), 5).total
    assert library.search(Query(keywords=["heap"], exclusions=[word]), 5).total <= library.frequency("heap")
    assert library.related(word, [], 3) == library.related(word, [], 3)


def test_a_keyword_without_a_letter_occurs_nowhere_and_that_is_said(library: Embedded):
    found = library.search(Query(keywords=["heap", "\U0001f600"]), 5)
    assert found.total == 0
    assert "No letter or digit" in found.note


def test_identifiers_are_found_whole_and_by_their_parts(library: Embedded):
    assert "http.server.BaseHTTPRequestHandler" in ids(library, "BaseHTTPRequestHandler", kind="class")
    assert "http.server.BaseHTTPRequestHandler" in ids(library, "request", "handler", module="http", kind="class")
    assert "heapq.heappushpop" in ids(library, "heappushpop")
    assert "socketserver.BaseServer.serve_forever" in ids(library, "forever", module="socketserver")
    assert "socketserver.BaseServer.serve_forever" in ids(library, "serve_forever")


def test_a_query_that_is_too_wide_is_an_error(library: Embedded):
    library.search(Query(keywords=[f"w{number}" for number in range(library.widest)]), 1)
    with pytest.raises(ConfigError, match="65 words is too wide"):
        library.search(Query(keywords=[f"w{number}" for number in range(library.widest + 1)]), 1)


# Filters


def test_the_module_filter_holds_for_all_below_it(library: Embedded):
    found = library.search(Query(keywords=["server"], filters={"module": "http"}), 100).hits
    assert {str(hit.fields["module"]) for hit in found} >= {"http.server"}
    assert all(str(hit.fields["module"]).split(".")[0] == "http" for hit in found)
    assert library.search(Query(keywords=["server"], filters={"module": "htt"}), 5).total == 0


def test_kind_and_length_are_filters(library: Embedded):
    narrow = {"kind": "class, function", "shortest": 200, "longest": "400"}
    found = library.search(Query(keywords=["file"], filters=narrow), 100)
    assert found.total == len(found.hits) > 5
    assert {hit.fields["kind"] for hit in found.hits} == {"class", "function"}
    assert all(200 <= int(hit.fields["length"]) <= 400 for hit in found.hits)


def test_fields_of_the_users_documents_are_filters(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    assert set(own.filters) == {"module", "kind", "shortest", "longest", "stars", "public"}
    assert ids(own, "beta", stars=3) == ids(own, "beta", stars="3") == ["a"]
    assert ids(own, "beta", public="false") == ["b"]
    assert ids(own, "beta", stars="3' OR '1'='1") == []
    assert own.search(Query(keywords=["beta"]), 1).hits[0].fields["stars"] == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [("colour", "red"), ("kind", "verb"), ("kind", ""), ("shortest", "ten"), ("longest", -1), ("longest", "9" * 99)],
)
def test_a_filter_that_does_not_fit_is_an_error(library: Embedded, name: str, value: str | int):
    with pytest.raises(ConfigError, match=name):
        library.search(Query(keywords=["file"], filters={name: value}), 1)


# Cache


def test_an_index_is_built_once(tmp_path: Path):
    first = collection(tmp_path, SMALL)
    assert first.size == 3
    before = built(tmp_path)
    again = Embedded(source=first.source, cache=first.cache)
    assert ids(again, "gamma") == ["b"]
    assert again.fingerprint == first.fingerprint
    assert built(tmp_path) == before


def test_a_file_that_was_only_touched_is_not_read_again(tmp_path: Path):
    first = collection(tmp_path, SMALL)
    assert first.size == 3
    before = built(tmp_path)
    os.utime(first.source, ns=(1, 1))
    assert Embedded(source=first.source, cache=first.cache).size == 3
    assert built(tmp_path) == before
    stamp = json.loads(next((tmp_path / "cache").glob("*.json")).read_text())["stamp"]
    assert stamp.endswith(" 1")


def test_a_changed_source_is_indexed_anew_and_open_readers_keep_theirs(tmp_path: Path):
    first = collection(tmp_path, SMALL)
    assert first.size == 3
    second = collection(tmp_path, [*SMALL, {"id": "d", "text": "epsilon"}])
    assert (second.size, ids(second, "epsilon")) == (4, ["d"])
    assert second.fingerprint != first.fingerprint
    assert (ids(first, "epsilon"), ids(first, "gamma")) == ([], ["b"])


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "lost", "sidecar", "strange"])
def test_a_damaged_cache_is_built_anew(tmp_path: Path, harm: str):
    assert collection(tmp_path, SMALL).size == 3
    [database], [sidecar] = (list((tmp_path / "cache").glob(f"*.{kind}")) for kind in ("sqlite", "json"))
    whole = database.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    if harm in ("cut", "flip", "empty"):
        database.write_bytes({"cut": whole[:middle], "flip": flipped, "empty": b""}[harm])
    elif harm == "lost":
        database.unlink()
    else:
        sidecar.write_text({"sidecar": "{", "strange": "[]"}[harm])
    assert ids(collection(tmp_path, SMALL), "gamma") == ["b"]
    assert database.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ConfigError, match="cannot be written there"):
        _ = collection(tmp_path, SMALL).size


def test_a_cache_that_can_only_be_read_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    own = collection(tmp_path, SMALL)
    assert own.size == 3

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache, "locked", refuse)
    assert Embedded(source=own.source, cache=own.cache).size == 3
    os.utime(own.source, ns=(1, 1))
    with pytest.raises(ConfigError, match="Permission denied"):
        _ = Embedded(source=own.source, cache=own.cache).size


def test_a_source_that_changes_while_it_is_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    own = collection(tmp_path, SMALL)
    build = cache.build

    def late(path: Path, found: object) -> None:
        build(path, found)  # pyright: ignore[reportArgumentType]
        os.utime(own.source, ns=(1, 1))

    monkeypatch.setattr(cache, "build", late)
    with pytest.raises(ConfigError, match="was changed while it was read"):
        _ = own.size
    monkeypatch.setattr(cache, "build", build)
    assert ids(own, "gamma") == ["b"]


def test_a_failed_or_killed_build_leaves_nothing_behind(tmp_path: Path):
    assert collection(tmp_path, SMALL).size == 3
    [database] = (tmp_path / "cache").glob("*.sqlite")
    (tmp_path / "cache" / f"{database.stem}.killed.work").mkdir()
    with pytest.raises(ConfigError, match=":1: is not a JSON object"):
        _ = collection(tmp_path, [[1]]).size
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".json", ".lock", ".sqlite"]


def opened_by_another(source: str, folder: str, answers: multiprocessing.Queue) -> None:
    own = Embedded(source=source, cache=folder)
    answers.put((own.size, own.fingerprint, [hit.id for hit in own.rank({"beta": 1.0}, [], 2)]))


def test_processes_that_build_at_once_do_no_harm(tmp_path: Path):
    own = collection(tmp_path, SMALL)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    running = [context.Process(target=opened_by_another, args=(own.source, own.cache, answers)) for _ in range(3)]
    for process in running:
        process.start()
    found = [answers.get(timeout=60) for _ in running]
    for process in running:
        process.join(60)
    assert found == [(3, own.fingerprint, ["b", "a"])] * 3


def test_threads_share_a_collection(library: Embedded):
    asked = ["file", "server", "thread", "heap", "parse", "random"] * 5

    def ask(word: str) -> tuple[list[str], list[str], list[str]]:
        ranked = library.rank(dict.fromkeys(library.terms(word), 1.0), [], 5)
        return ids(library, word), library.related(word, [], 5), [hit.id for hit in ranked]

    alone = [ask(word) for word in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, asked)) == alone


def test_sqlite_without_fts5_is_said():
    class Without:
        def execute(self, _: str) -> None:
            raise sqlite3.OperationalError("no such module: fts5")

    with pytest.raises(ConfigError, match="has no FTS5"):
        tokens.require_fts5(Without())  # pyright: ignore[reportArgumentType]


def test_searching_does_not_import_numpy(library: Embedded):
    program = (
        "import sys; from looper.tasks.search.index import Embedded; from looper.tasks.search.query import Query\n"
        f"assert Embedded(cache={library.cache!r}).search(Query(keywords=['heap']), 5).total > 5\n"
        "print(sorted({'numpy', 'scipy', 'httpx', 'hydra'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Words


def test_content_words_of_a_need(library: Embedded):
    assert library.words(TREE) == ["keep", "largest", "stream"]
    assert library.words("Find libraries for graceful shutdown") == ["graceful", "shutdown"]
    assert library.words("servers, a server's servers") == ["servers"]
    assert library.words("don't use serve_forever and heappushpop") == ["serve_forever", "heappushpop"]
    assert library.words("what is it") == ["what", "is", "it"]
    assert library.words("\U0001f600 !") == []


def test_terms_are_those_of_the_index(library: Embedded):
    assert library.terms("The largest files, compressed") == ["the", "largest", "file", "compress"]
    assert library.terms("ThreadPool") == ["threadpool", "thread", "pool"]
    assert set(library.terms(library.document("heapq.nlargest").text)) <= set(library.vector("heapq.nlargest"))


def test_a_stem_is_spoken_as_the_collection_says_it_most_often(library: Embedded):
    assert [library.spoken(term) for term in library.terms("directories archives")] == ["directory", "archive"]
    assert library.spoken("qqq") == "qqq"


def test_related_words_keep_the_same_company(library: Embedded):
    assert "smallest" in library.related("largest", [], 3)
    assert {"decompress", "compressor"} <= set(library.related("compress", [], 6))
    assert {"start", "continue"} <= set(library.related("stop", [], 6))
    assert {"insert", "remove"} <= set(library.related("delete", [], 6))


def test_related_words_are_words_never_the_word_itself(library: Embedded):
    for word in ["shutdown", "stop", "parse", "threads", "files", "copying"]:
        found = library.related(word, [], 20)
        assert len(found) == len(set(found)) == 20
        assert not {tokens.spells(other) for other in found} & {tokens.spells(word)}
        assert all(other.isalpha() and other not in words.STOP for other in found)
    assert library.related("qqq", [], 5) == []
    assert library.related("file", [], 0) == []


def test_excerpts_are_short_and_end_between_words(library: Embedded):
    hits = library.search(Query(keywords=["file"]), 500).hits
    assert max(len(hit.excerpt) for hit in hits) <= LONGEST_EXCERPT
    assert words.excerpt("one two three", 9) == "one two\u2026"
    assert words.excerpt("x" * 20, 9) == "x" * 8 + "\u2026"


# The standard library


def test_the_library_is_there_with_stable_ids(library: Embedded):
    assert 5_000 < library.size < 9_000
    wanted = [
        "heapq", "heapq.nlargest", "heapq.heappush", "socketserver.BaseServer.shutdown", "os.listdir", "os.path.join",
        "functools.reduce", "threading.Thread.join", "collections.deque.append", "signal.signal", "builtins.print",
        "http.server.BaseHTTPRequestHandler", "asyncio.events.AbstractServer.close", "itertools.chain",
    ]  # fmt: skip
    assert [library.document(each).id for each in wanted] == wanted
    with pytest.raises(ConfigError, match="no document"):
        library.document("heapq.nlarge")


def test_the_library_holds_nothing_twice_nothing_private_and_nothing_that_is_gone():
    found = list(stdlib.collect())
    names = [document.id for document in found]
    assert names == sorted(set(names))
    assert not [name for name in names if any(part.startswith("_") for part in name.split("."))]
    top = {document.module.split(".")[0] for document in found}
    assert not top & {"asyncore", "imp", "cgi", "distutils", "tkinter", "this", "antigravity", "test", "posixpath"}
    assert {document.kind for document in found} == {"module", "class", "function", "method"}
    assert all(document.text.strip() for document in found)


def test_collecting_leaves_this_process_as_it_was(capfd: pytest.CaptureFixture[str]):
    filters, path, modules = list(warnings.filters), list(sys.path), set(sys.modules)
    assert stdlib.dump() == stdlib.dump()
    assert (list(warnings.filters), sys.path) == (filters, path)
    assert len(set(sys.modules) - modules) < 5
    assert capfd.readouterr() == ("", "")


def test_a_collector_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no library here')")
    monkeypatch.setattr(stdlib, "COLLECTOR", broken)
    with pytest.raises(ConfigError, match="exit 1: no library here"):
        list(stdlib.collect())


def test_the_stamp_follows_the_interpreter_and_the_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = stdlib.stamp()
    assert before == stdlib.stamp()
    monkeypatch.setattr(sys, "version", "another")
    assert stdlib.stamp() != before
