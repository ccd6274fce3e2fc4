"""A number of workers in the sandbox that examine candidates side by side."""

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from looper.errors import LooperError
from looper.tasks.repair.examine.channel import STARTING, Channel, WorkerLost, parsed

SLACK = 10.0
"""Seconds beyond the candidate's own limit after which a worker counts as lost."""


class NoWorker(LooperError):
    """A worker cannot be made ready at all: the program's own imports or the test script fail."""


@dataclass
class Answer:
    """What a worker said of one request."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: str = "lost"
    """finished, exited, timeout, output or lost."""
    seconds: float = 0.0


def finished(message: dict[str, Any]) -> Answer:
    """The answer in a worker's last word on a candidate; lines of the child that are no message are not there."""
    answer = Answer(ended=str(message["done"]), seconds=float(message["seconds"]))
    for line in str(message["said"]).splitlines():
        with contextlib.suppress(WorkerLost):
            answer.messages.append(parsed(line.encode()))
    return answer


class Gang:
    """Asks many candidates side by side; who answers is the subclass's business."""

    def __init__(self, jobs: int):
        self.jobs = jobs
        self.ids: list[str] = []
        """Tests that are known of before any was run."""
        self.threads: ThreadPoolExecutor | None = None
        self.closing = False

    def ask(self, request: dict[str, Any]) -> Answer:
        """One candidate."""
        raise NotImplementedError

    def map(self, requests: Sequence[dict[str, Any]], stop: Callable[[Answer], bool] | None = None) -> list[Answer]:
        """The answers in order; after the first one for which `stop` is true there are none."""
        if len(requests) == 1 or self.jobs == 1:
            return self._in_turn(requests, stop)
        if self.threads is None:
            self.threads = ThreadPoolExecutor(self.jobs, thread_name_prefix="examiner")
        stopped_at = [len(requests)]

        def one(number: int) -> Answer | None:
            if self.closing or number > stopped_at[0]:
                return None
            answer = self.ask(requests[number])
            if stop is not None and stop(answer):
                stopped_at[0] = min(stopped_at[0], number)
            return answer

        try:
            answers = list(self.threads.map(one, range(len(requests))))
        except CancelledError as error:
            raise NoWorker("the examiner was closed while it was at work") from error
        return until(answers, stop)

    def _in_turn(self, requests: Sequence[dict[str, Any]], stop: Callable[[Answer], bool] | None) -> list[Answer]:
        answers: list[Answer] = []
        for request in requests:
            answers.append(self.ask(request))
            if stop is not None and stop(answers[-1]):
                break
        return answers

    def interrupt(self) -> None:
        """Ends what is under way, so that nobody has to wait for it."""

    def release(self) -> None:
        """Gives back processes and files, once nobody uses them."""

    def close(self) -> None:
        self.closing = True
        self.interrupt()
        if self.threads is not None:
            self.threads.shutdown(wait=True, cancel_futures=True)
            self.threads = None
        self.release()


class Crew(Gang):
    """Starts workers when they are needed, and new ones for those that are lost."""

    def __init__(self, start: Callable[[], Channel], jobs: int, seconds: float):
        super().__init__(jobs)
        self.start, self.seconds = start, seconds
        self.idle: queue.LifoQueue[Channel | None] = queue.LifoQueue()
        for _ in range(jobs):
            self.idle.put(None)
        self.alive: set[Channel] = set()
        self.lock = threading.Lock()

    def ask(self, request: dict[str, Any], relay: Callable[[Channel, dict[str, Any]], None] | None = None) -> Answer:
        """One candidate; a worker that is lost on the way is an answer too, never an error."""
        channel = self.idle.get()
        try:
            channel = channel or self._ready()
            if self.closing:
                return Answer()
            answer = self._examined(channel, request, relay)
            if answer.ended == "lost" or (relay is not None and answer.ended != "finished"):
                channel = self._drop(channel)
            return answer
        except NoWorker:
            if self.closing:
                return Answer()
            raise
        finally:
            self.idle.put(channel)

    def _examined(self, channel: Channel, request: dict[str, Any], relay: Any) -> Answer:
        try:
            channel.send(request, SLACK)
            while True:
                message = channel.receive(self.seconds + SLACK)
                if "done" in message:
                    return finished(message)
                if relay is not None and "call" in message:
                    relay(channel, message)
        except WorkerLost:
            return Answer()

    def _ready(self) -> Channel:
        channel = self.start()
        with self.lock:
            self.alive.add(channel)
        try:
            said = channel.receive(STARTING)
        except WorkerLost as error:
            self._drop(channel)
            raise NoWorker(f"no worker could be started in the sandbox: {error}") from error
        if "error" in said:
            self._drop(channel)
            raise NoWorker(f"the tests cannot be prepared in the sandbox: {said['error']}")
        with self.lock:
            self.ids = [str(name) for name in said.get("ids", [])]
        return channel

    def _drop(self, channel: Channel) -> None:
        with self.lock:
            self.alive.discard(channel)
        channel.close()

    def interrupt(self) -> None:
        with self.lock:
            busy = list(self.alive)
        for channel in busy:
            channel.process.kill()

    def release(self) -> None:
        """Closes each channel once its user has put it back: a descriptor closed earlier might be somebody else's."""
        for channel in [self.idle.get() for _ in range(self.jobs)]:
            if channel is not None:
                self._drop(channel)
            self.idle.put(None)


def until(answers: Sequence[Answer | None], stop: Callable[[Answer], bool] | None) -> list[Answer]:
    """The answers up to the first that ends it: what later ones happened to say must not depend on timing."""
    kept: list[Answer] = []
    for answer in answers:
        if answer is None:
            break
        kept.append(answer)
        if stop is not None and stop(answer):
            break
    return kept
