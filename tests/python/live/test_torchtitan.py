"""torchtitan as PyPI has it: its own trainer ends, and says its own losses, memory and tokens a second."""

import re
import subprocess
import sys
from pathlib import Path

from test_launchers import need

SCRIPT = Path(__file__).with_name("titan_script.py")
SMALL = "--model.name llama3 --model.flavor debugmodel --model.hf_assets_path tests/assets/tokenizer --training.dataset c4_test"
SIZES = "--training.steps 3 --training.local_batch_size 1 --training.seq_len 64 --metrics.log_freq 1 --lr_scheduler.warmup_steps 0"
STEP = re.compile(r"step: +(\d+) .*?loss: +([\d.]+|nan) .*?memory: +([\d.]+)GiB.*?tps: ([\d,]+)")


def train(live, folder, *flags, ranks):
    """What torchtitan says of each step, of its first rank."""
    words = [*flags, SCRIPT, f"in:{folder}", *SMALL.split(), *SIZES.split()]
    done = live.run(*words, ranks=ranks, timeout=300)
    lines = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr).splitlines()
    assert any("Training completed" in line for line in lines), done.stdout + done.stderr
    steps = {int(said[0]): said[1:] for line in lines for said in STEP.findall(line)}
    assert sorted(steps) == [1, 2, 3]
    return [tuple(float(number.replace(",", "")) for number in steps[step]) for step in (1, 2, 3)]


def test_torchtitan_trains(live, tmp_path):
    need(live, "torchtitan")
    one = train(live, tmp_path, "--values", "execute:1000000", ranks=1)
    losses = [loss for loss, _, _ in one]
    assert 7 < losses[0] < 9  # the logarithm of 2,048 words, and what chance adds before anything is learnt
    assert losses[0] > losses[1] > losses[2]
    two = train(live, tmp_path, ranks=2)
    assert all(gib > 0 for _, gib, _ in one + two)
    assert all(0 < rate < alone for (_, _, rate), (_, _, alone) in zip(two, one, strict=True))  # with FSDP's work


def test_a_trainer_outside_of_the_package_is_run(tmp_path):
    checkout, folder = tmp_path / "checkout", tmp_path / "folder"
    checkout.mkdir()
    (checkout / "beside.py").write_text("WORD = 'beside'\n")
    (checkout / "train.py").write_text("import sys, beside\nprint(__name__, beside.WORD, sys.argv[1:])\n")
    (folder / "tests/assets/c4_test").mkdir(parents=True)
    (folder / "tests/assets/c4_test/data.json").write_text("")
    titan = Path(__file__).resolve().parents[3] / "examples/live/frameworks/titan.py"
    words = [sys.executable, titan, f"in:{folder}", f"train:{checkout}/train.py", "--a", "b"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "__main__ beside ['--a', 'b']\n"
