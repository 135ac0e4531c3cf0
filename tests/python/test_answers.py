"""Every answer is as its description says (`flopcast schema`), and what is made from that is up to date.

The commands of the documents are held against it by test_docs.py; here is what no document asks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import answers
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from doc_commands import make_sample  # noqa: E402

PLAN = "plan gpt-3-1.3b --on 'dgx-h100' --global-batch 64 --seq 2048 --software megatron"
ESTIMATE = "estimate gpt-3-1.3b --on 'dgx-h100' --global-batch 64 --tp 2"
SERVE = "serve llama-3-8b --on dgx-h100 --users 4 --requests 20 --input 64 --output 16"
FLEETS = "serve-plan llama-3-8b --on dgx-h100 --rate 4 --requests 50 --input 256 --output 32 --engine vllm --precision bf16"
MAP = "map gpt3-175b --on '8 x sn10' --topology torus:4x2"
#: Lines, each of which is asked with the outputs behind "::".
ASKED = f"""
{ESTIMATE} :: --json --csv --html
{ESTIMATE} --engine graph :: --json --html
{ESTIMATE} --tokens 1T --chip-mtbf 50000h --checkpoint-time 30s --restart-time 5min --price 2 --co2 300 :: --json --html
estimate llama-3.1-405b --on '2 x dgx-h100' --tp 8 --global-batch 64 --seq 8192 :: --json --html
estimate gpt3_1T --model-of subramanian --system B200-NVS8 --tp 8 --pp 128 --dp 16 :: --json
plan gpt3_1T --model-of subramanian --system B200-NVS8 --chips 16384 --best 3 :: --json
{PLAN} --best 3 :: --json --csv --html
{PLAN} --best 1 --shard 0/2 :: --json
{PLAN} --best 1 --sweep n=4,8 :: --json --csv --html
{MAP} --tp 8 :: --json --csv --html
explore gpt3-175b --on '8 x sn10' --topology torus:4x2 --tp 8 --sweep sram=150MB,500MB --explain :: --json --csv --html
{SERVE} :: --json --csv --html
{SERVE} --quick :: --json
{SERVE} --disaggregated 1:2 --slo 'ttft.p99<1s' :: --json --html
{FLEETS} --slo 'ttft.p99<1s' :: --json --csv --html
{FLEETS} --slo 'ttft.p99<1ms' :: --json --html
serve-plan llama-3-8b --on dgx-h100 --on dgx-a100 --price 2,1 --rate 4 --requests 50 --input 256 --output 32 --engine vllm --precision bf16 --slo 'ttft.p99<1s' :: --json --csv --html
replay demo/sample :: --json --csv --html
replay demo/sample --compare :: --json
replay demo/sample --network '1 x dgx-h100' :: --json
whatif demo/sample --scale gemm=0.8 --scale network=2 --sensitivity :: --json --html
whatif demo/sample --chip mi300x :: --json --html
trace info demo/sample :: --json
trace validate demo/sample :: --json
trace model demo/sample :: --json
validate replay demo/sample :: --json --csv
net time all_reduce --size 1GB --on '2 x dgx-h100' :: --json --html
cost gemm 4096x4096x4096 --on h100-sxm :: --json
models list :: --json
models show llama-3-8b :: --json
hw list :: --json
hw show dgx-h100 :: --json
hw show h100-sxm :: --json
""".strip().splitlines()


@pytest.fixture(scope="module")
def program() -> str:
    named = os.environ.get("FLOPCAST_CLI")
    if not named:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return str(Path(named).resolve())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, program) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    make_sample(folder / "demo" / "sample")
    answers.watched(folder / "flopcast", Path(program), folder / "calls")
    return folder


def test_what_is_made_from_it_is_up_to_date(program):
    made = subprocess.run([sys.executable, ROOT / "tools/make_answers.py", "--check", program], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("line", ASKED, ids=lambda line: line.partition(" :: ")[0][:60])
def test_answers_are_as_described(line, folder, program):
    command, _, outputs = line.partition(" :: ")
    shutil.rmtree(folder / "calls")
    (folder / "calls").mkdir()
    page = "--html page.html" if "--html" in outputs else ""
    for output in [f"--json {page}", *(["--csv"] if "--csv" in outputs else [])]:
        done = subprocess.run(["bash", "-c", f"./flopcast {command} {output}"], cwd=folder, capture_output=True, text=True)
        # A plan that does not fit ends with 4, a question without an answer with 5, and they have documents.
        assert done.returncode in (0, 4, 5) and done.stdout, done.stderr
    assert not page or (folder / "page.html").exists()
    wrong = answers.problems_of(program, folder / "calls")
    assert not wrong, "\n".join(wrong)


def test_a_document_that_is_not_as_described_is_found(program):
    whole = subprocess.run([program, "net", "time", "all_reduce", "--size", "1MB", "--on", "dgx-h100", "--json"], capture_output=True, text=True)
    document = answers.documents_in(whole.stdout)[0]
    assert answers.problems(program, "Collective", document) == []
    assert answers.problems(program, "Collective", document | {"surplus": 1})
    assert answers.problems(program, "Collective", document | {"time_s": "soon"})
    assert answers.problems(program, "Collective", {name: value for name, value in document.items() if name != "basis"})
    assert answers.csv_problems(program, "Flow", "id,bytes,start_s,end\n", []) == ["column 'end' is not described"]
