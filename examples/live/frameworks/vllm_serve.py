"""vLLM's server and its clients on this machine: requests at a rate, and the latencies that a client sees."""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from served import free_port, tokenizer_folder, wait_for
from vllm_offline import SHAPES, model_folder


async def post(port, path, body):
    """The connection, behind the answer's header."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    text = json.dumps(body).encode()
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(text)}\r\n\r\n".encode() + text
    )
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(f"{path}: {status.decode()}{(await reader.read()).decode()}")
    while (await reader.readline()).strip():
        pass
    return reader, writer


async def ask(port, given, number):
    """@return seconds until the first token, and from it to the last; tokens"""
    await asyncio.sleep(number / given.rate)
    vocabulary = SHAPES[given.shape]["vocab_size"]
    prompt = [3 + (number + at) % (vocabulary - 3) for at in range(given.input)]
    body = {"model": "model", "prompt": prompt, "max_tokens": given.output, "temperature": 0}
    begin, first, tokens = time.perf_counter(), None, 0
    reader, writer = await post(port, "/v1/completions", body | {"ignore_eos": True, "stream": True})
    while line := await reader.readline():
        if not line.startswith(b"data: {"):
            continue
        first = first or time.perf_counter()
        tokens += 1
    writer.close()
    end = time.perf_counter()
    return first - begin, end - first, tokens


async def clients(given):
    begin = time.perf_counter()
    seen = await asyncio.gather(*(ask(given.port, given, number) for number in range(given.requests)))
    seconds = time.perf_counter() - begin
    firsts, rests, tokens = zip(*seen)
    each = [rest / max(count - 1, 1) for rest, count in zip(rests, tokens)]
    print(
        f"{given.requests} requests, {sum(tokens)} pieces, {seconds:.4f} s, "
        f"first token {1e3 * statistics.median(firsts):.3f} ms, each further {1e3 * statistics.median(each):.3f} ms"
    )


def bench(vllm, folder, given):
    """vLLM's own client of benchmarks; requests come at random (Poisson)."""
    lengths = ["--random-input-len", str(given.input), "--random-output-len", str(given.output)]
    load = ["--num-prompts", str(given.requests), "--request-rate", str(given.rate), "--ignore-eos", "--disable-tqdm"]
    words = ["bench", "serve", "--host", "127.0.0.1", "--port", str(given.port), "--model", folder, "--served-model-name"]
    subprocess.run([*vllm, *words, "model", "--dataset-name", "random", *lengths, *load], check=True)


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--shape", choices=SHAPES, default="tiny")
    flags.add_argument("--requests", type=int, default=8)
    flags.add_argument("--rate", type=float, default=100, help="requests a second")
    flags.add_argument("--input", type=int, default=64, help="tokens of a prompt")
    flags.add_argument("--output", type=int, default=16, help="tokens of an answer")
    flags.add_argument("--bench", action="store_true", help="ask by `vllm bench serve` instead")
    flags.add_argument("more", nargs="*", help="of `vllm serve`, behind --")
    given = flags.parse_args()
    given.port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_folder(SHAPES[given.shape]["vocab_size"], model_folder(given.shape, folder))
        words = ["serve", folder, "--load-format", "dummy", "--served-model-name", "model", "--port", str(given.port)]
        words += ["--host", "127.0.0.1", "--max-model-len", str(max(512, given.input + given.output)), *given.more]
        vllm = [str(Path(sys.executable).parent / "python"), "-m", "vllm.entrypoints.cli.main"]
        server = subprocess.Popen([*vllm, *words])
        try:
            wait_for(server, given.port)
            bench(vllm, folder, given) if given.bench else asyncio.run(clients(given))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
