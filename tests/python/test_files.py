"""What the program does with files that are none, with its outputs, and with Ctrl-C while it waits or works."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from test_cli import run

ROOT = Path(__file__).resolve().parents[2]
CORPUS = {
    "model": ROOT / "src/workload/model/corpus/model/llama.json",
    "cluster": ROOT / "src/hardware/cluster/corpus/cluster_toml/levels.toml",
    "deepspeed": ROOT / "src/parallel/plan/corpus/plan/deepspeed.json",
    "fits": ROOT / "src/cost/model/corpus/fits/small.toml",
    "dataflow": ROOT / "src/workload/dataflow/corpus/dataflow/reference.toml",
    "kineto": ROOT / "src/trace/kineto/corpus/kineto/collectives.json",
}
ON = ("--on", "dgx-h100")

#: Every kind of reader: its command, where {} is the file.
READERS = {
    "replay": (("replay", "{}"), CORPUS["kineto"]),
    "trace info": (("trace", "info", "{}"), CORPUS["kineto"]),
    "trace model": (("trace", "model", "{}"), CORPUS["kineto"]),
    "model": (("estimate", "{}", *ON, "--tp", "2", "--global-batch", "64", "--seq", "2048"), CORPUS["model"]),
    "plan-from": (("estimate", "gpt-3-1.3b", *ON, "--seq", "2048", "--plan-from", "{}"), CORPUS["deepspeed"]),
    "cluster": (("hw", "show", "{}"), CORPUS["cluster"]),
    "flows": (("net", "run", "{}", "--on", "2 x dgx-h100"), ROOT / "examples/flows.csv"),
    "collectives": (("calibrate", "network", "{}"), ROOT / "examples/collectives.csv"),
    "kernels": (("calibrate", "kernels", "{}", "--chip", "a100"), ROOT / "examples/gemm_a100.csv"),
    "fits": (("cost", "memory", "softmax", "4096x4096", "bf16", "--on", "h100", "--fit", "{}"), CORPUS["fits"]),
    "runs": (("validate", "training", "{}"), ROOT / "examples/training_runs.json"),
    "dataflow": (("map", "{}", "--on", "8 x sn10", "--topology", "torus:4x2"), CORPUS["dataflow"]),
}


@pytest.mark.parametrize("name", READERS)
def test_a_dash_is_standard_input(program, name):  # noqa: F811
    command, file = READERS[name]
    told = subprocess.run(
        [program, *(word.format("-") for word in command)], input=file.read_bytes(), capture_output=True, timeout=60
    )
    plain = subprocess.run([program, *(word.format(file) for word in command)], capture_output=True, timeout=60)
    assert told.returncode == plain.returncode == 0, told.stderr
    # Names of what was read apart, the answers are the same.
    numbers = re.compile(rb"\d+\.\d+")
    assert numbers.findall(told.stdout.partition(b"\n")[2]) == numbers.findall(plain.stdout.partition(b"\n")[2])


def ends_on_ctrl_c(process: subprocess.Popen, after_s: float) -> bool:
    """False if it had ended before: a machine with other work may take long to come to it."""
    try:
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        status = process.wait(timeout=10)
        assert status in (0, -signal.SIGINT), process.stderr.read()
        return status != 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", READERS)
def test_ctrl_c_ends_what_waits_for_a_pipe(program, name, tmp_path):  # noqa: F811
    """Its writer is there and writes nothing: without Ctrl-C this lasts for ever."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    command, _ = READERS[name]
    process = subprocess.Popen([program, *(word.format(pipe) for word in command)], stderr=subprocess.PIPE)
    writer = os.open(pipe, os.O_WRONLY)  # returns as soon as the program has opened it
    try:
        assert ends_on_ctrl_c(process, 0.1)
    finally:
        os.close(writer)


WORK = {
    "estimate": "estimate llama-3.1-405b --on '16 x dgx-h100' --tp 8 --pp 16 --global-batch 131072 --seq 8192 --engine graph",
    "plan": "plan deepseek-v3 --on '2048 x dgx-h100' --global-batch 16384 --seq 4096 --threads 1",
    "map": "map gpt3-1t --on '1024 x sn10' --cycles --every-tile --split-dimensions --unroll 4 --threads 1",
    "fit": "calibrate kernels {big} --chip h200",
    "read": "trace info {trace}",
}


@pytest.fixture(scope="module")
def big_files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("big")
    table, trace = folder / "gemm.csv", folder / "rank0.json"
    with table.open("w") as out:
        out.write("gemm_dtype,m,n,k,latency\n")
        for i in range(1_000_000):
            out.write(f"bfloat16,{i % 8191 + 1},{i % 127 * 64 + 64},{i % 63 * 128 + 128},{i % 977 / 100 + 0.01}\n")
    with trace.open("w") as out:
        row = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"External id":%d}}'
        out.write('{"traceEvents": [\n' + ",\n".join(row % (i, i) for i in range(1_500_000)) + "]}")
    return {"big": table, "trace": trace}


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_work(program, name, big_files):  # noqa: F811
    """Each takes a second or more where nobody ends it."""
    line = WORK[name].format(**big_files)

    def ended_by(after_s: float) -> bool:
        process = subprocess.Popen(
            f"exec {program} {line}", shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        return ends_on_ctrl_c(process, after_s)

    assert any(ended_by(after_s) for after_s in (0.15, 0.1, 0.05))


def test_a_pipe_of_the_shell_is_read(program):  # noqa: F811
    line = f"{program} net run <(cat {ROOT}/examples/flows.csv) --on '2 x dgx-h100'"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "all_reduce" in done.stdout


def test_standard_output_is_no_output_twice(program, tmp_path):  # noqa: F811
    page = tmp_path / "page.html"
    with page.open("w") as out:
        done = subprocess.run(
            [program, "net", "time", "all_reduce", "--size", "1GB", *ON, "--html", page], stdout=out, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
    assert done.returncode == 2
    assert "is where standard output goes" in done.stderr


def test_the_file_of_standard_input_is_not_overwritten(program, tmp_path):  # noqa: F811
    flows = tmp_path / "flows.csv"
    flows.write_bytes((ROOT / "examples/flows.csv").read_bytes())
    with flows.open() as file:
        done = subprocess.run(
            [program, "net", "run", "-", *ON, "--html", flows], stdin=file, capture_output=True, text=True
        )  # fmt: skip
    assert done.returncode == 2
    assert "is what standard input reads" in done.stderr
    assert flows.read_bytes() == (ROOT / "examples/flows.csv").read_bytes()


def test_escapes_of_names_do_not_reach_the_terminal(program, tmp_path):  # noqa: F811
    (tmp_path / "e.csv").write_bytes(b"id,src,dst,bytes\n\x1b]0;pwn\x07\xff,0,1,1000\n")
    for way in ((), ("--json",), ("--csv",)):
        done = subprocess.run([program, "net", "run", "e.csv", *ON, *way], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout), way
        assert b"]0;pwn" in done.stdout
    done = run(program, "estimate", "no\x1b[2Jmodel\n", *ON)
    assert "\x1b" not in done.stderr
    assert "no\\u001b[2Jmodel\\n" in done.stderr


def test_an_error_quotes_little_of_a_long_line(program, tmp_path):  # noqa: F811
    (tmp_path / "long.csv").write_bytes(b"src,dst,bytes\n0,1," + b"9" * (20 << 20) + b"\n" + b"a," * (1 << 20))
    (tmp_path / "header.csv").write_bytes(b"x" * (20 << 20))
    for name in ("long.csv", "header.csv"):
        for command in (("net", "run", name, *ON), ("calibrate", "network", name), ("calibrate", "kernels", name, "--chip", "a100")):
            done = run(program, *command, cwd=tmp_path)
            assert done.returncode == 3
            assert name in done.stderr
            assert len(done.stderr) < 1200, (name, command)
    done = run(program, "estimate", "m" * 100_000, *ON)
    assert done.returncode == 2
    assert len(done.stderr) < 600


WORDS = {
    "flopcast esitmate llama-3-8b": "did you mean 'estimate'?",
    "flopcast trace inof x": "did you mean 'info'?",
    "flopcast repaly --help": "did you mean 'replay'?",
    "flopcast estimate llama-3-8b --shrad 4": "did you mean '--shard'",
    "flopcast replay x --jsn": "did you mean '--json'?",
    "flopcast plan llama-3-8b --global-bacth=8": "did you mean '--global-batch'",
}


@pytest.mark.parametrize("line", WORDS)
def test_a_word_that_does_not_exist_gets_the_one_that_was_meant(program, line):  # noqa: F811
    done = run(program, *line.split()[1:])
    assert done.returncode == 2
    assert WORDS[line] in done.stderr
    assert "--help" in done.stderr


def test_a_file_that_is_not_there_is_named_with_what_would_be_right(program, tmp_path):  # noqa: F811
    table = run(program, "net", "run", "none.csv", *ON, cwd=tmp_path)
    assert (table.returncode, "Kineto" in table.stderr) == (3, False)
    assert "none.csv: cannot be read: No such file or directory (name a table" in table.stderr
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    header = run(program, "net", "run", "wrong.csv", *ON, cwd=tmp_path)
    assert "wrong.csv: expected columns src,dst or op, found a,b" in header.stderr
    sweep = run(program, "explore", "no.toml", "--on", "8 x sn10", "--sweep", "sram=1x,2x", cwd=tmp_path)
    assert sweep.returncode == 3
    assert sweep.stdout == ""
    assert sweep.stderr.startswith("flopcast: error: no.toml: cannot be read: No such file or directory")
    assert "larger values" not in sweep.stderr


def test_a_writer_may_come_later_than_its_reader(program, tmp_path):  # noqa: F811
    pipe = tmp_path / "flows.csv"
    os.mkfifo(pipe)

    def write():
        time.sleep(0.2)
        pipe.write_bytes((ROOT / "examples/flows.csv").read_bytes())

    writer = threading.Thread(target=write)
    writer.start()
    done = run(program, "net", "run", str(pipe), "--on", "2 x dgx-h100")
    writer.join()
    assert done.returncode == 0, done.stderr


#: Commands that write a file, which {} is.
WRITERS = {
    "page": ("net", "time", "all_reduce", "--size", "1GB", *ON, "--html", "{}"),
    "platform": ("net", "export", *ON, "--out", "{}"),
    "fit": ("calibrate", "network", str(ROOT / "examples/collectives.csv"), "--out", "{}"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_replaced_keeps_its_mode(program, name, tmp_path):  # noqa: F811
    file = tmp_path / "out"
    for mode in (0o600, 0o640, 0o755):
        file.write_text("old")
        file.chmod(mode)
        done = run(program, *(word.format(file) for word in WRITERS[name]))
        assert done.returncode == 0, done.stderr
        assert file.stat().st_mode & 0o7777 == mode
        assert file.read_text() != "old"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_read_only_file_is_left(program, name, tmp_path):  # noqa: F811
    file = tmp_path / "out"
    file.write_text("old")
    file.chmod(0o444)
    done = run(program, *(word.format(file) for word in WRITERS[name]))
    assert done.returncode == 3
    assert f"{file}: is there and read-only" in done.stderr
    assert (file.read_text(), file.stat().st_mode & 0o7777) == ("old", 0o444)


def test_a_killed_writer_leaves_nothing(program, tmp_path):  # noqa: F811
    """Its reader is a pipe that it waits for, with the output open: packs are written as they are read."""
    pipe, out = tmp_path / "rank0.json", tmp_path / "out"
    os.mkfifo(pipe)
    out.mkdir()
    process = subprocess.Popen([program, "trace", "pack", pipe, "--out", out / "a.fcpack"], stderr=subprocess.DEVNULL)
    writer = os.open(pipe, os.O_WRONLY)
    try:
        os.write(writer, b'{"traceEvents": [\n')
        time.sleep(0.3)
        process.kill()
        process.wait()
    finally:
        os.close(writer)
    assert list(out.iterdir()) == []


MAP = ("map", "fft", "--on", "8 x sn10", "--topology", "torus:4x2", "--tp", "8", "--pp", "1", "--dp", "1", "--threads", "1")
ESTIMATE = ("estimate", "llama-3-8b", *ON, "--global-batch", "8", "--seq", "2048")
#: Kinds of flags that take a number, {} in it, and one that it takes.
NUMBERS = {
    "batch": (("cost", "gemm", "4096x4096x4096", "bf16", "--on", "h100", "--batch", "{}"), "2"),
    "microbatch": ((*MAP, "--microbatch", "{}"), "1"),
    "utilisation": ((*MAP, "--utilisation", "{}"), "0.5"),
    "gap": ((*MAP, "--gap", "{}"), "0.5"),
    "threads": ((*MAP[:-1], "{}"), "1"),
    "cp": ((*ESTIMATE, "--tp", "4", "--cp", "{}"), "2"),
    "price": ((*ESTIMATE, "--tp", "8", "--price", "{}"), "2"),
    "memory": ((*ESTIMATE, "--tp", "8", "--memory", "{}"), "0.9"),
    "rate": (("serve", "llama-3-8b", *ON, "--replicas", "1", "--quick", "--input", "64", "--output", "8", "--requests", "20", "--rate", "{}"), "2"),
    "size": (("net", "time", "all_reduce", *ON, "--size", "{}"), "2"),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "1e400", "0x10", "1_0", "two", "9" * 309])
def test_what_is_no_number_is_refused_in_few_words(program, name, number):  # noqa: F811
    command, _ = NUMBERS[name]
    done = run(program, *(word.format(number) for word in command))
    assert done.returncode in {2, 3}, done.stdout
    assert 0 < len(done.stderr) < 700
    assert not re.search(r"(?!9{40})\d{40}", done.stderr)


@pytest.mark.parametrize("name", NUMBERS)
def test_zeros_before_a_number_mean_nothing(program, name):  # noqa: F811
    command, good = NUMBERS[name]
    plain, padded = (run(program, *(word.format(number) for word in command)) for number in (good, f"00{good}"))
    assert plain.returncode == 0, plain.stderr
    assert padded.returncode == 0, padded.stderr
    assert padded.stdout == plain.stdout


def test_control_characters_of_names_come_into_no_page(program):  # noqa: F811
    """Every reader that makes a page or a drawing, of names that hold every control character."""
    sys.path.insert(0, str(ROOT / "tools"))
    import hostile

    readers = [reader.name for reader in hostile.READERS if "{page}" in reader.command]
    assert "dataflow.svg" in readers
    damages = ("texts-controls", "texts-raw-escape", "texts-inject")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/hostile.py", "--flopcast", program]
        + [f"--reader={name}" for name in readers]
        + [f"--damage={name}" for name in damages],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
