"""Run by test_values.py: a small model, trained on the devices that are named. Prints what it learnt on each as JSON."""

import json
import sys

import torch
import torch.nn.functional as F
from torch import nn

OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
}


def train(device, make_optimizer):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(50, 32), nn.Flatten(), nn.Linear(32 * 8, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 50)
    ).to(device)
    x = torch.randint(0, 50, (64, 8))
    y = x.sum(1) % 50
    x, y = x.to(device), y.to(device)
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for _ in range(30):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    accuracy = (model(x).argmax(1) == y).float().mean().item()
    return {"losses": losses, "norms": norms, "accuracy": [accuracy]}


learnt = {device: {name: train(device, make) for name, make in OPTIMIZERS.items()} for device in sys.argv[1:]}
json.dump(learnt, sys.stdout)
