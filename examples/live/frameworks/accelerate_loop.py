"""A plain loop over a small Llama with Accelerate: DDP or FSDP2, and gradients that are accumulated.

    accelerate launch --num_processes 4 accelerate_loop.py                   on GPUs
    flopcast run --on dgx-h100 --ranks 4 accelerate_loop.py                  on none
    flopcast run --on dgx-h100 --ranks 4 accelerate_loop.py --fsdp --accumulate 4
"""

import argparse
import time

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4, help="sequences of a GPU")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["LlamaDecoderLayer"]
    ) if args.fsdp else None
    accelerator = Accelerator(
        cpu=args.cpu, mixed_precision="no" if args.fp32 else "bf16", fsdp_plugin=plugin, gradient_accumulation_steps=args.accumulate
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=args.vocabulary, hidden_size=args.width, intermediate_size=2 * args.width, num_hidden_layers=args.layers,
        num_attention_heads=max(1, args.width // 64), num_key_value_heads=max(1, args.width // 64),
        max_position_embeddings=args.sequence, use_cache=False,
    ))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 1e-3))
    texts = torch.Generator().manual_seed(accelerator.process_index)
    start = time.perf_counter()
    for step in range(args.steps):
        for _ in range(args.accumulate):
            tokens = torch.randint(args.vocabulary, (args.batch, args.sequence), generator=texts).to(accelerator.device)
            with accelerator.accumulate(model):
                loss = model(input_ids=tokens, labels=tokens).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        mean = accelerator.gather(loss.detach().reshape(1)).mean().item()
        took, start = time.perf_counter() - start, time.perf_counter()
        accelerator.print(f"step {step}: loss {mean:.4f}, {1e3 * took:.1f} ms", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
