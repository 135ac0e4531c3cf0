#!/usr/bin/env python3
"""Chooses the published measurements of tests/data, which tests hold limits on, from the larger collection.

    tools/make_test_data.py --shared ../shared

Numbers, short names and sources only; tests/data/README.md says where each file is from. The choice is by
hashes of what was measured, in proportion to each group (a layer, a head count, a size), so that it depends on
no result: the same collection gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

Row = dict[str, str]

# Table, data types kept, rows of each, what the choice keeps in proportion. Fits with many knots need more rows:
# those of GEMMs have 1,400.
KERNELS = (
    ("h200_sxm_gemm", {"bfloat16", "fp8"}, 3000, ("gemm_dtype", "m")),
    ("b200_sxm_gemm", {"bfloat16"}, 1500, ("gemm_dtype", "m")),
    ("a100_sxm_context_attention", {"bfloat16"}, 1500, ("num_heads", "num_key_value_heads")),
    ("h200_sxm_generation_attention", {"bfloat16"}, 3000, ("num_heads", "num_key_value_heads")),
    ("b200_sxm_moe", {"fp8"}, 3000, ("hidden_size", "inter_size", "topk", "num_experts")),
)
TYPE_COLUMNS = ("gemm_dtype", "attn_dtype", "moe_dtype")
LATENCY = "latency"

COLLECTIVE_COLUMNS = ("gpu", "system", "op", "impl", "dtype", "gpus", "nodes", "bytes", "time_us")
# Every curve of these (gpu or system, library) is kept: what unseen rank counts are judged on.
WHOLE_COLLECTIVES = {
    ("h200_sxm", "NCCL nccl/2.29.2"),
    ("b200_sxm", "NCCL nccl/2.29.2"),
    ("Perlmutter", "nccl-tests"),
}
DENSE_SOURCE, DENSE_STRIDE = "microsoft/vidur", 16  # hundreds of sizes on a line

CHIP_FIGURES = ("mem_bw", "mem_capacity", "bfloat16_tc_flops", "int8_tc_flops", "fp4_tc_flops", "power")

RUN_FIELDS = {
    "source": ("repo", "path", "commit", "paper"),
    "model": (),  # all but its notes
    "system": ("gpu", "gpus", "gpus_per_node", "inter", "hbm_gbs"),
    "parallel": (),
    "batch": ("gbs", "mbs"),
    "measured": ("iter_time_s", "memory_gib"),
}
SHORT_COMMIT = 10
RUN_TEXTS = ("dtype", "recompute", "task", "round", "framework", "quality", "group", "params_b")

# Words of the expected values that say which value it is; other words are remarks.
NAMING_KEYS = {"pt", "cfg", "map", "mem", "graph", "model", "style"}
STOPPED = "solver stopped"
CASE_REMARKS = {"source", "split", "affected_by", "tied_optima"}


def table(path: Path) -> list[Row]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def digest(words: Iterable[str]) -> int:
    return zlib.crc32("|".join(words).encode())


def in_proportion(rows: list[Row], count: int, group: tuple[str, ...], result: str) -> list[Row]:
    """`count` of the rows, every group with its share of them, in the order given."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[tuple(row[column] for column in group)].append(index)
    place = {}
    for members in groups.values():
        members.sort(key=lambda index: digest(value for key, value in rows[index].items() if key != result))
        for rank, index in enumerate(members):
            place[index] = ((rank + 0.5) / len(members), members[0], index)
    return [rows[index] for index in sorted(sorted(place, key=place.__getitem__)[:count])]


def csv_text(remarks: list[str], columns: Iterable[str], rows: list[Row]) -> str:
    text = io.StringIO()
    for remark in remarks:
        text.write(f"# {remark}\n")
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def json_lines(head: dict, name: str, items: list[dict]) -> str:
    """A JSON object with a line for every item."""
    lines = ",\n".join(json.dumps(item, separators=(",", ":"), ensure_ascii=False) for item in items)
    return json.dumps(head, ensure_ascii=False)[:-1] + f',\n"{name}": [\n{lines}\n]}}\n'


def kernels(shared: Path, write: Callable[[str, str], None]) -> None:
    folder = shared / "measured/kernels"
    listed = json.loads((folder / "index.json").read_text(encoding="utf-8"))["files"]
    told = {Path(entry["file"]).name: entry for entry in listed}
    for name, types, count, group in KERNELS:
        file = f"{name}_perf.csv.gz"
        rows = table(folder / "aiconfigurator" / file)
        dtype = next(column for column in TYPE_COLUMNS if column in rows[0])
        rows = [row for row in rows if row[dtype] in types]
        chosen = in_proportion(rows, count * len(types), group, LATENCY)
        entry = told[file]
        remarks = [
            f"source github.com/{entry['origin']} @{entry['commit']}; licence {entry['licence']}",
            f"{len(chosen)} of {len(rows)} rows of {entry['gpu']}; latency in ms",
        ]
        for row in chosen:
            row[LATENCY] = f"{float(row[LATENCY]):.6g}"
        write(f"kernels/{name}.csv", csv_text(remarks, chosen[0], chosen))


def chips(shared: Path, write: Callable[[str, str], None]) -> None:
    rows = []
    for path in sorted((shared / "measured/kernels/aiconfigurator_systems").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        found = {key: re.search(rf"^  {key}: ([\d_.eE+]+)", text, re.MULTILINE) for key in CHIP_FIGURES}
        if any(found.values()):
            figures = {key: match[1] if match else "" for key, match in found.items()}
            rows.append({"chip": path.stem.split("__")[-1], **figures})
    remarks = [
        "source github.com/ai-dynamo/aiconfigurator:aic-core/src/aiconfigurator_core/systems/*.yaml @095f58a51c;"
        " licence Apache-2.0",
        "bytes/s, bytes, FLOP/s and W of a chip",
    ]
    write("chips.csv", csv_text(remarks, ("chip", *CHIP_FIGURES), rows))


def short_name(system: str) -> str:
    return system.split(" (")[0]


def collectives(shared: Path, write: Callable[[str, str], None]) -> None:
    curves: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    keys = ("source", *COLLECTIVE_COLUMNS[:-2], "gpus_per_node")
    for row in table(shared / "measured/collectives.csv.gz"):
        curves[tuple(row[key] for key in keys)].append(row)
    strata: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    chosen = []
    for key, rows in curves.items():
        first = rows[0]
        names = (first["gpu"], short_name(first["system"]))
        if any((name, first["impl"]) in WHOLE_COLLECTIVES for name in names):
            chosen += rows
        else:
            strata[first["gpu"], first["system"], first["op"], first["impl"].split()[0]].append(key)
    for members in strata.values():
        key = min(members, key=digest)
        rows = sorted(curves[key], key=lambda row: int(row["bytes"]))
        chosen += rows[::DENSE_STRIDE] if key[0].startswith(DENSE_SOURCE) else rows
    for row in chosen:
        row["system"] = short_name(row["system"])
    chosen.sort(key=lambda row: [row[key] for key in keys])
    remarks = [
        "sources and licences: github.com/ai-dynamo/aiconfigurator @095f58a51c, Apache-2.0;"
        " github.com/microsoft/vidur @7d47513363, MIT (a100_*, a40_*, h100_* boxes);",
        "github.com/ShashankSubramanian/transformer-perf-estimates @54278b0948, BSD-3-like (Perlmutter)",
        "bytes as in nccl-tests: all_gather total output, reduce_scatter total input, all_reduce buffer,"
        " send_recv message",
    ]
    write("collectives.csv", csv_text(remarks, COLLECTIVE_COLUMNS, chosen))


def run_of(case: dict) -> dict:
    run = {"id": case["id"]}
    for part, fields in RUN_FIELDS.items():
        given = case.get(part, {})
        run[part] = {key: given[key] for key in given if key in fields or (not fields and not key.endswith("note"))}
    if commit := run["source"].get("commit"):
        run["source"]["commit"] = commit[:SHORT_COMMIT]
    return run | {key: case[key] for key in RUN_TEXTS if key in case}


def training(shared: Path, write: Callable[[str, str], None]) -> None:
    cases = json.loads((shared / "measured/training.json").read_text(encoding="utf-8"))["cases"]
    head = {"source": "each run names its own; licences: README.md"}
    write("training.json", json_lines(head, "cases", [run_of(case) for case in cases]))


def training_memory(shared: Path, write: Callable[[str, str], None]) -> None:
    """Runs of other sources that tell their memory: what bands of memory rest on besides training.json."""
    cases = [
        case
        for name in ("training_more", "training_third")
        for case in json.loads((shared / f"measured/{name}.json").read_text(encoding="utf-8"))["cases"]
        if case.get("measured", {}).get("memory_gib") and case["quality"] != "C"
    ]
    head = {"source": "each run names its own; licences: README.md"}
    runs = [run_of(case) for case in cases]
    for run, case in zip(runs, cases):
        # What tells the release of the software and what of it ran.
        run["source"] |= {key: case["source"][key] for key in ("table", "date") if key in case["source"]}
        run |= {key: case[key] for key in ("year", "note") if key in case}
    write("training_memory.json", json_lines(head, "cases", runs))


def transformer_model(shared: Path, write: Callable[[str, str], None]) -> None:
    cases = json.loads((shared / "oracles/transformer_model.json").read_text(encoding="utf-8"))["cases"]
    kept = [{key: value for key, value in case.items() if key not in CASE_REMARKS} for case in cases]
    head = {
        "source": "results of github.com/ShashankSubramanian/transformer-perf-estimates @54278b0 (arXiv:2410.00273)"
    }
    write("transformer_model.json", json_lines(head, "cases", kept))


def without_remarks(value):
    """Numbers, and the words that name them."""
    if isinstance(value, list):
        return [without_remarks(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        if key == "note" and STOPPED in item:
            kept[key] = STOPPED  # the published solver did, above the optimum
        if key in {"src", "source"} or (isinstance(item, str) and key not in NAMING_KEYS):
            continue
        if (left := without_remarks(item)) not in ({}, []):
            kept[key] = left
    return kept


def dataflow_mapping(shared: Path, write: Callable[[str, str], None]) -> None:
    document = json.loads((shared / "oracles/dataflow_mapping.json").read_text(encoding="utf-8"))
    source = "DFModel: github.com/kosho2013/DFModel, as in github.com/fengqian-ayce/DFModel; see README.md"
    kept = {"_meta": {"source": source, "units": "ns, bytes, GB/s, GFLOPS unless named"}}
    kept |= without_remarks({key: value for key, value in document.items() if key != "_meta"})
    sections = [f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in kept.items()]
    write("dataflow_mapping.json", "{\n" + ",\n".join(sections) + "\n}\n")


# Runs of training.json by the start of their ids, and a peer's error on the published set they are of.
PEER_SETS = {
    "sc21-t1": "SC21 Table 1,",
    "sc21-t2-175B-ptd": "SC21 Table 2 PTD-P",
    "korth-t5": "Korthikanti Table 5",
    "bloom": "BLOOM sweep",
}


def peers(shared: Path, write: Callable[[str, str], None]) -> None:
    document = json.loads((shared / "measured/peers_accuracy.json").read_text(encoding="utf-8"))
    measured = document["measured_here"]
    peer = next(name for name in measured if name.startswith("calculon"))
    rows = []
    for prefix, title in PEER_SETS.items():
        figures = next(entry for entry in measured[peer] if entry["set"].startswith(title))
        rows.append({"runs": prefix, "peer": peer.split(" ")[0], "n": figures["n"], "mape_pct": figures["mape_pct"]})
    remarks = [
        "errors of github.com/calculon-ai/calculon @caa4b11 (Apache-2.0), run on these published sets with its own",
        "system files; runs: how the ids of training.json begin; n: runs of the whole set",
    ]
    write("peers.csv", csv_text(remarks, ("runs", "peer", "n", "mape_pct"), rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "tests/data")
    options = parser.parse_args()

    def write(name: str, text: str) -> None:
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(text.encode()):,} bytes, {text.count(chr(10)):,} lines")

    for make in (kernels, chips, collectives, training, training_memory, transformer_model, dataflow_mapping, peers):
        make(options.shared, write)


if __name__ == "__main__":
    main()
