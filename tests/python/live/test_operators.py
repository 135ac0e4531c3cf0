"""Operators of extensions are priced by their tensors, by a table of the catalogue's and the user's own."""

import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("operators_script.py")
HOW_TO = Path(__file__).parents[3] / "docs/how-to/run-a-script.md"
PEAK_FLOPS, BANDWIDTH = 989.4e12, 3.35e12


@pytest.fixture
def run(live, tmp_path):
    """Lines of the script for some of its parts, and the account of the run."""

    def run_parts(*parts, flags=()):
        account = tmp_path / "run.json"
        done = live.run("--json", account, *flags, SCRIPT, *parts, on="1 x dgx-h100")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {line["name"]: line for line in lines}, json.loads(account.read_text()), done.stderr

    return run_parts


def test_flash_attention_of_an_extension_takes_what_was_published(run):
    lines, account, _ = run("prefill", "decode")
    flops = 4 * 4 * 8192**2 / 2 * 32 * 128
    assert flops / (lines["prefill"]["ms"] * 1e-3) == pytest.approx(600e12, rel=0.07)
    # Two sequences of 8,192 and one of 16,384 have 1.5 times as many pairs.
    assert lines["uneven"]["ms"] / lines["prefill"]["ms"] == pytest.approx(1.5, rel=0.1)
    one = 64 * 1024 * 8 * 128 * 2 * 2 / BANDWIDTH * 1e3
    assert one <= lines["short"]["ms"] <= 2 * one + 0.02
    assert 8 * one <= lines["long"]["ms"] <= 1.5 * 8 * one
    assert lines["long"]["graph"] == pytest.approx(lines["long"]["ms"], rel=0.1)
    assert lines["short again"]["graph"] == pytest.approx(lines["short"]["ms"], rel=0.3)
    assert account["unknown"] == []
    assert "assumed" not in [row["what"] for row in account["coverage"]]


def test_products_of_eight_bits_are_within_the_chip(run):
    lines, account, _ = run("products")
    for name, ms in lines["products"].items():
        peak = 989.4e12 if "weights" in name else 1979e12
        if name != "name":
            assert 0.35 * peak < 2 * 8192**3 / (ms * 1e-3) < peak, (name, ms)
    assert account["unknown"] == []


def test_attention_of_packed_sequences_takes_that_of_each(run):
    lines, account, _ = run("packed")
    packed = lines["packed"]
    assert packed["one"] == pytest.approx(packed["alone"], rel=0.02)
    assert packed["half"] == pytest.approx(packed["alone"] / 2, rel=0.1)
    # One of three quarters, whose square is 9 / 16, and sixteen that have next to nothing.
    assert lines["packed unevenly"]["ms"] == pytest.approx(packed["alone"] * 9 / 16, rel=0.1)
    # Of the square's ten pairs of pieces (halves on the diagonal: eight) one half and three and a half are asked.
    flops = 4 * 4096**2 * (0.5 + 3.5) * 16 * 128
    assert 250e12 < flops / (lines["pieces"]["ms"] * 1e-3) < 700e12
    assert account["unknown"] == []
    assert "assumed" not in [row["what"] for row in account["coverage"]]


def test_what_nobody_knows_is_told_by_its_tensors(run):
    lines, account, errors = run("own", "values")
    tensors = 2 * 2 * 8192**2
    for name in ("mystery", "python"):
        assert lines[name]["ms"] * 1e-3 >= tensors / BANDWIDTH
    unknown = {one["what"]: one for one in account["unknown"]}
    assert set(unknown) == {"mine::product", "mine::mystery", "mine::python"}
    assert unknown["mine::product"]["bytes"] == 6 * 3 * 2 * 8192**2
    assert account["unknown_work"]["share"] > 0.01 and account["unknown_work"]["unbounded"] == 0
    assert "launches of kernels whose work is unknown" in errors.split("where the time of a GPU goes")[0]
    rests = {row["what"]: row["share"] for row in account["coverage"]}
    assert rests["unknown"] >= account["unknown_work"]["floor_s"] / sum(
        row["time_s"] for row in account["coverage"] if row["what"] != "unknown"
    ) / 2
    assert "at least" in errors and "at most" in errors
    # A kernel that a graph captured is its operator's all the same.
    assert lines["captured"]["ms"] == pytest.approx(lines["captured"]["eager"], rel=0.1)
    assert lines["values"]["composed"] == [1, 3, 5, 7]
    assert lines["values"]["mystery"] != [1, 2, 3, 4] and account["tainted_reads"] > 0


def test_a_file_says_what_own_operators_do(run, tmp_path):
    """The file is the how-to's."""
    own = tmp_path / "operators.toml"
    text = HOW_TO.read_text()
    own.write_text(text.split("```toml\n")[1].split("```")[0])
    lines, account, errors = run("own", flags=("--operators", own))
    assert lines["product"]["ms"] == pytest.approx(lines["product"]["library"], rel=0.05)
    assert "mine::product" not in [one["what"] for one in account["unknown"]]
    unmatched = account["unmatched_operators"]
    named = ["mine::attend*", "aten::_softmax", "mine::packed_product", "*my_product*", "*my_norm*"]
    assert [one.split(": ")[1] for one in unmatched] == named
    assert all(one.startswith(f"{own}:") for one in unmatched) and "5 patterns of your operators" in errors


def test_a_file_that_is_not_understood_is_refused(live, tmp_path):
    own = tmp_path / "operators.toml"
    own.write_text('[[operator]]\nname = "mine::product"\nread = "a[0] *"\n')
    refused = live.run("--operators", own, SCRIPT, on="1 x dgx-h100", expect=3)
    assert f"{own}:3" in refused.stderr and "column" in refused.stderr
    gone = live.run("--operators", tmp_path / "gone.toml", SCRIPT, on="1 x dgx-h100", expect=3)
    assert "gone.toml" in gone.stderr
