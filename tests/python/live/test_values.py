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


@pytest.fixture(scope="module")
def trained(run):
    done = run("training_script.py", "cuda")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_small_model_learns_what_it_learns_on_the_cpu(run, trained):
    # PyTorch needs the stand-ins to load; this run uses no GPU.
    cpu = run("training_script.py", "cpu")
    assert cpu.returncode == 0, cpu.stderr
    for name, expected in json.loads(cpu.stdout).items():
        for what, numbers in expected.items():
            assert trained[name][what] == pytest.approx(numbers, rel=1e-5, abs=1e-5), (name, what)
    assert trained["adamw"]["accuracy"] == [1.0]


def test_runs_are_alike(run, trained):
    for _ in range(2):
        assert json.loads(run("training_script.py", "cuda").stdout) == trained


def test_values_end_nowhere_in_small_steps_of_many_kinds_of_models(live, tmp_path):
    """No operator of them is left out, and losses are the CPU's."""
    for part, ranks in (("alone", 1), ("together", 2)):
        account = tmp_path / f"{part}.json"
        done = live.run("--json", account, HERE / "models_script.py", part, ranks=ranks, timeout=300)
        told = json.loads(account.read_text())
        assert told["values_end"] == [] and told["tainted_reads"] == 0, told["values_end"]
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert len(lines) == {"alone": 9, "together": 4}[part]
        for name, (expected, got) in (item for line in lines for item in line.items()):
            assert got == pytest.approx(expected, abs=2e-2 if name in ("fp16", "bf16") else 1e-4), name


def test_where_values_end_is_told(live, tmp_path):
    script, account = tmp_path / "ends.py", tmp_path / "run.json"
    script.write_text(
        "import torch\n"
        "x = torch.arange(200.0).expand(200, 200).cuda()\n"
        "print((x * 2).mean().item(), x.mean().item(), flush=True)\n"
    )
    for values, printed in (("neutral", "nan nan"), ("execute:50000", "199.0 99.5"), ("tainted:7.5", "7.5 7.5")):
        done = live.run("--values", values, "--json", account, script)
        assert done.stdout == printed + "\n"
        ends = json.loads(account.read_text())["values_end"]
        assert ends == ([] if "execute" in values else [ends[0]])
        told = [line for line in done.stderr.splitlines() if "reads values that were not computed" in line]
        assert len(told) == (0 if "execute" in values else 1)
        if told:
            assert ends[0].startswith("rank 0: aten::") and "40000 elements, more than" in ends[0]
            assert "ends.py" in told[0] and "line 3" in told[0] and "aten::_local_scalar_dense" in told[0]


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


def test_a_strict_run_ends_where_it_reads_what_nobody_computed(run, tmp_path):
    script = tmp_path / "reads.py"
    script.write_text(
        "import torch\n"
        "def mean_of(x):\n"
        "    return x.mean().item()\n"
        "print('begins')\n"
        "mean_of(torch.randn(1000, 1000, device='cuda'))\n"
        "print('goes on')\n"
    )
    done = run(script, values="strict")
    assert done.returncode != 0 and done.stdout == "begins\n"
    assert "reads values that were not computed: 4 bytes, in aten::_local_scalar_dense" in done.stderr
    assert "line 3, in mean_of" in done.stderr
    assert run(script).stdout == "begins\ngoes on\n"


def test_routing_follows_a_zipf_law_where_asked(run, tmp_path):
    script = tmp_path / "routes.py"
    script.write_text(
        "import torch\n"
        "scores = torch.randn(4096, 1024, device='cuda') @ torch.randn(1024, 8, device='cuda')\n"
        "print(*torch.bincount(scores.topk(2)[1].flatten(), minlength=8).tolist())\n"
    )
    counts = [int(word) for word in run(script, values="neutral,zipf:1").stdout.split()]
    assert sum(counts) == 8192 and counts == sorted(counts, reverse=True) and counts[0] > 2 * counts[7]
    assert run(script).stdout.split() == ["1024"] * 8
