#!/usr/bin/env python3
"""Records traces that Flopcast reads: one file per rank, into one folder.

Copy `recorder` into a training script, and add two lines to its loop:

    with recorder("traces") as profiler:
        for batch in loader:
            train_step(batch)
            profiler.step()

Start the script as always (torchrun, srun, python3); then

    flopcast replay traces

Run by itself, this file trains a toy model for a few steps: `python3 record_trace.py traces`, or
`torchrun --nproc_per_node 8 record_trace.py traces`.
"""

import inspect
import os
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def recorder(directory, skip=2, warmup=2, steps=3):
    """A profiler that leaves rank<N>.json.gz in `directory`, after `skip` + `warmup` + `steps` steps.

    Every rank must record the same steps: collectives wait for all of them.
    """
    rank = int(os.environ.get("RANK", "0"))
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)

    def save(profiler):
        profiler.export_chrome_trace(str(directory / f"rank{rank}.json.gz"))

    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    return profile(
        activities=activities,
        schedule=schedule(skip_first=skip, wait=0, warmup=warmup, active=steps, repeat=1),
        on_trace_ready=save,
        record_shapes=True,
        **optional_arguments(directory, rank),
    )


def optional_arguments(directory, rank):
    """What newer PyTorch versions can record besides."""
    known = inspect.signature(profile.__init__).parameters
    more = {}
    if "execution_trace_observer" in known:
        # Arguments of every operator, beside the times.
        observer = torch.profiler.ExecutionTraceObserver()
        more["execution_trace_observer"] = observer.register_callback(
            str(directory / f"execution_rank{rank}.json")
        )
    try:
        from torch._C._profiler import _ExperimentalConfig

        # Which event each cudaStreamWaitEvent waits for.
        more["experimental_config"] = _ExperimentalConfig(enable_cuda_sync_events=True)
    except (ImportError, TypeError):
        pass
    return more


def toy_training(directory):
    """A few steps of a small model, data parallel if started by torchrun."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    device = "cpu"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        device = "cuda"
    if world > 1:
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).to(device)
    if world > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    with recorder(directory) as profiler:
        for _ in range(8):
            optimizer.zero_grad()
            loss = model(torch.randn(64, 256, device=device)).square().mean()
            loss.backward()
            optimizer.step()
            loss.item()
            profiler.step()
    if world > 1:
        torch.distributed.destroy_process_group()
    if rank == 0:
        print(f"traces are in {directory}: flopcast replay {directory}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    toy_training(sys.argv[1])
