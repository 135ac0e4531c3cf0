"""ResNet-50 trained with DistributedDataParallel on random images.

    torchrun --nproc-per-node 8 ddp_resnet.py              on GPUs
    flopcast run --on dgx-h100 ddp_resnet.py               on none
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet50(classes=1000):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, 2 if block == 0 and width > 64 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256, help="images of a GPU")
    parser.add_argument("--size", type=int, default=224, help="pixels of a side")
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = resnet50().to(device, memory_format=torch.channels_last)
    model = DistributedDataParallel(model, device_ids=[device.index], gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(args.batch, 3, args.size, args.size, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (args.batch,), device=device)

    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if dist.get_rank() == 0:
            rate = args.batch * dist.get_world_size() / took
            print(f"step {step}: {1e3 * took:.1f} ms, {rate:,.0f} images/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
