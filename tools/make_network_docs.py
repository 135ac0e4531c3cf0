#!/usr/bin/env python3
"""Writes docs/validation/network.md from runs of flopcast: no number in it is typed.

    tools/make_network_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs_text import Program, folded, mean, percent, signed, table, write_page

COLLECTIVES = "measured/collectives.csv.gz"
HOLD_OUTS = {
    "sizes": "Every other size of each curve",
    "ranks": "Rank counts that the fit has not seen",
    "nodes": "Node counts that the fit has not seen",
    "largest": "The four largest sizes of each curve: extrapolation",
    "curves": "Whole curves, a quarter at a time",
    "libraries": "Libraries that the fit has not seen on the system",
    "systems": "Systems that the fit has not seen",
}
# Public recordings and the machine each was made on.
RECORDINGS = {
    "nanogpt_8xh100": "1 x dgx-h100",
    "graph_decode_8xh200": "1 x dgx-h200",
    "megatron_tp8_a100": "1 x dgx-a100",
    "torchrec_dlrm_4xv100": "1 x dgx-1-v100",
    "dlrm_8xv100_kineto_et": "1 x dgx-1-v100",
}

# --- Collectives -----------------------------------------------------------------------------------

ERROR_TITLES = ["rows", "mean", "median", "p95", "bias", "in band"]


def error_cells(e: dict) -> list[str]:
    return [f"{e['rows']:,}", percent(e["mape"], 1), percent(e["median"], 1), percent(e["p95"], 1), signed(e["bias"]),
            percent(e["band_coverage"], 0)]  # fmt: skip


def errors_text(document: dict) -> str:
    text = table(["", *ERROR_TITLES], [["all", *error_cells(document)]])
    for kind, groups in document["by"].items():
        rows = [[name, *error_cells(e)] for name, e in groups.items()]
        text += "\n" + folded(f"By {kind}", table([kind, *ERROR_TITLES], rows))
    return text


def held_out(program: Program, csv: Path) -> str:
    text = ""
    for hold_out, title in HOLD_OUTS.items():
        document = program.json("calibrate", "network", str(csv), "--hold-out", hold_out)
        text += f"### {title}\n\n`--hold-out {hold_out}`\n\n{errors_text(document)}\n"
    return text


def without_calibration(program: Program, csv: Path) -> str:
    text = ""
    for source, title in (("nccl", "NCCL's constants"), ("alpha_beta", "The clusters' latencies and bandwidths alone")):
        document = program.json("validate", "collectives", str(csv), "--source", source)
        text += f"### {title}\n\n`--source {source}`\n\n{errors_text(document)}\n"
    return text


# --- Replay ----------------------------------------------------------------------------------------


def gpu_steps(result: dict) -> list[dict]:
    steps = [step for rank in result["ranks"] for step in rank["steps"]]
    return [step for step in steps if step["gpu_step_error"] is not None]


def replays(program: Program, folder: Path, *options: str) -> list[dict]:
    return program.json("validate", "replay", str(folder), *options)["sets"]


def step_change(recorded: dict, modelled: dict) -> float | None:
    changes = [b["gpu_replayed_s"] / a["gpu_replayed_s"] - 1 for a, b in zip(gpu_steps(recorded), gpu_steps(modelled))]
    return mean(changes)


def mean_error(result: dict) -> float | None:
    return mean([step["gpu_step_error"] for step in gpu_steps(result)])


def replay_rows(program: Program, shared: Path) -> list[list[str]]:
    rows = []
    for name, cluster in RECORDINGS.items():
        folder = shared / "traces" / name
        if not folder.is_dir():
            continue
        before = replays(program, folder)
        after = replays(program, folder, "--network", cluster)
        for recorded, modelled in zip(before, after):
            if "failure" in recorded or "failure" in modelled:
                continue
            operations = modelled["network"]["operations"]
            taken = sum(o["collectives"] - o["kept"] for o in operations)
            whole = sum(o["collectives"] for o in operations)
            transfer = sum(o["recorded_s"] for o in operations)
            moved = sum(o["modelled_s"] for o in operations) / transfer - 1 if transfer else None
            rows.append([recorded["name"], cluster, f"{taken:,} of {whole:,}", signed(moved), signed(mean_error(recorded)),
                         signed(mean_error(modelled)), signed(step_change(recorded, modelled))])  # fmt: skip
    return rows


# --- The page --------------------------------------------------------------------------------------


def page(program: Program, shared: Path) -> str:
    csv = shared / COLLECTIVES
    if not csv.is_file():
        sys.exit(f"{csv}: not there")
    replay_titles = ["run", "cluster", "collectives taken", "their transfer moves by", "GPU step error, recorded transfers",
                     "with the model", "GPU step moves by"]  # fmt: skip
    return f"""# Validation of the network

Written by `./dev docs` ({program.version()}); no number here is typed. Errors are |predicted / measured − 1|
of public measurements of collectives (AIConfigurator, Apache-2.0; Vidur, MIT; Subramanian et al.'s
nccl-tests on Perlmutter); *bias* is the mean signed error; *in band*: the share inside the 10–90 % band that
comes with each answer. Every single library version and data type counts as a curve of its own; the same
curve measured again differs by a few percent, other versions by more. The models are described in
[the theory of the network](../theory/network.md) and [of the flow simulator](../theory/flows.md).

## Kept out of the fit

{held_out(program, csv)}
## Without calibration

{without_calibration(program, csv)}
## Replays with the network's model

`flopcast replay --network CLUSTER` takes the transfer of every collective whose operation, size and group the
trace tells from the model instead of the recording. How far that moves the GPU step of public recordings
(means over ranks and steps):

{table(replay_titles, replay_rows(program, shared))}
The recordings were made with other library versions and settings than the measurements the model was
fitted to, and where only some ranks were recorded the recorded transfer holds waiting as well.
"""


if __name__ == "__main__":
    write_page(page, __doc__)
