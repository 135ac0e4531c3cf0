#!/usr/bin/env python3
"""Writes docs/validation/live.md from runs of flopcast: no number in it is typed.

    tools/make_live_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE [--python PYTHON]

The Python must have PyTorch. A run takes from seconds to a minute.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from docs_text import Program, page_parser, percent, signed, table
from live_targets import targets
from validate_live import section

EXAMPLES = Path("examples/live")
RATES = Path("catalog/live/rates.toml")
CONSTANTS = Path("catalog/training/constants.toml")
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
# What torchtitan's script of December 2024 took on 8 H100 of 96 GB (benchmarks/llama3_h100_202412_torchtitan.md): a row
# of the measured runs.
MEASURED = "titan-8b-n8-eager"
MEASURED_RUNS = Path("tests/data/training.json")
MEASURED_CLUSTER = "8 x h100-sxm, chip.power_w 500W, chip.hbm_bandwidth 2400GB/s, chip.hbm_capacity 96GiB"
TITAN = Path("tools/torchtitan_2024.py")
MODEL = ["llama-3-8b", "--zero", "3", "--software", "fsdp"]
MEASURED_PLAN = ["--seq", "8192", "--global-batch", "16", "--micro-batch", "2", "--recompute", "selective"]
PLAN = ["--seq", "4096", "--global-batch", "8"]
# Of FSDP: what is gathered and scattered is cast, packed and taken apart by kernels.
FSDP_COPIES = ("split_with_sizes_copy", "_chunk_cat", "_foreach_copy_")
# Adam by lists or fused, and the norm of all gradients.
OPTIMIZER = ("_fused_adam", "_foreach_mul", "_foreach_add", "_foreach_lerp", "_foreach_div", "_foreach_sqrt", "_foreach_norm")
# The account of a run that an error ended.
NOTHING = {"status": 1, "ranks": [], "coverage": [], "kernels": [], "tainted_reads": 0}
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

    def spent(self, what: str) -> float:
        """Seconds of a rank, by the run's own account."""
        return sum(rank["breakdown_s"][what] for rank in self.account["ranks"]) / max(1, len(self.account["ranks"]))

    def steps_ms(self) -> list[float]:
        return [float(ms) for ms in re.findall(r"^step \d+: ([\d.]+) ms", self.output, re.MULTILINE)]


class Runner:
    def __init__(self, flopcast: str, python: str) -> None:
        self.flopcast, self.python = flopcast, python

    def run(self, cluster: str, ranks: int, script: Path, arguments: list[str]) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            account = Path(folder) / "run.json"
            words = ["run", "--on", cluster, "--python", self.python, "--json", str(account)]
            words += ["--ranks", str(ranks)] if ranks else []
            command = [self.flopcast, *words, str(script), *arguments]
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
    rows = [coverage_row(script, runner.run(cluster, 0, EXAMPLES / script, arguments)) for script, cluster, arguments in SCRIPTS]
    titles = ["script", "ranks", "last step, ms", *BASES, "tainted reads"]
    return "## What prices rest on\n\nShare of GPU time.\n\n" + table(titles, rows)


# --- Memory -----------------------------------------------------------------------------------------


def memory_row(runner: Runner, batch: int) -> list[str]:
    run = runner.run(CARD, 1, EXAMPLES / "fsdp2_llama.py", [*CARD_SCRIPT, "--batch", str(batch)])
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
        "allocator reserves, and what it says where there is no more. Phantora's authors report a Llama of this size on "
        "this card: 22 to 23 GB, out of memory at batch 4. Their tokens a sequence, optimizer and precision are not known "
        "here; with weights, gradients and moments in fp32, this length is one at which batch 4 is the first that does "
        "not fit, so the table shows that such a curve comes out, not that theirs does. Peak memory against a measured "
        "run is in the next table.\n\n" + table(titles, rows)
    )


# --- Against a measured run, and the estimate of the same plan -------------------------------------------


def estimate(program: Program, cluster: str, plan: list[str]) -> dict:
    return program.json("estimate", *MODEL, "--on", cluster, *plan)


def against_measured(runner: Runner, program: Program) -> str:
    cases = (json.loads(line.rstrip(",\n")) for line in MEASURED_RUNS.read_text().splitlines() if MEASURED in line)
    measured = next(case["measured"] for case in cases if case["id"] == MEASURED)
    run = runner.run(MEASURED_CLUSTER, 0, TITAN, ["--steps", "3"])
    step = run.steps_ms()[-1] / 1e3
    forecast = estimate(program, MEASURED_CLUSTER, MEASURED_PLAN)["time_s"]
    peak = float(re.findall(r"([\d.]+) GiB$", run.output, re.MULTILINE)[-1])
    rows = [
        ["measured", f"{1e3 * measured['iter_time_s']:.0f}", "", f"{measured['memory_gib']:.1f}", ""],
        ["run", f"{1e3 * step:.0f}", signed(step / measured["iter_time_s"] - 1), f"{peak:.1f}",
         signed(peak / measured["memory_gib"] - 1)],
        ["estimate", f"{1e3 * forecast:.0f}", signed(forecast / measured["iter_time_s"] - 1), "–", ""],
    ]  # fmt: skip
    titles = ["", "a step, ms", "error", "reserved, GiB", "error"]
    return (
        "## A run against a measured one\n\nLlama-3-8B as torchtitan trained it with FSDP2 in December 2024, eager, on 8 "
        "H100 of 96 GB and 500 W: 2 sequences of 8,192 tokens a GPU, every second product kept for backward "
        f"(benchmarks/llama3_h100_202412_torchtitan.md). `{TITAN}` has its operations; the run is on `{MEASURED_CLUSTER}`. "
        "Of what was fitted to whole steps, this one among many, the run has only what computing loses beside transfers "
        "(`contention`); the estimate has all of its constants from them. It is one run of one software: what the profile's "
        "other runs did (llm-foundry of 2023) no script here has.\n\n"
        + table(titles, rows)
    )


def lines_of_run(run: Run) -> dict[str, float]:
    """Milliseconds of a step."""
    steps = max(1, len(run.steps_ms()))
    of_kernels = {
        "matrix products": run.time_of("cublas"),
        "attention": run.time_of("attention"),
        "optimizer, clipping": run.time_of(*OPTIMIZER),
        "FSDP's copies": run.time_of(*FSDP_COPIES),
    }
    of_kernels["other kernels"] = run.time_of("") - sum(of_kernels.values())
    others = {"clearing": "copies", "exposed transfers": "exposed_communication", "host": "host_bound"}
    lines = {name: 1e3 * seconds / steps for name, seconds in of_kernels.items()}
    lines |= {name: 1e3 * run.spent(word) / steps for name, word in others.items()}
    return lines | {"slowed by transfers": run.steps_ms()[-1] - sum(lines.values())}


def lines_of_estimate(parts: dict[str, float]) -> dict[str, float]:
    lines = {
        "matrix products": parts["matrix"],
        "attention": parts["attention"],
        "optimizer, clipping": parts["optimizer"],
        "other kernels": parts["memory_bound"],
        "exposed transfers": parts["weights"] + parts["gradients"],
        "host": parts["host"],
        "slowed by transfers": parts["contention"],
    }
    return {name: 1e3 * seconds for name, seconds in lines.items()}


WHY = """\
| line | why they differ |
|---|---|
| attention | The run has published rates of FlashAttention 2 on H100 ({forward} TFLOP/s forward, {backward} backward). The estimate's `attention_share` was fitted to whole steps of this software, and so holds what happens around attention as well: rotary embedding in fp32, keys and values repeated, transposed copies. |
| other kernels | Those kernels are here in the run, each told alone: norms written out in fp32, rotary embedding through complex numbers, casts. The estimate has fused ones, times its constant `unfused`. |
| FSDP's copies | Casting, packing and unpacking of what is gathered and scattered. The estimate has no such line; its transfers have {share} of their rate alone (`collective_share`) instead, and what they hide slows computing down (`contention`): the last line. |
| optimizer, clipping | Adam by lists reads and writes its moments in a kernel an operation, and gradients are read again for their norm; the estimate has one fused kernel. |
| clearing | Gradients of logits and embedding are set to zero first. |
| host | The run waits for the host only where the GPU has nothing left to do; the estimate has a constant a step. |
"""


def why() -> str:
    flash = next(one for one in tomllib.loads(RATES.read_text())["attention"] if "flash" in one["kernel"])
    fsdp = tomllib.loads(CONSTANTS.read_text())["software"]["fsdp"]
    numbers = {"forward": flash["forward_flops"] / 1e12, "backward": flash["backward_flops"] / 1e12}
    words = {name: f"{number:.0f}" for name, number in numbers.items()}
    return WHY.format(**words, share=percent(fsdp["collective_share"], 0))


def against_estimate(runner: Runner, program: Program) -> str:
    forecast = estimate(program, "dgx-h100", PLAN)
    titan = runner.run("dgx-h100", 0, TITAN, ["--keep-all", "--batch", "1", "--sequence", "4096", "--steps", "3"])
    today = runner.run("dgx-h100", 0, EXAMPLES / "fsdp2_llama.py", [])
    expected = 1e3 * forecast["time_s"]
    columns = [lines_of_run(titan), lines_of_estimate(forecast["parts_s"]), lines_of_run(today)]
    ends = [titan.steps_ms()[-1], expected, today.steps_ms()[-1]]
    shares = [f"{end:.1f} ({signed(end / expected - 1)})" for end in ends]
    rows = [["a step (over the estimate)", shares[0], f"{expected:.1f}", shares[2]]]
    for name in columns[0]:
        rows.append([name, *(f"{column[name]:.1f}" if name in column else "–" for column in columns)])
    titles = ["ms", f"run, `{TITAN.name}`", "estimate", "run, `fsdp2_llama.py`"]
    words = " ".join([*MODEL, "--on", "dgx-h100", *PLAN])
    return (
        "## A run against the estimate of its plan\n\n"
        f"`{TITAN} --keep-all` (the operations that the profile `fsdp` was fitted to) and `examples/live/fsdp2_llama.py` "
        f"(PyTorch's of today: cuDNN's attention, fused norms, fused Adam, keys and values not repeated) on `dgx-h100`, "
        f"beside `flopcast estimate {words}`. Kernels of a run are told as they are alone.\n\n"
        + table(titles, rows)
        + "\n"
        + why()
    )


# --- Rates of kernels -----------------------------------------------------------------------------------


def rate_of(one: dict) -> str:
    return percent(one["share"], 1) if "share" in one else f"{one['elements']:.2f} elements a cycle of a core"


def rates() -> str:
    classes = tomllib.loads(RATES.read_text())["memory"]
    rows = [
        [one["name"], ", ".join(f"`{word}`" for word in one["kernels"]), rate_of(one), str(one["points"]),
         percent(one["error"], 1), ", ".join(one["chips"])]
        for one in classes if "points" in one
    ]  # fmt: skip
    alike = ", ".join(f"{one['name']} as {one['like']}" for one in classes if "points" not in one)
    titles = ["class", "names of kernels", "rate", "shapes", "error", "chips"]
    return (
        "## Kernels that only move data\n\nWhat each class reached in public recordings: share of the chip's bandwidth where "
        "the data does not fit the cache, or, where addresses are worked out one by one, elements; the median, and the mean "
        f"distance of shapes from it. Taken as they move, without a recording: {alike}.\n\n" + table(titles, rows)
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
    parser = page_parser(__doc__ or "")
    parser.add_argument("--python", default="python3")
    options = parser.parse_args()
    runner, program = Runner(options.flopcast, options.python), Program(options.flopcast)
    parts = [
        f"# Live runs\n\nWritten by `./dev docs live` with {program.version()}.\n",
        coverage(runner),
        memory(runner),
        against_measured(runner, program),
        against_estimate(runner, program),
        rates(),
        host(program, options.shared),
        targets(options.flopcast, options.python),
    ]
    # What ./dev validate-live wrote: it takes hours, and packages of the day.
    frameworks = section(options.out.read_text(encoding="utf-8")) if options.out.exists() else ""
    if frameworks:
        parts.append(frameworks)
    options.out.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
