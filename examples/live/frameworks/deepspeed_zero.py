"""Residual layers trained by DeepSpeed's engine: ZeRO 1, 2 or 3, states on the GPU or on the host.

    deepspeed --num_gpus 4 deepspeed_zero.py --stage 3                       on GPUs
    flopcast run --on dgx-h100 --ranks 4 deepspeed_zero.py --stage 3         on none
    flopcast run --on dgx-h100 -- deepspeed --num_gpus 4 deepspeed_zero.py   by DeepSpeed's own launcher
"""

import argparse
import time

import deepspeed
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.body(x)


def config(args):
    zero = {"stage": args.stage}
    if args.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    # Adam of PyTorch: DeepSpeed's own are compiled by nvcc, which is not there.
    optimizer = {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}
    return {
        "train_micro_batch_size_per_gpu": args.batch, "gradient_accumulation_steps": args.accumulate, "steps_per_print": 1,
        "optimizer": optimizer, "zero_optimization": zero, "bf16": {"enabled": not args.fp32}, "gradient_clipping": 1.0,
        "wall_clock_breakdown": args.breakdown,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", type=int, default=2)
    parser.add_argument("--offload", action="store_true", help="Adam's states on the host")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16, help="rows of a GPU")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--breakdown", action="store_true", help="DeepSpeed's timers")
    parser.add_argument("--local_rank", type=int, default=-1, help="told by DeepSpeed's launcher")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(*[Block(args.width) for _ in range(args.layers)], nn.Linear(args.width, 10))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config(args))
    rows = torch.Generator().manual_seed(engine.global_rank)
    start = time.perf_counter()
    for step in range(args.steps):
        for _ in range(args.accumulate):
            x = torch.randn(args.batch, args.width, generator=rows).to(engine.device, next(engine.parameters()).dtype)
            y = torch.randint(10, (args.batch,), generator=rows).to(engine.device)
            loss = nn.functional.cross_entropy(engine(x).float(), y)
            engine.backward(loss)
            engine.step()
        value = loss.item()
        took, start = time.perf_counter() - start, time.perf_counter()
        if engine.global_rank == 0:
            print(f"step {step}: loss {value:.4f}, {1e3 * took:.1f} ms", flush=True)
    engine.destroy()


if __name__ == "__main__":
    main()
