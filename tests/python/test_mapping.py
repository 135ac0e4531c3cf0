"""Mappings of dataflow graphs: the Python package, and the command `flopcast map`."""

import json
import re
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "src" / "workload" / "dataflow" / "corpus" / "setup" / "small.txt"
QUESTION = ["gpt3-175b", "--on", "8 x sn10", "--topology", "torus:4x2"]


def run(program, *arguments, code=0, cwd=None) -> subprocess.CompletedProcess:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=cwd, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def found(program) -> dict:
    return json.loads(run(program, "map", *QUESTION, "--json").stdout)


# --- The command -------------------------------------------------------------------------------------


def test_text_csv_and_files_agree_with_the_json(program, found, tmp_path):
    files = {kind: tmp_path / f"map.{kind}" for kind in ["html", "svg", "mps", "toml"]}
    flags = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    text = run(program, "map", *QUESTION, *flags).stdout
    assert f"TP {found['shape']['tp']} x PP {found['shape']['pp']}" in text
    assert "optimal" in text or "gap" in text
    rows = run(program, "map", *QUESTION, "--csv").stdout.splitlines()
    assert len(rows) == 1 + len(found["partitions"])
    page = files["html"].read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data == found
    drawing = xml.etree.ElementTree.parse(files["svg"]).getroot()
    boxes = drawing.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(found["kernels"])
    assert files["mps"].read_text().rstrip().endswith("ENDATA")
    # The graph that was written maps as the one it is of.
    again = run(program, "map", str(files["toml"]), *QUESTION[1:], "--json").stdout
    assert json.loads(again)["step_s"] == found["step_s"]


def test_the_answer_is_consistent(found):
    assert found["bound_s"] <= found["step_s"]
    assert found["exact"] == (found["gap"] == 0)
    assert 0 < found["utilisation"] <= 1
    names = [name for partition in found["partitions"] for name in partition["kernels"]]
    assert sorted(names) == sorted(kernel["name"] for kernel in found["kernels"])
    for partition in found["partitions"]:
        assert partition["sram_bytes"] <= found["system"]["sram_bytes"]
        limit = partition[partition["limit"] + "_s"]
        assert limit == max(partition[f"{kind}_s"] for kind in ["compute", "memory", "network"])
    assert sum(p["time_s"] for p in found["partitions"]) == pytest.approx(found["times"]["layer_s"], rel=1e-9)
    shape = found["shape"]
    assert shape["tp"] * shape["pp"] * shape["dp"] == found["system"]["chips"]


def test_threads_do_not_change_a_byte(program, found):
    for threads in ["1", "2"]:
        assert json.loads(run(program, "map", *QUESTION, "--json", "--threads", threads).stdout) == found


def test_what_is_fixed_is_kept_and_never_faster(program, found):
    fixed = json.loads(run(program, "map", *QUESTION, "--json", "--tp", "8", "--pp", "1", "--tile", "512",
                           "--microbatch", "1").stdout)  # fmt: skip
    assert (fixed["shape"]["tp"], fixed["shape"]["tile"], fixed["shape"]["microbatch"]) == (8, 512, 1)
    assert fixed["step_s"] >= found["bound_s"]
    apart = json.loads(run(program, "map", *QUESTION, "--json", "--pin", "softmax=0", "--forbid", "ffn_up=0").stdout)
    partition = {kernel["name"]: kernel["partition"] for kernel in apart["kernels"]}
    assert partition["softmax"] == 0 and partition["ffn_up"] != 0
    assert apart["step_s"] >= found["bound_s"]


def test_the_graph_alone_is_drawn_and_written(program, tmp_path):
    run(program, "map", "gpt3-1t", "--svg", "graph.svg", "--toml", "graph.toml", cwd=tmp_path)
    drawing = xml.etree.ElementTree.parse(tmp_path / "graph.svg").getroot()
    assert len(drawing.findall(".//{http://www.w3.org/2000/svg}rect")) == 41
    assert "ffn_up" in (tmp_path / "graph.toml").read_text()


@pytest.mark.parametrize(
    "more, code, words",
    [
        (["--set", "memory-capacity=1MB"], 4, ["short"]),
        (["--set", "speed=2x"], 2, ["speed"]),
        (["--tp", "3"], 2, ["3"]),
        (["--pin", "nobody=0"], 2, ["nobody"]),
        (["--pin", "softmax"], 2, ["KERNEL=PARTITION"]),
        (["--mode", "half"], 2, ["full or paper"]),
        (["--precision", "decimal"], 2, ["decimal"]),
        (["--html", "no/such/folder/page.html"], 3, ["no/such/folder"]),
        (["--dfmodel", "setup.txt"], 2, ["brings its own"]),
    ],
)
def test_refusals_say_what_and_how(program, more, code, words):
    done = run(program, "map", *QUESTION, *more, code=code)
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


def test_a_setup_brings_workload_system_and_model(program):
    found = json.loads(run(program, "map", "--dfmodel", str(SETUP), "--json").stdout)
    assert found["workload"]["kernels"] == 2 and found["model"]["name"] == "paper"
    assert found["system"]["peak_flop_per_s"] == 2 * 32 * 6 * 640 * 1.25e9
    assert [d["tp"] * d["pp"] * d["dp"] for d in found["system"]["dimensions"]] == [4, 2]
    assert (found["shape"]["tp"], found["shape"]["pp"], found["shape"]["tile"]) == (4, 2, 4)
    assert "cannot be read" in run(program, "map", "--dfmodel", "no/such.txt", code=3).stderr


def test_missing_parts_are_named(program):
    assert "--on" in run(program, "map", "gpt3-175b", code=2).stderr
    assert "WORKLOAD" in run(program, "map", "--on", "8 x sn10", code=2).stderr


def test_cycles_are_refused_naming_the_kernels(program, tmp_path):
    run(program, "map", "gpt3-175b", "--toml", "graph.toml", cwd=tmp_path)
    text = (tmp_path / "graph.toml").read_text()
    # The last kernel's output is read by the first, which makes a circle of all on the way.
    looped, found = re.subn(r'(from = "residual_2"\nbytes = \d+\n)', r'\1to = ["norm_1"]\n', text)
    assert found == 1
    (tmp_path / "loop.toml").write_text(looped)
    done = run(program, "map", str(tmp_path / "loop.toml"), *QUESTION[1:], code=3)
    assert "norm_1" in done.stderr


# --- flopcast explore --------------------------------------------------------------------------------

SWEEPS = ["--sweep", "sram=200MB,320MB", "--sweep", "memory-bandwidth=1x,3x"]


def explore(program, *more, code=0, cwd=None) -> subprocess.CompletedProcess:
    return run(program, "explore", *QUESTION, *SWEEPS, *more, code=code, cwd=cwd)


@pytest.fixture(scope="module")
def points(program) -> list:
    return [json.loads(line) for line in explore(program, "--json").stdout.splitlines()]


def test_points_are_what_map_says(program, points):
    assert [p["index"] for p in points] == [0, 1, 2, 3]
    assert points[1]["sweep"] == {"sram": "200MB", "memory-bandwidth": "3x"}
    for point in points:
        changes = [word for name, value in point["sweep"].items() for word in ("--set", f"{name}={value}")]
        mapping = json.loads(run(program, "map", *QUESTION, *changes, "--json").stdout)
        assert point["step_s"] == mapping["step_s"]
        assert point["utilisation"] == mapping["utilisation"]
        assert point["price_usd"] == mapping["price_usd"]
    # More of a resource is never slower.
    assert points[1]["step_s"] <= points[0]["step_s"] >= points[2]["step_s"]


def test_a_sweep_resumes_to_the_same_bytes(program, points, tmp_path):
    whole = explore(program, "--resume", "whole.jsonl", "--json", cwd=tmp_path).stdout
    lines = (tmp_path / "whole.jsonl").read_text()
    assert [json.loads(line) for line in whole.splitlines()] == points and lines == whole
    torn = "".join(lines.splitlines(keepends=True)[:2]) + lines.splitlines()[2][:50]
    (tmp_path / "torn.jsonl").write_text(torn)
    explore(program, "--resume", "torn.jsonl", cwd=tmp_path)
    assert (tmp_path / "torn.jsonl").read_text() == lines
    done = explore(program, "--explain", "--resume", "torn.jsonl", code=2, cwd=tmp_path)
    assert "of another sweep" in done.stderr
    assert (tmp_path / "torn.jsonl").read_text() == lines


def test_explore_shows_tables_rows_and_a_page(program, points, tmp_path):
    text = explore(program, "--html", str(tmp_path / "page.html")).stdout
    assert "4 of 4 points fit" in text and "fastest" in text
    rows = explore(program, "--csv").stdout.splitlines()
    assert len(rows) == 5 and rows[0].startswith("sram,memory-bandwidth,")
    page = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [{k: v for k, v in p.items() if k != "front"} for p in data["points"]] == points
    assert any(p["front"] for p in data["points"])


def test_explained_points_say_what_would_help(program, points):
    explained = [json.loads(line) for line in explore(program, "--explain", "--json").stdout.splitlines()]
    for with_gains, plain in zip(explained, points):
        assert plain["gains"] == {}
        assert {"sram", "memory-bandwidth", "peak"} <= set(with_gains["gains"])
        assert all(speedup >= 1 - 1e-9 for speedup in with_gains["gains"].values())
        assert with_gains["step_s"] == plain["step_s"]


@pytest.mark.parametrize(
    "sweeps, code, words",
    [
        (["warp=1,2"], 2, ["warp"]),
        (["sram=1x", "sram=2x"], 2, ["sram"]),
        (["sram=none"], 2, ["none"]),
        (["memory-capacity=1MB,2MB"], 4, ["no point of the sweep fits"]),
        ([], 2, ["--sweep"]),
    ],
)
def test_explore_refusals(program, sweeps, code, words):
    flags = [word for sweep in sweeps for word in ("--sweep", sweep)]
    done = run(program, "explore", *QUESTION, *flags, code=code)
    for word in words:
        assert word in done.stderr


# --- The package -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flopcast():
    return pytest.importorskip("flopcast")


def test_package_says_what_the_command_says(flopcast, found, tmp_path):
    mapping = flopcast.map("gpt3-175b", "8 x sn10", topology="torus:4x2")
    assert mapping.to_dict() == found
    assert (mapping.step_s, mapping.bound_s, mapping.exact) == (found["step_s"], found["bound_s"], found["exact"])
    assert mapping.shape == found["shape"]
    assert [p.kernels for p in mapping.partitions] == [p["kernels"] for p in found["partitions"]]
    assert mapping.partitions[0].pass_ == "forward"
    assert set(mapping.sharding) == {kernel["name"] for kernel in found["kernels"]}
    assert "gpt3-175b" in repr(mapping) and "Partitions" in str(mapping)
    assert mapping._repr_html_().startswith("<pre ") and "Partitions" in mapping._repr_html_()
    mapping.html(tmp_path / "map.html")
    assert "<svg" in (tmp_path / "map.html").read_text()
    assert mapping.to_svg().startswith("<svg")
    assert "ENDATA" in mapping.to_mps(4)
    assert "ffn_up" in mapping.to_toml()


def test_package_takes_setups(flopcast, program):
    said = json.loads(run(program, "map", "--dfmodel", str(SETUP), "--json").stdout)
    assert flopcast.map_setup(SETUP).to_dict() == said


def test_package_has_frames(flopcast, found):
    pytest.importorskip("pandas")
    frame = flopcast.map("gpt3-175b", "8 x sn10", topology="torus:4x2").to_pandas()
    assert list(frame["time_s"]) == [p["time_s"] for p in found["partitions"]]
    assert frame["step_s"].unique() == [found["step_s"]]


def test_package_options_mean_what_the_flags_mean(flopcast, program):
    flags = ["--mode", "paper", "--set", "sram=640MB", "--utilisation", "0.8", "--overlap", "none", "--tp", "8",
             "--memory", "300GB/s", "--sharding", "norm_1=m", "--pin", "softmax=0", "--forbid", "ffn_up=0,1"]  # fmt: skip
    said = json.loads(run(program, "map", *QUESTION, "--json", *flags).stdout)
    mapping = flopcast.map(
        "gpt3-175b", "8 x sn10", topology="torus:4x2", mode="paper", changes={"sram": "640MB"}, utilisation=0.8,
        overlap="none", tp=8, memory="300GB/s", shardings={"norm_1": "m"}, pins={"softmax": 0}, forbid={"ffn_up": [0, 1]},
    )  # fmt: skip
    assert mapping.to_dict() == said


@pytest.mark.parametrize(
    "options, code",
    [
        ({"changes": {"memory-capacity": "1MB"}}, "TOO_LARGE"),
        ({"mode": "half"}, "USAGE"),
        ({"precision": "decimal"}, "USAGE"),
        ({"pins": {"nobody": 0}}, "USAGE"),
        ({"utilisation": 1.5}, "USAGE"),
    ],
)
def test_package_errors_have_codes(flopcast, options, code):
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.map("gpt3-175b", "8 x sn10", topology="torus:4x2", **options)
    assert caught.value.code == flopcast.ErrorCode[code]


def test_unknown_options_are_refused(flopcast):
    with pytest.raises(TypeError):
        flopcast.map("gpt3-175b", "8 x sn10", warp=9)
    with pytest.raises(flopcast.FlopcastError):
        flopcast.map("no-such-workload", "8 x sn10")
    with pytest.raises(OSError):
        flopcast.map_setup("no/such/setup.txt")


def test_package_explores(flopcast, points, tmp_path):
    seen = []
    found = flopcast.explore(
        "gpt3-175b", "8 x sn10", {"sram": ["200MB", "320MB"], "memory-bandwidth": ["1x", "3x"]},
        topology="torus:4x2", progress=seen.append,
    )  # fmt: skip
    assert list(found) == points == seen and len(found) == 4 and found[3] == points[3]
    assert 0 < len(found.front) <= 4 and all(point in points for point in found.front)
    found.html(tmp_path / "page.html")
    assert "Flopcast explore" in (tmp_path / "page.html").read_text()
    assert "4 of 4 points fit" in str(found)
    # What is held is not mapped again.
    seen.clear()
    held = "".join(found.to_json().splitlines(keepends=True)[:3])
    sweeps = ["sram=200MB,320MB", "memory-bandwidth=1x,3x"]
    again = flopcast.explore("gpt3-175b", "8 x sn10", sweeps, topology="torus:4x2", held=held, progress=seen.append)
    assert again.to_json() == found.to_json()
    assert seen == points[3:]
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.explore("gpt3-175b", "8 x sn10", ["sram=1x,2x"], topology="torus:4x2", held=held)
    assert caught.value.code == flopcast.ErrorCode.USAGE


def test_an_error_in_progress_stops_the_sweep(flopcast):
    def stop(point):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        flopcast.explore("gpt3-175b", "8 x sn10", ["sram=1x,2x"], topology="torus:4x2", progress=stop)


def test_exploration_frames(flopcast, points):
    pytest.importorskip("pandas")
    frame = flopcast.explore("gpt3-175b", "8 x sn10", ["sram=200MB,320MB", "memory-bandwidth=1x,3x"],
                             topology="torus:4x2").to_pandas()  # fmt: skip
    assert list(frame["step_s"]) == [point["step_s"] for point in points]


def test_names_are_listed(flopcast):
    assert "gpt3-175b" in flopcast.DATAFLOWS
    assert "sram" in flopcast.SYSTEM_SETTINGS
