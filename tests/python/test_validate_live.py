"""The table of frameworks (tools/validate_live.py): what its files may say, and that a part of it is written without the rest."""

import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

validate_live = pytest.importorskip("validate_live")

PAGE = "# Live runs\n\nText.\n\n## Memory\n\n| a |\n|---|\n| 1 |\n"


def outcome(output: str = "", status: int = 0, **account):
    told = {"status": status, "ranks": [{"peak_memory_bytes": 3 << 30, "steps": [[0, 0.5], [0.5, 0.7], [0.7, 0.9]]}], **account}
    return validate_live.Outcome(status, output, told, 12.0, 3.25)


def row(**more):
    return validate_live.Row(**{"what": "small", "on": "dgx-h100", "command": ["train.py"], **more})


def cells(one, result, shared=Path()):
    told = validate_live.cells("mine 1.0", one, result, shared, None)
    return dict(zip(validate_live.TITLES, told, strict=True))


@pytest.mark.parametrize("path", sorted(ROOT.glob("tools/live_frameworks/*.toml")), ids=lambda path: path.stem)
def test_every_file_is_read_and_its_scripts_are_there(path):
    framework = validate_live.read(path)
    assert framework.rows and ("==" in framework.packages[0] or framework.packages == ["torch"])  # that of .torch
    for one in framework.rows:
        scripts = [word for word in one.command if word.endswith(".py") and "{" not in word]
        assert all((ROOT / script).exists() for script in scripts), scripts


@pytest.mark.parametrize(
    "text, told",
    [
        ('packages = ["a==1"]\n[[run]]\nwhat = "x"\non = "y"\ncommand = []\nsay = "z"', "run 1: say: unknown; there are"),
        ('packages = ["a==1"]\n[[run]]\nwhat = "x"\non = "y"', "run 1: .*command"),
        ('package = ["a==1"]\n', "package: unknown"),
        ('packages = ["a==1"]\n[[run]]\nwhat="x"\non="y"\ncommand=[]\nmeasured = {file = "f"}', "run 1: measured: .*id"),
    ],
)
def test_a_key_that_is_none_is_refused_with_its_place(tmp_path, text, told):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SystemExit, match=told):
        validate_live.read(path)


def test_what_holds_for_every_run_is_said_once(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'packages = ["a==1"]\n[every]\non = "y"\nranks = 2\ncommand = ["train.py"]\n'
        '[[run]]\nwhat = "x"\ncommand = ["--fast"]\n[[run]]\nwhat = "z"\non = "u"\n'
    )
    first, second = validate_live.read(path).rows
    assert (first.on, first.ranks, first.command) == ("y", 2, ["train.py", "--fast"])
    assert (second.on, second.ranks, second.command) == ("u", 2, ["train.py"])


def test_rows_of_one_framework_are_written_and_others_stay(tmp_path):
    page = tmp_path / "live.md"
    page.write_text(PAGE)
    titles = validate_live.TITLES
    for name, value in (("beta", "1"), ("alpha", "2"), ("beta", "3")):
        validate_live.write(name, [[f"{name} 1.0", value, *["–"] * (len(titles) - 2)]], page)
    text = page.read_text()
    assert text.startswith(PAGE) and text.count("## Frameworks") == 1
    rows = [line for line in text.splitlines() if line.startswith(("| alpha", "| beta"))]
    assert [line.split(" | ")[:2] for line in rows] == [["| alpha 1.0", "2"], ["| beta 1.0", "3"]]
    # What ./dev docs live keeps is all of it.
    assert validate_live.section(text) == text[len(PAGE) + 1 :]


def test_the_number_is_the_frameworks_last_or_the_median_step():
    assert cells(row(says=r"tps: ([\d,]+)", unit="tokens/s"), outcome("tps: 5\ntps: 1,234"))["step or rate"] == "1,234 tokens/s"
    assert cells(row(), outcome())["step or rate"] == "200 ms *"
    assert cells(row(), outcome())["memory, GiB"] == "3.00"
    assert cells(row(), outcome())["host memory, GB"] == "3.2"


def test_memory_that_a_run_takes_of_the_host_is_seen(monkeypatch):
    left = iter([9 * 10**9, 4 * 10**9, 8 * 10**9])
    looked = threading.Event()

    def available():
        try:
            return next(left)
        except StopIteration:
            looked.set()
            return 8 * 10**9

    monkeypatch.setattr(validate_live.HostMemory, "available", staticmethod(available))
    with validate_live.HostMemory() as memory:
        assert looked.wait(30)
    assert memory.taken_gb() == 5.0


@pytest.mark.parametrize(
    "one, result",
    [
        (row(), outcome(status=1)),
        (row(ends="finished"), outcome("not yet")),
        (row(says=r"loss ([\d.]+)"), outcome("no number")),
        (row(), outcome(ranks=[])),
    ],
)
def test_what_did_not_say_what_it_should_has_not_ended(one, result):
    assert cells(one, result)["ends"].startswith("no")
    assert cells(one, result)["step or rate"] == "–"


def test_a_measured_value_is_taken_from_its_file_in_the_rows_unit(tmp_path):
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured/runs.json").write_text('{"cases": [{"id": "a", "measured": {"iter_time_s": 0.25, "memory_gib": 2.0}}]}')
    measured = validate_live.Measured("runs.json", "a", "iter_time_s", "memory_gib")
    told = validate_live.cells("mine 1.0", row(measured=measured), outcome(), tmp_path, None)
    assert told[6:10] == ["250 (measured)", "-20.00 %", "3.00", "+50.00 %"]
    with pytest.raises(SystemExit, match="0 cases are called b"):
        cells(row(measured=validate_live.Measured("runs.json", "b", "iter_time_s")), outcome(), tmp_path)


def test_a_published_value_is_told_with_its_source():
    published = validate_live.Published(250, "a report")
    told = validate_live.cells("mine 1.0", row(published=published), outcome(), Path(), None)
    assert told[6:8] == ["250 (a report)", "-20.00 %"]


FORECAST = {
    "output_tokens_per_s": 320.0,
    "pools": [{"iteration": {"time_s": 0.15, "parts": [{"name": "head", "time_s": 0.1}, {"name": "host", "time_s": 0.05}]}}],
}


def test_a_run_stands_beside_its_forecast_term_by_term(tmp_path):
    """An iteration of 0.2 s begins with the kernel that is there once for each token; what is in no iteration is the rest of the whole."""
    beside = validate_live.beside_serve
    kernels = [("embedding", 0.0, 0.01), ("cublasGemmEx", 0.02, 0.06), ("cublasGemmEx", 0.09, 0.04), ("_vllm_fa3_C::fwd", 0.14, 0.02), ("norm", 0.16, 0.02)]
    rows = [("cublasGemmEx", 0.1, 0.3)] + [(name, 0.5 + 0.2 * token + at, lasts) for token in range(4) for name, at, lasts in kernels]
    timeline = tmp_path / "timeline.json"
    events = [{"cat": "kernel", "name": name, "ts": 1e6 * at, "dur": 1e6 * lasts} for name, at, lasts in rows]
    timeline.write_text(validate_live.json.dumps({"traceEvents": events}))
    words = ["serve", "--requests", "8", "--output", "4"]
    run, serve = beside.compared(words, 32.0, timeline, FORECAST)
    assert [round(run[term], 6) for term in beside.TERMS] == [1.0, 0.4, 0.2, 0.1, 0.02, 0.03, 0.05]
    assert [round(serve[term], 6) for term in beside.TERMS] == [0.1, -0.35, 0.15, 0.1, 0.0, 0.0, 0.05]


def test_terms_are_written_into_a_section_of_their_own(tmp_path):
    page = tmp_path / "live.md"
    page.write_text(PAGE)
    validate_live.write("mine", [["mine 1.0", *["-"] * 12]], page)
    validate_live.write_beside("mine", [["mine 1.0", "small", "products", "1.00", "2.00"]], page)
    once = page.read_text()
    validate_live.write_beside("mine", [["mine 1.0", "small", "products", "1.00", "2.00"]], page)
    assert page.read_text() == once and once.count("| products |") == 1 and once.startswith(PAGE.rstrip("\n"))
    assert validate_live.section(once).count("| mine 1.0 |") == 1
