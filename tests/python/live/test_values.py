"""Values of tensors in a live run: what a small model computes is what the CPU computes, and what nobody computed has a
policy."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def checks() -> list[str]:
    """Names of what values_script.py checks, without PyTorch: it is the script that needs it."""
    text = (HERE / "values_script.py").read_text().splitlines()
    named = [line.split('"')[1] for line in text if line.startswith('    "') and '": (' in line]
    return named + [text[i + 1].split()[1].split("(")[0] for i, line in enumerate(text) if line == "@check"]


@pytest.fixture(scope="module")
def run(live):
    """Runs a script of this folder on one simulated GPU and returns how it went."""

    def run_script(script, *arguments, values="neutral"):
        return live.run("--values", values, HERE / script, *arguments, timeout=300, expect=None)

    return run_script


@pytest.fixture(scope="module")
def held(run):
    done = run("values_script.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", checks())
def test_value(held, name):
    assert held[name]


def test_every_check_has_a_test(held):
    assert sorted(held) == sorted(checks())


def test_a_small_model_learns_what_it_learns_on_the_cpu_and_does_so_again(run):
    done = run("training_script.py", "cuda", "cpu")
    assert done.returncode == 0, done.stderr
    trained = json.loads(done.stdout)
    for name, expected in trained["cpu"].items():
        for what, numbers in expected.items():
            assert trained["cuda"][name][what] == pytest.approx(numbers, rel=1e-5, abs=1e-5), (name, what)
    assert trained["cuda"]["adamw"]["accuracy"] == [1.0]
    assert json.loads(run("training_script.py", "cuda").stdout)["cuda"] == trained["cuda"]


def test_values_end_nowhere_in_small_steps_of_many_kinds_of_models(live, tmp_path):
    """No operator of them is left out, and losses are the CPU's."""
    for part, ranks in (("alone", 1), ("together", 2)):
        account = tmp_path / f"{part}.json"
        done = live.run("--json", account, HERE / "models_script.py", part, ranks=ranks, timeout=300)
        told = json.loads(account.read_text())
        assert told["values_end"] == [] and told["tainted_reads"] == 0, told["values_end"]
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert len(lines) == {"alone": 9, "together": 8}[part]
        for name, (expected, got) in (item for line in lines for item in line.items()):
            assert got == pytest.approx(expected, abs=2e-2 if name in ("fp16", "bf16") else 1e-4), name


READS = """import sys, torch
def mean_of(x):
    return x.mean().item()
print("begins", flush=True)
x = torch.arange(200.0).expand(200, 200).cuda()
twice = x * 2
print(mean_of(twice), mean_of(x))
print(twice[0, 1:2].tolist(), twice[0, 1:2].cpu().numpy().tolist())
print(twice[0, 1:4].tolist(), twice[:3, 1].half().cpu().numpy().tolist(), twice[0, 1:3].int().tolist())
if len(sys.argv) > 1:
    scores = torch.randn(4096, 1024, device="cuda") @ torch.randn(1024, 8, device="cuda")
    print(*torch.bincount(scores.topk(2)[1].flatten(), minlength=8).tolist())
"""


@pytest.fixture
def read(live, tmp_path):
    """What a script prints that reads what is not computed, where values end, and what is said of the first read."""

    def run_reads(values, *arguments, expect=0):
        script, account = tmp_path / "reads.py", tmp_path / "run.json"
        script.write_text(READS)
        done = live.run("--values", values, "--json", account, script, *arguments, expect=expect)
        told = [line for line in done.stderr.splitlines() if "reads values that were not computed" in line]
        return done.stdout.splitlines(), json.loads(account.read_text())["values_end"], told, done.stderr

    return run_reads


def test_what_is_read_of_values_that_nobody_computed(read):
    """One number is NaN, several are zeroes; routing is even; where values end is told."""
    lines, ends, told, _ = read("neutral", "routes")
    assert lines == ["begins", "nan nan", "[nan] [nan]", "[0.0, 0.0, 0.0] [0.0, 0.0, 0.0] [0, 0]", " ".join(8 * ["1024"])]
    assert ends[0].startswith("rank 0: aten::") and "40000 elements, more than" in ends[0] and len(ends) == 1
    assert len(told) == 1 and "aten::_local_scalar_dense" in told[0] and "reads.py" in told[0] and "line 3" in told[0]


def test_nothing_is_told_of_what_is_executed(read):
    lines, ends, told, _ = read("execute:50000")
    assert lines == ["begins", "199.0 99.5", "[2.0] [2.0]", "[2.0, 4.0, 6.0] [2.0, 2.0, 2.0] [2, 4]"]
    assert ends == [] and told == []


def test_a_number_of_the_users_is_read_everywhere_and_routing_follows_a_zipf_law_where_asked(read):
    lines, _, _, _ = read("tainted:7.5,zipf:1", "routes")
    assert lines[:4] == ["begins", "7.5 7.5", "[7.5] [7.5]", "[7.5, 7.5, 7.5] [7.5, 7.5, 7.5] [0, 0]"]
    counts = [int(word) for word in lines[4].split()]
    assert sum(counts) == 8192 and counts == sorted(counts, reverse=True) and counts[0] > 2 * counts[7]


def test_a_strict_run_ends_where_it_reads_what_nobody_computed(read):
    lines, _, told, errors = read("strict", expect=3)
    assert lines == ["begins"]
    assert "reads values that were not computed: 4 bytes, in aten::_local_scalar_dense" in told[0]
    assert "line 3, in mean_of" in errors


def test_copies_and_collectives_of_as_many_elements_as_are_executed_carry_values(live, tmp_path):
    script = tmp_path / "large.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "x = torch.ones(400, 1000).cuda()\n"
        "dist.all_reduce(x)\n"
        "print(x.sum().item(), flush=True)\n"
        "dist.destroy_process_group()\n"
    )
    assert live.run("--values", "execute:400000", script, ranks=2).stdout == "800000.0\n" * 2
