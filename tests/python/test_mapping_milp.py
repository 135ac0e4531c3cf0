"""The partitions that `flopcast map` finds, against a mixed-integer solver that knows nothing of them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
optimize = pytest.importorskip("scipy.optimize", reason="needs scipy (requirements-dev.txt)")
sparse = pytest.importorskip("scipy.sparse")

RELATIVE = 1e-6
# SN10 as in table VI of the published study: 50 GB/s links and 100 GB/s of memory.
TABLE = ["--memory", "100GB/s", "--link", "50GB/s"]

CASES = {
    "gpt3-175b ring": ["gpt3-175b", "--on", "8 x sn10-dfmodel", "--topology", "ring:8", *TABLE]
    + ["--mode", "paper", "--partitions", "4", "--tp", "8"],
    "gpt3-175b torus": ["gpt3-175b", "--on", "8 x sn10-dfmodel", "--topology", "torus:4x2", *TABLE]
    + ["--mode", "paper", "--partitions", "4", "--tp", "4", "--dp", "2"],
    "gpt3-175b torus, full": ["gpt3-175b", "--on", "8 x sn10-dfmodel", "--topology", "torus:4x2", *TABLE]
    + ["--partitions", "4", "--tp", "4", "--pp", "2", "--microbatch", "1"],
    "gpt3-1t, passes apart": ["gpt3-1t", "--on", "1024 x sn30-dfmodel", "--topology", "torus:8x128", "--memory", "ddr"]
    + ["--mode", "paper", "--partitions", "3", "--tp", "8", "--pp", "128", "--microbatch", "1"],
    "gpt3-1t, passes mixed": ["gpt3-1t", "--on", "1024 x sn30-dfmodel", "--topology", "torus:8x128", "--memory", "ddr"]
    + ["--mode", "paper", "--partitions", "6", "--tp", "8", "--pp", "128", "--microbatch", "1", "--mix-passes"],
    "llama3-8b, decoding": ["llama3-8b-dfmodel:decode", "--on", "8 x sn10-dfmodel", "--topology", "ring:8", *TABLE]
    + ["--partitions", "4", "--tp", "8"],
    "dlrm, forward": ["dlrm:forward", "--on", "8 x sn30-dfmodel", "--topology", "ring:8", "--memory", "ddr"]
    + ["--mode", "paper", "--partitions", "4", "--dp", "8", "--microbatch", "512"],
}


class Program:
    """A mixed-integer program read from free MPS: rows N, G and L; bounds BV and FX."""

    def __init__(self, text: str):
        self.rows, self.columns, self.kinds = {}, {}, []
        self.entries, self.cost, self.limits = [], {}, {}
        self.binary, self.fixed = set(), {}
        section = ""
        for line in text.splitlines():
            words = line.split()
            if line.startswith(" "):
                getattr(self, "read_" + section.lower())(words)
            else:
                section = words[0]

    def read_rows(self, words):
        kind, row = words
        if kind != "N":
            self.rows[row] = len(self.rows)
            self.kinds.append(kind)

    def read_columns(self, words):
        column, row, value = words
        index = self.columns.setdefault(column, len(self.columns))
        if row == "COST":
            self.cost[index] = float(value)
        else:
            self.entries.append((float(value), self.rows[row], index))

    def read_rhs(self, words):
        self.limits[self.rows[words[1]]] = float(words[2])

    def read_bounds(self, words):
        if words[0] == "BV":
            self.binary.add(words[2])
        else:
            assert words[0] == "FX"
            self.fixed[words[2]] = float(words[3])

    def solve(self):
        size = len(self.columns)
        values, rows, columns = zip(*self.entries)
        matrix = sparse.coo_matrix((values, (rows, columns)), shape=(len(self.rows), size)).tocsr()
        limit = numpy.array([self.limits.get(row, 0.0) for row in range(len(self.rows))])
        at_least = numpy.array([kind == "G" for kind in self.kinds])
        low, high, whole = numpy.zeros(size), numpy.full(size, numpy.inf), numpy.zeros(size)
        for name in self.binary:
            high[self.columns[name]] = whole[self.columns[name]] = 1
        for name, value in self.fixed.items():
            if name in self.columns:
                low[self.columns[name]] = high[self.columns[name]] = value
        constraints = optimize.LinearConstraint(
            matrix, numpy.where(at_least, limit, -numpy.inf), numpy.where(at_least, numpy.inf, limit)
        )
        return optimize.milp(
            numpy.array([self.cost.get(column, 0.0) for column in range(size)]),
            constraints=constraints,
            integrality=whole,
            bounds=optimize.Bounds(low, high),
            options={"mip_rel_gap": 1e-9, "time_limit": 240},
        )


@pytest.fixture(scope="module")
def flopcast() -> str:
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return str(Path(binary).resolve())


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES.keys())
def test_the_layer_time_is_the_solvers_optimum(flopcast, tmp_path, arguments):
    mps = tmp_path / "layer.mps"
    command = [flopcast, "map", *arguments, "--json", "--mps", str(mps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    mapping = json.loads(done.stdout)
    solution = Program(mps.read_text()).solve()
    assert solution.success, solution.message
    assert mapping["times"]["layer_s"] * 1e9 == pytest.approx(solution.fun, rel=RELATIVE)


def test_what_does_not_fit_is_infeasible_for_both(flopcast, tmp_path):
    mps = tmp_path / "layer.mps"
    command = [flopcast, "map", *CASES["gpt3-175b ring"], "--mps", str(mps)]
    subprocess.run(command, capture_output=True, timeout=300, check=True)
    program = Program(mps.read_text())
    program.fixed["y0_0_2"] = 0.0  # the first kernel, and so every other, in the last partition
    assert program.solve().status == 2
    command[command.index("--partitions") + 1] = "1"
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert refused.returncode == 4
    assert "SRAM" in refused.stderr
