"""SGLang's server and its own client of benchmarks on this machine, as people try a deployment."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from served import free_port, tokenizer_folder, wait_for
from sglang_offline import SHAPES, model_folder


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--shape", choices=SHAPES, default="tiny")
    flags.add_argument("--requests", type=int, default=8)
    flags.add_argument("--rate", type=float, default=100, help="requests a second")
    flags.add_argument("--input", type=int, default=64, help="tokens of a prompt")
    flags.add_argument("--output", type=int, default=16, help="tokens of an answer")
    flags.add_argument("more", nargs="*", help="of SGLang's server, behind --")
    given = flags.parse_args()
    port = free_port()
    # The same Python by its name in the virtual environment, which `sys.executable` may not be.
    python = [str(Path(sys.executable).parent / "python"), "-m"]
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_folder(SHAPES[given.shape]["vocab_size"], model_folder(given.shape, folder))
        at = ["--host", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen(
            [*python, "sglang.launch_server", "--model-path", folder, "--load-format", "dummy", *at, *given.more]
        )
        try:
            wait_for(server, port)
            lengths = ["--random-input-len", str(given.input), "--random-output-len", str(given.output)]
            load = ["--num-prompts", str(given.requests), "--request-rate", str(given.rate), "--random-range-ratio", "1"]
            client = [*python, "sglang.benchmark.serving", "--backend", "sglang", "--dataset-name", "random-ids"]
            files = ["--tokenizer", folder, "--output-file", str(Path(folder, "answers.jsonl"))]
            subprocess.run([*client, *at, *lengths, *load, *files, "--disable-tqdm"], check=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
