"""Pictures of the figures of Subramanian et al. from the tables that
`flopcast plan --model-of subramanian --figure NAME --csv` prints.

python3 plot.py FOLDER      reads FOLDER/figure*.csv, writes FOLDER/figure*.png
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PARTS = [
    ("compute_s", "compute"),
    ("exposed_memory_s", "memory"),
    ("tensor_communication_s", "tensor"),
    ("pipeline_communication_s", "pipeline"),
    ("data_communication_s", "data"),
    ("bubble_s", "bubble"),
]
DAYS = {"5a", "5b", "A4"}
SWEEPS = {"1", "2a", "2b", "3a", "3b", "A2a", "A2b"}
AXES = {
    "hbm_bandwidth_bytes_per_s": ("HBM bandwidth, TB/s", 1e12),
    "hbm_capacity_bytes": ("HBM capacity, GB", 1e9),
    "matrix_flops_per_s": ("matrix rate, PFLOP/s", 1e15),
}
HEATMAPS = {
    "A5": ("hbm_bandwidth_bytes_per_s", "hbm_capacity_bytes"),
    "A6": ("matrix_flops_per_s", "hbm_capacity_bytes"),
}


def rows_of(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def found(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["iteration_time_s"]]


def label(row: dict, with_gpus: bool) -> str:
    plan = f"{row['tp1']}x{row['tp2']}\npp {row['pp']}\ndp {row['dp']}\nmb {row['microbatch']}"
    return f"{row['gpus']}\n{plan}" if with_gpus else plan


def bars(rows: list[dict], with_gpus: bool) -> plt.Figure:
    """Shares of the iteration, its length above, memory as dots."""
    rows = found(rows)
    figure, axes = plt.subplots(figsize=(1.5 + 0.8 * len(rows), 5))
    places = range(len(rows))
    bottom = [0.0] * len(rows)
    for key, name in PARTS:
        shares = [100 * float(row[key]) / float(row["iteration_time_s"]) for row in rows]
        axes.bar(places, shares, bottom=bottom, label=name, width=0.7)
        bottom = [below + share for below, share in zip(bottom, shares)]
    for place, row in zip(places, rows):
        mark = "" if row["fits"] == "true" else "*"
        axes.text(place, 101, f"{float(row['iteration_time_s']):.4g} s{mark}", ha="center", fontsize=7)
    axes.set_xticks(list(places), [label(row, with_gpus) for row in rows], fontsize=7)
    axes.set_ylabel("share of the iteration, %   (* does not fit)")
    axes.set_ylim(0, 112)
    axes.legend(fontsize=7, loc="lower left", ncols=2)
    memory = axes.twinx()
    memory.plot(places, [float(row["memory_bytes"]) / 1e9 for row in rows], "k.--", linewidth=0.8)
    memory.set_ylabel("memory, GB")
    memory.set_ylim(bottom=0)
    return figure


def days(rows: list[dict]) -> plt.Figure:
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure, panels = plt.subplots(1, len(models), figsize=(6 * len(models), 5), squeeze=False)
    for axes, model in zip(panels[0], models):
        lines = defaultdict(list)
        for row in found(rows):
            if row["model"] == model:
                lines[row["system"]].append((int(row["gpus"]), float(row["training_days"])))
        for system, points in lines.items():
            axes.loglog(*zip(*points), marker=".", label=system, base=2)
        axes.set(title=model, xlabel="GPUs", ylabel="days of training")
        axes.legend(fontsize=7)
        axes.grid(True, alpha=0.3)
    return figure


def heatmap(rows: list[dict], x: str, y: str, gpus: int = 8192) -> plt.Figure:
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure, panels = plt.subplots(1, len(models), figsize=(7 * len(models), 5), squeeze=False)
    for axes, model in zip(panels[0], models):
        chosen = [row for row in rows if row["model"] == model and int(row["gpus"]) == gpus]
        (x_title, x_unit), (y_title, y_unit) = AXES[x], AXES[y]
        xs = sorted({float(row[x]) / x_unit for row in chosen})
        ys = sorted({float(row[y]) / y_unit for row in chosen})
        grid = [[float("nan")] * len(xs) for _ in ys]
        for row in found(chosen):
            column, line = xs.index(float(row[x]) / x_unit), ys.index(float(row[y]) / y_unit)
            grid[line][column] = float(row["training_days"])
        shading = axes.pcolormesh(xs, ys, grid, shading="nearest")
        figure.colorbar(shading, ax=axes, label="days of training")
        axes.set(title=f"{model}, {gpus} GPUs", xlabel=x_title, ylabel=y_title)
    return figure


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for path in sorted(Path(sys.argv[1]).glob("figure*.csv")):
        name = path.stem.removeprefix("figure")
        rows = rows_of(path)
        if name in HEATMAPS:
            picture = heatmap(rows, *HEATMAPS[name])
        elif name in DAYS:
            picture = days(rows)
        else:
            picture = bars(rows, with_gpus=name not in SWEEPS)
        picture.tight_layout()
        picture.savefig(path.with_suffix(".png"), dpi=130)
        plt.close(picture)
        print(path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
