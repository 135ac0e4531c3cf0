"""Llama 2 7B trained by DeepSpeed's ZeRO 3: parameters, gradients and states of bf16 training split over all GPUs.

    deepspeed deepspeed_llama.py                                          on GPUs
    flopcast run --on "8 x dgx-h100" --fold auto deepspeed_llama.py       on none
"""

import argparse
import sys
import time
from pathlib import Path

import deepspeed
import torch
import torch.nn.functional as F

sys.path.append(str(Path(__file__).resolve().parents[1]))
from fsdp2_llama import Llama

# width, heads, heads of keys and values, width of the MLP, words, whether the output shares the embedding
SHAPE = (4096, 32, 32, 11008, 32000, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in {"layers": 32, "batch": 1, "sequence": 4096, "steps": 3, "local_rank": -1}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    args = parser.parse_args()

    config = {
        "train_micro_batch_size_per_gpu": args.batch, "zero_optimization": {"stage": 3}, "bf16": {"enabled": True},
        # Adam of PyTorch: DeepSpeed's own are compiled by nvcc, which is not there.
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}, "gradient_clipping": 1.0,
    }
    deepspeed.init_distributed()
    with deepspeed.zero.Init(config_dict_or_path=config):
        model = Llama(args.layers, *SHAPE)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    tokens = torch.randint(SHAPE[4], (args.batch, args.sequence + 1), device=engine.device)
    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        loss = F.cross_entropy(engine(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if engine.global_rank == 0:
            print(f"step {step}: {1e3 * took:.1f} ms, {args.batch * args.sequence / took:,.0f} tokens/s/GPU", flush=True)
    engine.destroy()


if __name__ == "__main__":
    main()
