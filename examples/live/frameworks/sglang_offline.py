"""Offline throughput of SGLang: Llama's shapes, weights that nobody trained, no tokenizer."""

import argparse
import json
import tempfile
import time
from pathlib import Path

import sglang

SHAPES = {
    "tiny": {"vocab_size": 1024, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64},
    "llama-3-8b": {"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128},
}  # fmt: skip


def model_folder(shape, folder):
    """A checkpoint without weights, as SGLang reads it."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "torch_dtype": "bfloat16",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
    }
    Path(folder, "config.json").write_text(json.dumps(config | SHAPES[shape]))
    return folder


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--shape", choices=SHAPES, default="tiny")
    flags.add_argument("--requests", type=int, default=8)
    flags.add_argument("--input", type=int, default=64, help="tokens of a prompt")
    flags.add_argument("--output", type=int, default=16, help="tokens of an answer")
    flags.add_argument("--eager", action="store_true", help="no CUDA graphs")
    given = flags.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        engine = sglang.Engine(
            model_path=model_folder(given.shape, folder),
            load_format="dummy",
            skip_tokenizer_init=True,
            disable_cuda_graph=given.eager,
        )
        vocabulary = SHAPES[given.shape]["vocab_size"]
        prompts = [[3 + (i + at) % (vocabulary - 3) for at in range(given.input)] for i in range(given.requests)]
        settings = {"max_new_tokens": given.output, "ignore_eos": True, "temperature": 0}
        begin = time.perf_counter()
        done = engine.generate(input_ids=prompts, sampling_params=settings)
        seconds = time.perf_counter() - begin
        tokens = sum(len(request["output_ids"]) for request in done)
        print(f"{len(done)} requests, {tokens} output tokens, {seconds:.4f} s, {tokens / seconds:.1f} tokens/s", flush=True)
        engine.shutdown()


if __name__ == "__main__":
    main()
