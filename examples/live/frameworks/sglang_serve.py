"""SGLang's server and its own client of benchmarks on this machine, as people try a deployment."""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sglang_offline import SHAPES, model_folder
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def tokenizer_folder(shape, folder):
    """One word a token: the client tells its prompts as text."""
    words = {f"<{i}>": i for i in range(SHAPES[shape]["vocab_size"])}
    made = Tokenizer(models.WordLevel(words, unk_token="<0>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<1>", eos_token="<2>").save_pretrained(folder)
    return folder


def wait_for(server, port):
    """Until it listens: it does so when its model is loaded."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if server.poll() is not None:
                raise SystemExit("the server has ended") from None
            time.sleep(1)


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--shape", choices=SHAPES, default="tiny")
    flags.add_argument("--requests", type=int, default=8)
    flags.add_argument("--rate", type=float, default=100, help="requests a second")
    flags.add_argument("--input", type=int, default=64, help="tokens of a prompt")
    flags.add_argument("--output", type=int, default=16, help="tokens of an answer")
    flags.add_argument("more", nargs="*", help="of SGLang's server, behind --")
    given = flags.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # The same Python by its name in the virtual environment, which `sys.executable` may not be.
    python = [str(Path(sys.executable).parent / "python"), "-m"]
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_folder(given.shape, model_folder(given.shape, folder))
        at = ["--host", "127.0.0.1", "--port", port]
        server = subprocess.Popen(
            [*python, "sglang.launch_server", "--model-path", folder, "--load-format", "dummy", *at, *given.more]
        )
        try:
            wait_for(server, int(port))
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
