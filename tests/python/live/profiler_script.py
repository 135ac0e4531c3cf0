"""Steps under torch.profiler as its tutorial has them: the trace goes to the file of the first argument."""

import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(2048, 1024, device="cuda")


def ready(profiler):
    products = sum(row.self_device_time_total for row in profiler.key_averages() if row.key == "aten::mm")
    print(products, flush=True)
    profiler.export_chrome_trace(sys.argv[1])


with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=1, warmup=1, active=3),
    on_trace_ready=ready,
) as profiler:
    for _ in range(6):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        time.sleep(0.001)
        print("step", time.perf_counter() - begin, flush=True)
        profiler.step()
