"""Layers trained by DeepSpeed's pipeline engine, beside data parallelism where there are more GPUs than stages.

    deepspeed --num_gpus 4 deepspeed_pipeline.py --stages 2                  on GPUs
    flopcast run --on dgx-h100 --ranks 4 deepspeed_pipeline.py --stages 2    on none
"""

import argparse
import time

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.body(x)


class Rows(torch.utils.data.Dataset):
    def __init__(self, width):
        self.width = width

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        chance = torch.Generator().manual_seed(index)
        return torch.randn(self.width, generator=chance), torch.randint(10, (), generator=chance)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8, help="rows of a micro-batch")
    parser.add_argument("--accumulate", type=int, default=4, help="micro-batches of a step")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--local_rank", type=int, default=-1, help="told by DeepSpeed's launcher")
    args = parser.parse_args()

    deepspeed.init_distributed()
    torch.manual_seed(0)
    layers = [LayerSpec(Block, args.width) for _ in range(args.layers)] + [LayerSpec(nn.Linear, args.width, 10)]
    model = PipelineModule(layers, num_stages=args.stages, loss_fn=nn.CrossEntropyLoss(), partition_method="uniform", seed_layers=True)
    optimizer = {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}
    config = {"train_micro_batch_size_per_gpu": args.batch, "gradient_accumulation_steps": args.accumulate,
              "steps_per_print": 1, "optimizer": optimizer}  # fmt: skip
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=[p for p in model.parameters() if p.requires_grad], config=config,
        training_data=Rows(args.width),
    )
    start = time.perf_counter()
    for step in range(args.steps):
        value = engine.train_batch().item()
        took, start = time.perf_counter() - start, time.perf_counter()
        if engine.global_rank == 0:
            print(f"step {step}: loss {value:.4f}, {1e3 * took:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
