"""From what a worker said to a `Report`. Missing words are failed tests; wrong kinds of words count as missing."""

from typing import Any

from looper.tasks.repair.examine.codec import Decoder, Unreadable, decode
from looper.tasks.repair.examine.crew import Answer
from looper.tasks.repair.examine.distance import distance, matches
from looper.tasks.repair.problem import Cases, Report, TestResult

MISSING = {
    "timeout": "timeout",
    "exited": "no verdict",
    "finished": "no verdict",
    "output": "too much output",
    "lost": "worker lost",
}
"""What is said of a test that has no verdict, by how the worker's answer ended."""


SPARED = "not run: a lighter test failed"
HEAVY_STEPS, HEAVY_FACTOR = 20_000, 10
"""A test is heavy if it takes so many steps, and so many times those of the median test, on the original."""


def missing(answer: Answer) -> str:
    return MISSING.get(answer.ended, "no verdict")


def failure(answer: Answer) -> str:
    """Why there are no results at all."""
    said = [message["error"] for message in answer.messages if isinstance(message.get("error"), str)]
    return said[0] if said else missing(answer)


def text(value: Any) -> str:
    return " ".join(str(value).split())[:300]


def numbers(value: Any) -> list[int]:
    return [n for n in value if type(n) is int and 0 < n < 1_000_000] if isinstance(value, list) else []


def steps(answer: Answer) -> int:
    """The most steps that a test took that did not fail for an error; 0 if none is known."""
    done = [m.get("s") for m in answer.messages if m.get("p") is True or ("v" in m and "e" not in m)]
    return max([n for n in done if type(n) is int], default=0)


def limits(answer: Answer, count: int, least: int, unknown: int, factor: int) -> list[int]:
    """Steps allowed each test: a multiple of what it took on the original, `unknown` where it did not end."""
    done = {m["i"]: m["s"] for m in answer.messages if type(m.get("i")) is int and type(m.get("s")) is int and "v" in m}
    return [max(least, factor * done[number]) if number in done else unknown for number in range(count)]


def heavy(answer: Answer) -> list[int]:
    """Numbers of the tests that are better run only if all others pass."""
    taken = {m["i"]: m["s"] for m in answer.messages if type(m.get("i")) is int and type(m.get("s")) is int}
    middle = sorted(taken.values())[len(taken) // 2] if taken else 0
    return [n for n, used in taken.items() if used > max(HEAVY_STEPS, HEAVY_FACTOR * middle)]


def cases_report(tests: Cases, answer: Answer) -> Report:
    """Compares outside the sandbox: expected values never were in there."""
    said: dict[int, dict[str, Any]] = {}
    for message in answer.messages:
        if type(message.get("i")) is int:
            said.setdefault(message["i"], message)
    if not said:
        return Report(error=failure(answer), seconds=answer.seconds)
    silent = {"e": missing(answer)}
    results = [case_result(c.id, c.expected, said.get(n, silent)) for n, c in enumerate(tests.cases)]
    return Report(results=results, seconds=answer.seconds)


def case_result(name: str, expected: Any, said: dict[str, Any]) -> TestResult:
    lines = numbers(said.get("l"))
    if "v" not in said or "e" in said:
        return TestResult(id=name, passed=False, error=text(said.get("e", "no verdict")), lines=lines)
    try:
        got = decode(said["v"])
    except Unreadable as error:
        return TestResult(id=name, passed=False, error=f"no plain value: {error}", lines=lines)
    if matches(expected, got):
        return TestResult(id=name, passed=True, distance=0.0, lines=lines)
    far = max(distance(expected, got), 1e-3)
    return TestResult(id=name, passed=False, distance=far, error=difference(expected, got), lines=lines)


def difference(expected: Any, got: Any) -> str:
    return f"expected {short(expected)}, got {short(got)}"


def short(value: Any) -> str:
    try:
        shown = repr(value)
    except ValueError:  # an int of more digits than Python prints
        shown = "a very large number"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def told_report(known: list[str], answer: Answer, nonce: str | None = None) -> Report:
    """Verdicts that were reached inside: test scripts and pytest. With a `nonce`, only what carries it counts, and
    nothing counts if the run did not end in order."""
    messages = [m for m in answer.messages if m.get("nonce") == nonce]
    said = {m["id"]: m for m in messages if isinstance(m.get("id"), str)}
    whole = any(m.get("end") is True for m in messages)
    if not said or (nonce is not None and not whole):
        return Report(error=failure(answer), seconds=answer.seconds)
    errors = [m["error"] for m in messages if isinstance(m.get("error"), str)]
    silent = {"e": (errors or [missing(answer)])[0]}
    names = [*known, *(name for name in said if name not in set(known))]
    return Report(results=[told_result(name, said.get(name, silent)) for name in names], seconds=answer.seconds)


def told_result(name: str, said: dict[str, Any]) -> TestResult:
    passed = said.get("p") is True
    far = said.get("d", 1.0)
    sound = type(far) in (int, float) and 0 <= far <= 1
    error = "" if passed else text(said.get("e") or "no verdict")
    apart = 0.0 if passed else (max(float(far), 1e-3) if sound else 1.0)
    return TestResult(id=name, passed=passed, distance=apart, error=error, lines=numbers(said.get("l")))


def plain_values(answer: Answer, count: int) -> list[Any]:
    """Values by input; `{"!error": text}` where there is none."""
    values: list[Any] = [{"!error": failure(answer)} for _ in range(count)]
    for message in answer.messages:
        number = message.get("i")
        if type(number) is int and 0 <= number < count:
            values[number] = plain_value(message)
    return values


def plain_value(said: dict[str, Any]) -> Any:
    if "e" in said or "v" not in said:
        return {"!error": text(said.get("e", "no verdict"))}
    decoder = Decoder()
    try:
        value = decoder.decode(said["v"])
    except Unreadable as error:
        return {"!error": text(error)}
    return {"!error": f"not plain data: {decoder.opaque}"} if decoder.opaque else value
