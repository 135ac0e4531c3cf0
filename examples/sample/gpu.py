"""Time on the GPUs: streams run their tasks in order, events order streams, collectives meet."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = -1
STREAM_GAP = 1_100  # ns between two kernels of a stream
EVENT_LATENCY = 1_900  # from the end of a kernel to the start of one that waits for its event


@dataclass(eq=False)
class Task:
    """A kernel, copy or set on a stream. `start` and `end` are UNKNOWN until it can run."""

    name: str
    category: str
    stream: int
    earliest: int
    duration: int
    correlation: int
    external_id: int
    arguments: dict[str, Any]
    step: int
    after: list[Task] = field(default_factory=list)
    collective: Collective | None = None
    start: int = UNKNOWN
    end: int = UNKNOWN
    waiters: list[Stream] = field(default_factory=list)


@dataclass(eq=False)
class Collective:
    """Ends for every member `transfer` after the last has arrived."""

    size: int
    transfer: int
    arrivals: list[int] = field(default_factory=list)
    waiters: list[Stream] = field(default_factory=list)

    def end(self) -> int:
        return max(self.arrivals) + self.transfer if len(self.arrivals) == self.size else UNKNOWN


@dataclass(eq=False)
class Stream:
    tasks: list[Task] = field(default_factory=list)
    settled: int = 0
    queued: bool = False  # somebody will wake it: it is ready, or waits for a task or a collective


class Clockwork:
    """Gives times to tasks as soon as they can be known; streams that may go on queue up here."""

    def __init__(self) -> None:
        self.ready: deque[Stream] = deque()

    def settle(self) -> bool:
        """Until nothing more can be known. True if any time was found."""
        found = False
        while self.ready:
            stream = self.ready.popleft()
            stream.queued = False
            found |= self.settle_stream(stream)
        return found

    def wake(self, stream: Stream) -> None:
        if not stream.queued:
            stream.queued = True
            self.ready.append(stream)

    def settle_stream(self, stream: Stream) -> bool:
        found = False
        while stream.settled < len(stream.tasks):
            task = stream.tasks[stream.settled]
            if not self.settle_one(task, stream):
                stream.queued = True
                break
            stream.settled += 1
            self.ready.extend(task.waiters)
            task.waiters.clear()
            found = True
        return found

    def settle_one(self, task: Task, stream: Stream) -> bool:
        if task.start == UNKNOWN:
            for other in task.after:
                if other.end == UNKNOWN:
                    other.waiters.append(stream)
                    return False
            ready = [task.earliest] + [other.end + EVENT_LATENCY for other in task.after]
            if stream.settled:
                ready.append(stream.tasks[stream.settled - 1].end + STREAM_GAP)
            task.start = max(ready)
            if task.collective is not None:
                task.collective.arrivals.append(task.start)
                self.ready.extend(task.collective.waiters)
                task.collective.waiters.clear()
        if task.collective is None:
            task.end = task.start + task.duration
        else:
            task.end = task.collective.end()
            if task.end == UNKNOWN:
                task.collective.waiters.append(stream)
        return task.end != UNKNOWN


class Gpu:
    """Streams run their tasks in order; events order them across streams."""

    def __init__(self, clockwork: Clockwork) -> None:
        self.clockwork = clockwork
        self.streams: dict[int, Stream] = {}
        self.waits: dict[int, list[Task]] = {}

    def put(self, task: Task) -> None:
        task.after += self.waits.pop(task.stream, [])
        stream = self.streams.setdefault(task.stream, Stream())
        stream.tasks.append(task)
        self.clockwork.wake(stream)

    def event(self, number: int) -> list[Task]:
        """All work so far of a stream: its last task, and what its next will wait for."""
        stream = self.streams.get(number)
        return (stream.tasks[-1:] if stream else []) + self.waits.get(number, [])

    def wait(self, stream: int, event: list[Task]) -> None:
        self.waits.setdefault(stream, []).extend(event)
