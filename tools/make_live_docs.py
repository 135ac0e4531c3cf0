#!/usr/bin/env python3
"""Writes docs/validation/live.md from runs of flopcast: no number in it is typed.

    tools/make_live_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE [--python PYTHON]

The Python must have PyTorch. A run takes from seconds to a minute.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from docs_text import Program, percent, signed, table

EXAMPLES = Path("examples/live")
# Script, cluster, what it is called with.
SCRIPTS = (
    ("ddp_resnet.py", "dgx-h100", []),
    ("fsdp2_llama.py", "dgx-h100", ["--layers", "4"]),
    ("tensor_parallel.py", "dgx-h100", []),
    ("pipeline_1f1b.py", "dgx-h100", []),
    ("mixture_of_experts.py", "dgx-h100", []),
)
BASES = ("measured", "fitted", "roofline", "assumed", "unknown")
LONGEST_S = 120  # of a run, in real time
CARD = "rtx-3090"
CARD_SCRIPT = ["--size", "1b", "--sequence", "768", "--steps", "3"]
ESTIMATE = ["llama-3-8b", "--on", "dgx-h100", "--zero", "3", "--seq", "4096"]
ESTIMATE += ["--global-batch", "8", "--software", "fsdp"]
# The profile fsdp was fitted to runs whose attention was FlashAttention 2. PyTorch takes cuDNN's on this chip now, as
# Megatron does: with the share of the peak that the chip has there.
NEW_ATTENTION = """[pair."hopper+fsdp"]
attention_share = 1.129
attention_backward_share = 1.129
"""
# The account of a run that an error ended.
NOTHING = {"status": 1, "ranks": [], "coverage": [], "kernels": [], "tainted_reads": 0}
WITHOUT_CUDNN = """import runpy, torch
torch.backends.cuda.enable_cudnn_sdp(False)
runpy.run_path({!r}, run_name="__main__")
"""
# Folders of --shared, each of one machine.
RECORDINGS = ("megatron_tp8_a100", "nanogpt_8xh100", "torchrec_dlrm_4xv100", "dlrm_8xv100_kineto_et", "resnet50_1xv100")
# Files of one machine in several folders.
TRACELENS = {
    "qwen": "single_gpu_h100_mi300/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "bert": "single_gpu_h100_mi300/h100_gaunernst_bert-small-uncased__1016001.json.gz",
    "timesformer": "gpu_pairs_h100_mi300/h100_facebook_timesformer-base-finetuned-k400__1016002.json.gz",
    "vit": "gpu_pairs_h100_mi300/h100_Falconsai_nsfw_image_detection__1016002.json.gz",
}
# Milliseconds of a step of nanogpt_8xh100 without the profiler (whatif_nanogpt.json): its host cannot take longer.
NANOGPT_STEPS, NANOGPT_MS = 4, 33.4


@dataclass(frozen=True)
class Run:
    """A script's output and the run's own account of it."""

    output: str
    account: dict

    def time_of(self, *names: str) -> float:
        """GPU seconds of a rank in kernels whose name has one of these parts."""
        ranks = max(1, len(self.account["ranks"]))
        return sum(k["time_s"] for k in self.account["kernels"] if any(n in k["what"] for n in names)) / ranks

    def steps_ms(self) -> list[float]:
        return [float(ms) for ms in re.findall(r"^step \d+: ([\d.]+) ms", self.output, re.MULTILINE)]


class Runner:
    def __init__(self, flopcast: str, python: str) -> None:
        self.flopcast, self.python = flopcast, python

    def run(self, cluster: str, ranks: int, script: str, arguments: list[str], without_cudnn: bool = False) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            account = Path(folder) / "run.json"
            words = ["run", "--on", cluster, "--python", self.python, "--json", str(account)]
            words += ["--ranks", str(ranks)] if ranks else []
            path = EXAMPLES / script
            if without_cudnn:
                path = Path(folder) / script
                path.write_text(WITHOUT_CUDNN.format(str((EXAMPLES / script).resolve())))
            command = [self.flopcast, *words, str(path), *arguments]
            done = subprocess.run(["timeout", str(LONGEST_S), *command], capture_output=True, text=True)
            told = json.loads(account.read_text()) if account.exists() else NOTHING
            return Run(done.stdout + done.stderr, told)


# --- Coverage ---------------------------------------------------------------------------------------


def coverage_row(script: str, run: Run) -> list[str]:
    times = {one["what"]: one["time_s"] for one in run.account["coverage"]}
    together = sum(times.values()) or 1
    steps = run.steps_ms()
    ended = run.account["status"] == 0 and steps
    last = f"{steps[-1]:.1f}" if ended else "does not end"
    return [f"`{script}`", str(len(run.account["ranks"])), last,
            *(percent(times.get(basis, 0) / together, 1) for basis in BASES),
            str(run.account["tainted_reads"])]  # fmt: skip


def coverage(runner: Runner) -> str:
    rows = [coverage_row(script, runner.run(cluster, 0, script, arguments)) for script, cluster, arguments in SCRIPTS]
    titles = ["script", "ranks", "last step, ms", *BASES, "tainted reads"]
    return "## What prices rest on\n\nShare of GPU time.\n\n" + table(titles, rows)


# --- Memory -----------------------------------------------------------------------------------------


def memory_row(runner: Runner, batch: int) -> list[str]:
    run = runner.run(CARD, 1, "fsdp2_llama.py", [*CARD_SCRIPT, "--batch", str(batch)])
    peaks = re.findall(r"([\d.]+) GiB$", run.output, re.MULTILINE)
    error = re.search(r"OutOfMemoryError: (.*?\. GPU .*?free\.)", run.output)
    reserved = f"{float(peaks[-1]):.2f} GiB" if peaks and not error else "–"
    return [str(batch), reserved, error.group(1) if error else ""]


def memory(runner: Runner) -> str:
    rows = [memory_row(runner, batch) for batch in range(1, 5)]
    words = " ".join(CARD_SCRIPT)
    titles = ["batch", "peak reserved", "PyTorch says"]
    return (
        f"## Memory\n\n`flopcast run --on {CARD} fsdp2_llama.py {words} --batch N`: what PyTorch's own "
        "allocator reserves, and what it says where there is no more.\n\n" + table(titles, rows)
    )


# --- Against the estimate of the same plan ------------------------------------------------------------


def per_step(run: Run, *names: str) -> float:
    return run.time_of(*names) / max(1, len(run.steps_ms()))


def parts_of_run(run: Run) -> dict[str, float]:
    products = per_step(run, "cublas")
    attention = per_step(run, "attention")
    optimizer = per_step(run, "_fused_adam")
    known = {"matrix products": products, "attention": attention, "optimizer": optimizer}
    return known | {"other kernels": per_step(run, "") - sum(known.values())}


def parts_of_estimate(document: dict) -> dict[str, float]:
    parts = document["parts_s"]
    known = {"matrix products": parts["matrix"], "attention": parts["attention"], "optimizer": parts["optimizer"]}
    return known | {"other kernels": parts["memory_bound"]}


def column(step_ms: float, parts: dict[str, float], against: float | None = None) -> list[str]:
    share = "" if against is None else f" ({signed(step_ms / against - 1)})"
    rest = step_ms - 1e3 * sum(parts.values())
    return [f"{step_ms:.1f}{share}", *(f"{1e3 * seconds:.1f}" for seconds in parts.values()), f"{rest:.1f}"]


def against_estimate(runner: Runner, program: Program) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as constants:
        constants.write(NEW_ATTENTION)
        constants.flush()
        changed = program.json("estimate", *ESTIMATE, "--constants", constants.name)
        estimates = [program.json("estimate", *ESTIMATE), changed]
    columns = []
    for estimate, without_cudnn in zip(estimates, (True, False)):
        run = runner.run("dgx-h100", 0, "fsdp2_llama.py", [], without_cudnn)
        expected = 1e3 * estimate["time_s"]
        columns.append(column(run.steps_ms()[-1], parts_of_run(run), expected))
        columns.append(column(expected, parts_of_estimate(estimate)))
    names = ["a step (run / estimate)", *parts_of_estimate(estimates[0]), "transfers, contention, host"]
    titles = ["ms", "run, FlashAttention 2", "estimate", "run, cuDNN's attention", "estimate, rate of cuDNN's"]
    return (
        "## A run against the estimate of its plan\n\n`fsdp2_llama.py` on `dgx-h100` beside "
        f"`flopcast estimate {' '.join(ESTIMATE)}`. Kernels of a run are told alone; what transfers beside them "
        "cost is in the last line. The profile fsdp was fitted to runs with FlashAttention 2. PyTorch takes cuDNN's "
        "attention on this chip now: the last column has the rate that Megatron's runs have of it.\n\n"
        + table(titles, [list(row) for row in zip(names, *columns)])
    )


# --- The host -----------------------------------------------------------------------------------------


def host(program: Program, shared: Path) -> str:
    traces = shared / "traces"
    with tempfile.TemporaryDirectory() as folder:
        tracelens = Path(folder) / "tracelens_h100"
        tracelens.mkdir()
        for name, path in TRACELENS.items():
            (tracelens / f"{name}.run1.rank0.json.gz").symlink_to((traces / path).resolve())
        document = program.json("calibrate", "host", *(str(traces / name) for name in RECORDINGS), str(tracelens))
    errors = document["errors"]
    rows = [
        [e["recording"], f"{e['operators']:,}", f"{1e3 * e['profiler_s']:.1f}", f"{1e3 * e['measured_s']:.1f}",
         f"{1e3 * e['forecast_s']:.1f}", signed(e["error"])]
        for e in errors
    ]  # fmt: skip
    worst = max(max(1 + e["error"], 1 / (1 + e["error"])) for e in errors)
    nanogpt = next(e for e in errors if e["recording"] == "nanogpt_8xh100")
    ranks = len(list((traces / "nanogpt_8xh100").glob("rank*")))
    step_ms = 1e3 * nanogpt["measured_s"] / ranks / NANOGPT_STEPS
    titles = ["recording", "operators", "the profiler's, ms", "measured, ms", "forecast, ms", "error"]
    return (
        "## Host time\n\nThreads that launch kernels, in each public recording: operators, what lies between them, and calls; "
        "by a table fitted to all other recordings. Stretches above 0.1 ms are left out, and what the profiler took is taken "
        f"off. Forecasts are off by x{document['spread']:.2f} either way (root mean square; each recording, that is each "
        f"machine, counts alike), at worst by x{worst:.2f}: machines differ, and recordings do not tell how fast theirs is. "
        f"A check that nothing was fitted to: without the profiler a step of nanogpt_8xh100 took {NANOGPT_MS} ms; the host's "
        f"share measured here is {step_ms:.1f} ms of it.\n\n" + table(titles, rows)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flopcast", default="flopcast")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--python", default="python3")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    runner, program = Runner(options.flopcast, options.python), Program(options.flopcast)
    parts = [
        f"# Live runs\n\nWritten by `./dev docs live` with {program.version()}.\n",
        coverage(runner),
        memory(runner),
        against_estimate(runner, program),
        host(program, options.shared),
    ]
    options.out.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
