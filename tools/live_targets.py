"""What a live run costs the machine it runs on, and whether it is the same each time: a section of docs/validation/live.md,
from runs and benches."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from docs_text import table

ENCODER = Path("tools/fsdp_encoder.py")
TRAINING = Path("tests/python/live/training_script.py")
RANKS, SHORT, LONG, REPEATS = 8, 5, 25, 10


def bench(folder: Path, name: str) -> dict[str, dict]:
    """What a bench says, by the names of its cases."""
    words = [str(folder / name), "--benchmark_format=json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return {case["name"]: case for case in told["benchmarks"]}


def descendants(pid: int) -> list[int]:
    """Processes that a process started, and those that they did."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *descendants(child)]
    return found


def private_mib(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB", rollup, re.MULTILINE))) / 1024


def run(words: list[str], steps: int) -> tuple[float, float]:
    """Real seconds of a run of the encoder, and the most private memory that one of its ranks had in the middle of it,
    MiB: what ranks share becomes private to the last of them when the others end."""
    most = 0.0
    begun = time.monotonic()
    command = [*words, str(ENCODER), str(steps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            if line.startswith(f"step {steps // 2} "):
                ranks = [pid for pid in descendants(process.pid) if is_rank(pid, process.pid)]
                most = max(most, *map(private_mib, ranks))
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit code {process.returncode}")
    return time.monotonic() - begun, most


def is_rank(pid: int, run: int) -> bool:
    """A child of the fork server: it runs the same command as its parent, which is not the run itself."""
    parent = int(re.search(r"^PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])
    return parent != run and Path(f"/proc/{pid}/cmdline").read_bytes() == Path(f"/proc/{parent}/cmdline").read_bytes()


def bytes_of_run(words: list[str]) -> str:
    """A digest of what a run prints, of its account, and of every row of its recording."""
    with tempfile.TemporaryDirectory() as folder:
        account, recording = Path(folder) / "run.json", Path(folder) / "recording"
        more = ["--json", str(account), "--recording", str(recording), "--start", "1750000000"]
        done = subprocess.run([*words, *more, str(ENCODER), "3"], capture_output=True, check=True)
        digest = hashlib.sha256(done.stdout + account.read_bytes())
        for path in sorted(recording.iterdir()):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def largest_difference(flopcast: str, python: str) -> float:
    """Of losses, gradient norms and accuracies of small models between the run and PyTorch's own CPU, relative."""
    words = [flopcast, "run", "--on", "dgx-h100", "--ranks", "1", "--python", python, str(TRAINING)]
    told = [json.loads(subprocess.run([*words, device], capture_output=True, check=True).stdout) for device in ("cuda", "cpu")]
    pairs = [
        (a, b) for name in told[0] for what in told[0][name] for a, b in zip(told[0][name][what], told[1][name][what], strict=True)
    ]
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in pairs)


def targets(flopcast: str, python: str) -> str:
    folder = Path(flopcast).parent / "bench"
    records, engine = bench(folder, "live_record_bench"), bench(folder, "live_session_bench")
    words = [flopcast, "run", "--on", "dgx-h100", "--ranks", str(RANKS), "--python", python]
    run(words, 1)  # what is compiled once is there from here on
    (short, _), (long, private) = run(words, SHORT), run(words, LONG)
    alike = len({bytes_of_run(words) for _ in range(REPEATS)}) == 1
    ns = {name: f"{1e9 * case['seconds_each']:.0f} ns" for name, case in records.items()}
    rate = min(engine[f"records_of_ranks/{ranks}"]["items_per_second"] for ranks in (1, RANKS))
    rows = [
        ["a record: written; with the call of an event; of a launch; an operator with its launch",
         "; ".join(ns[f"live_record{what}/manual_time"] for what in ("", "_of_event", "_of_launch", "_of_operator")), "300 ns"],
        [f"engine, records a second on one core, 1 to {RANKS} ranks", f"{rate / 1e6:.1f} M", "1 M"],
        [f"real time of a step, `{ENCODER}` on {RANKS} ranks", f"{1e3 * (long - short) / (LONG - SHORT):.0f} ms", "300 ms"],
        ["private memory of the largest of its ranks", f"{private:.0f} MiB", "140 MiB"],
        [f"the same script {REPEATS} times on {RANKS} ranks: console, account, every row of the recording",
         "the same bytes" if alike else "differ", "the same bytes"],
        ["small models: losses, gradient norms, accuracies against the CPU's", f"{largest_difference(flopcast, python):.1e}", "1e-5"],
    ]  # fmt: skip
    return (
        f"## Cost and repeatability\n\nOn the machine that wrote this page, {os.cpu_count()} processors, in real time; so these "
        "figures, and only these, vary from writing to writing.\n\n" + table(["what", "measured", "target"], rows)
    )
