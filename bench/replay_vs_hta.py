#!/usr/bin/env python3
"""Times `flopcast replay DIR --json` against HolisticTraceAnalysis on the same traces.

flopcast  the whole process: start, read, graph, replay, report as JSON
HTA       load + temporal breakdown + communication/computation overlap, timed inside its process:
          the start of Python and HTA's imports are not counted

The two alternate, so that a slow moment of the machine hits both. Prints medians and their ratio, by
the clock and by processor time (which a busy machine disturbs less), and the peak memory of both
against the size of the unpacked JSON. HTA loads ranks in several processes: its peak is the largest
sum over its process tree, sampled; flopcast's is the kernel's own count. Run it with the Python that has HolisticTraceAnalysis:

    .venv/bin/python bench/replay_vs_hta.py [DIR] [--runs 5] [--flopcast build/release/flopcast]

DIR is any folder of Kineto traces of one run; default: ../shared/traces/nanogpt_8xh100 where it is
there, else the sample that examples/make_sample.py writes.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("FLOPCAST_SHARED", ROOT.parent / "shared"))
TARGET_RATIO = 40.0
TARGET_MEMORY = 1.0

HTA_CHILD = """
import contextlib, io, json, logging, os, sys, time, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.trace_analysis import TraceAnalysis
files = {int(rank): path for rank, path in json.loads(sys.argv[1]).items()}
def cpu():
    return sum(os.times()[:4])  # own and of child processes, user and system
with contextlib.redirect_stdout(io.StringIO()):
    begin = time.perf_counter()
    cpu_begin = cpu()
    analysis = TraceAnalysis(trace_files=files)
    loaded = time.perf_counter()
    analysis.get_temporal_breakdown(visualize=False)
    analysis.get_comm_comp_overlap(visualize=False)
    done = time.perf_counter()
    cpu_s = cpu() - cpu_begin
print(json.dumps({"load_s": loaded - begin, "analysis_s": done - loaded, "cpu_s": cpu_s}))
"""


def find_traces(directory: Path) -> list[Path]:
    files = sorted(p for p in directory.iterdir() if p.name.endswith((".json", ".json.gz")))
    if not files:
        sys.exit(f"{directory}: no .json or .json.gz file here")
    return files


def unpacked_bytes(path: Path) -> int:
    if path.suffix != ".gz":
        return path.stat().st_size
    total = 0
    with gzip.open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            total += len(chunk)
    return total


def children_of(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return [
            int(child)
            for task in tasks
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        ]
    except OSError:
        return []


def resident_bytes(pid: int) -> int:
    """Memory of a process and its children; pages that several share count once (PSS)."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = int(line.split()[1]) * 1024
                break
    except OSError:
        pass  # it has ended
    return total + sum(resident_bytes(child) for child in children_of(pid))


@dataclass
class Run:
    seconds: float
    cpu_s: float
    peak_bytes: int


def run_flopcast(binary: Path, directory: Path) -> Run:
    """One whole run of the program."""
    with open(os.devnull, "w") as nowhere:
        begin = time.perf_counter()
        process = subprocess.Popen([binary, "replay", directory, "--json"], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"flopcast replay failed with exit code {process.returncode}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def run_hta(files: dict[int, str]) -> tuple[Run, dict]:
    """One run without its start, and how its time divides."""
    process = subprocess.Popen(
        [sys.executable, "-c", HTA_CHILD, json.dumps(files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = 0
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.1):
            peak = max(peak, resident_bytes(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, errors = process.communicate()
    ended.set()
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"HolisticTraceAnalysis failed:\n{errors[-2000:]}")
    times = json.loads(output.strip().splitlines()[-1])
    return Run(times["load_s"] + times["analysis_s"], times["cpu_s"], peak), times


def default_traces(scratch: Path) -> Path:
    shared = SHARED / "traces" / "nanogpt_8xh100"
    if shared.is_dir():
        return shared
    sample = scratch / "sample"
    subprocess.run([sys.executable, ROOT / "examples" / "make_sample.py", sample], check=True)
    return sample


def mega(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


def measure(arguments: argparse.Namespace, directory: Path) -> int:
    files = find_traces(directory)
    size = sum(unpacked_bytes(path) for path in files)
    # HTA wants to be told which file is which rank; for the time it takes, any order will do.
    ranks = {rank: str(path.resolve()) for rank, path in enumerate(files)}
    print(f"{directory}: {len(files)} files, {mega(size)} of JSON unpacked, {os.cpu_count()} cores")
    run_flopcast(arguments.flopcast, directory)  # the files are in the page cache from here on
    ours: list[Run] = []
    theirs: list[Run] = []
    for number in range(arguments.runs):
        ours.append(run_flopcast(arguments.flopcast, directory))
        run, times = run_hta(ranks)
        theirs.append(run)
        print(
            f"run {number + 1}: flopcast {ours[-1].seconds:.3f} s   HTA {run.seconds:.2f} s "
            f"(load {times['load_s']:.2f}, breakdown + overlap {times['analysis_s']:.2f})",
            flush=True,
        )
    result = {"traces": str(directory), "json_bytes": size, "runs": arguments.runs}
    for name, runs in (("flopcast", ours), ("hta", theirs)):
        result[f"{name}_s"] = statistics.median(run.seconds for run in runs)
        result[f"{name}_cpu_s"] = statistics.median(run.cpu_s for run in runs)
        result[f"{name}_peak_bytes"] = max(run.peak_bytes for run in runs)
        result[f"{name}_peak_of_json"] = result[f"{name}_peak_bytes"] / size
    result["ratio"] = result["hta_s"] / result["flopcast_s"]
    result["cpu_ratio"] = result["hta_cpu_s"] / result["flopcast_cpu_s"]
    print(f"\n{'':<10}{'median':>10}{'processor':>12}{'peak memory':>14}{'of the JSON':>14}")
    for label, name in (("flopcast", "flopcast"), ("HTA", "hta")):
        print(
            f"{label:<10}{result[f'{name}_s']:>8.3f} s{result[f'{name}_cpu_s']:>10.3f} s"
            f"{mega(result[f'{name}_peak_bytes']):>14}{result[f'{name}_peak_of_json']:>13.2f}x"
        )
    print(
        f"ratio     {result['ratio']:>8.1f}  {result['cpu_ratio']:>10.1f}"
        f"    (target on nanogpt_8xh100: {TARGET_RATIO:.0f} by the clock, "
        f"memory at most {TARGET_MEMORY}x)"
    )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    if not arguments.check:
        return 0
    met = result["ratio"] >= TARGET_RATIO and result["flopcast_peak_of_json"] <= TARGET_MEMORY
    return 0 if met else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--flopcast", type=Path, default=ROOT / "build/release/flopcast")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a target is missed")
    arguments = parser.parse_args()
    if importlib.util.find_spec("hta") is None:
        sys.exit("HolisticTraceAnalysis is not installed here: run ./dev setup, then .venv/bin/python")
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.directory or default_traces(Path(scratch))
        return measure(arguments, directory)


if __name__ == "__main__":
    sys.exit(main())
