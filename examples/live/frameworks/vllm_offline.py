"""Offline throughput of vLLM: Llama shapes, weights that nobody trained, no tokenizer."""

import argparse
import json
import tempfile
import time
from pathlib import Path

from vllm import LLM, SamplingParams

SHAPES = {
    "tiny": {"vocab_size": 1024, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2},
    "llama-3-8b": {"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8},
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12,
             "n_positions": 1024, "activation_function": "gelu_new", "tie_word_embeddings": True},
}  # fmt: skip


def model_folder(shape, folder):
    """A checkpoint without weights, as vLLM reads it."""
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
    flags.add_argument("--eager", action="store_true", help="no compilation, no CUDA graphs")
    flags.add_argument("--tensor-parallel", type=int, default=1)
    given = flags.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        model = LLM(
            model=model_folder(given.shape, folder),
            load_format="dummy",
            skip_tokenizer_init=True,
            enforce_eager=given.eager,
            max_model_len=max(512, given.input + given.output),
            tensor_parallel_size=given.tensor_parallel,
        )
        vocabulary = SHAPES[given.shape]["vocab_size"]
        prompts = [
            {"prompt_token_ids": [3 + (i + at) % (vocabulary - 3) for at in range(given.input)]}
            for i in range(given.requests)
        ]
        answers = SamplingParams(max_tokens=given.output, ignore_eos=True, detokenize=False, temperature=0)
        begin = time.perf_counter()
        done = model.generate(prompts, answers, use_tqdm=False)
        seconds = time.perf_counter() - begin
        tokens = sum(len(request.outputs[0].token_ids) for request in done)
        print(f"{len(done)} requests, {tokens} output tokens, {seconds:.4f} s, {tokens / seconds:.1f} tokens/s")


if __name__ == "__main__":
    main()
