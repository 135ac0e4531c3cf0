#!/usr/bin/env python3
"""Trains an encoder of eight layers with FSDP2, for as many steps as its first argument says: plain PyTorch, run by
tools/live_targets.py to see what a live run costs the machine it runs on."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

LAYERS, WIDTH, HEADS, BATCH, SEQUENCE = 8, 1024, 16, 8, 512

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
with torch.device("cuda"):
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, batch_first=True), LAYERS)
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(int(sys.argv[1])):
    batch = torch.randn(BATCH, SEQUENCE, WIDTH, device="cuda")
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        print(f"step {step} is done", flush=True)
dist.destroy_process_group()
