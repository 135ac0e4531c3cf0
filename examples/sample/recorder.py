"""The files: rows as torch.profiler (PyTorch 2.6, CUDA, NCCL) writes them in Kineto's JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from .gpu import Task
from .machine import SMS

BASE_NS = 1_751_410_836_000_000_000
GPUS_OF_A_HOST = 8


class Recorder:
    """Rows of one rank, in the form of Kineto's JSON."""

    def __init__(self, rank: int, world: int, gpu: str, rows: bool) -> None:
        self.rank, self.world, self.gpu = rank, world, gpu
        self.wanted = rows
        self.rows: list[dict[str, Any]] = []
        self.pid = 4000 + rank

    def span(self, category: str, name: str, tid: int, start: int, end: int, args: dict[str, Any]) -> None:
        if not self.wanted:
            return
        self.rows.append(
            {"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": tid,
             "ts": start / 1000, "dur": (end - start) / 1000, "args": args}
        )  # fmt: skip

    def flow(self, kind: str, phase: str, number: int, pid: int, tid: int, at: int) -> None:
        if not self.wanted:
            return
        row = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": at / 1000,
               "cat": kind, "name": kind}  # fmt: skip
        if phase == "f":
            row["bp"] = "e"
        self.rows.append(row)

    def gpu_row(self, device: int, task: Task) -> None:
        args = {"External id": task.external_id, "device": device, "context": 1,
                "stream": task.stream, "correlation": task.correlation, **task.arguments}  # fmt: skip
        self.rows.append(
            {"ph": "X", "cat": task.category, "name": task.name, "pid": device, "tid": task.stream,
             "ts": task.start / 1000, "dur": (task.end - task.start) / 1000, "args": args}
        )  # fmt: skip
        self.flow("ac2g", "f", task.correlation, device, task.stream, task.start)

    def window(self, begin: int, end: int) -> None:
        """What was recorded, as the profiler tells it."""
        self.rows.append(
            {"ph": "X", "cat": "Trace", "ts": begin / 1000, "dur": (end - begin) / 1000,
             "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)",
             "args": {"Op count": 0}})  # fmt: skip
        self.rows.append(
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
             "ts": end / 1000})  # fmt: skip

    def write(self, path: Path, device: int, threads: dict[int, str], streams: list[int]) -> None:
        rows = self.metadata(device, threads, streams)
        rows += sorted(self.rows, key=lambda row: (row["ts"], -row.get("dur", 0)))
        document = {
            "schemaVersion": 1,
            "deviceProperties": [
                {"id": i, "name": self.gpu, "totalGlobalMem": 85_000_000_000,
                 "numSms": SMS} for i in range(min(self.world, GPUS_OF_A_HOST))
            ],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world},
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS,
        }  # fmt: skip
        head = json.dumps(document, separators=(",", ":"))[:-1]
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        text = f'{head},"traceEvents":[\n{lines}\n]}}\n'
        # No name and no time in the gzip header: the same run gives the same bytes.
        with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            packed.write(text.encode())

    def metadata(self, device: int, threads: dict[int, str], streams: list[int]) -> list[dict[str, Any]]:
        def meta(what: str, pid: int, tid: int, value: str) -> dict[str, Any]:
            return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": {"name": value}}

        rows = [meta("process_name", self.pid, 0, "python3"), meta("process_name", device, 0, "python3")]
        rows += [meta("thread_name", self.pid, tid, name) for tid, name in threads.items()]
        rows += [meta("thread_name", device, s, f"stream {s}") for s in sorted(streams)]
        return rows
