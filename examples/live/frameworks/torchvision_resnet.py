"""torchvision's ResNet-50 with DistributedDataParallel, mixed precision, a gradient scaler and channels last.

    torchrun --nproc-per-node 8 torchvision_resnet.py                        on GPUs
    flopcast run --on dgx-h100 torchvision_resnet.py                         on none
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=256, help="images of a GPU")
    parser.add_argument("--size", type=int, default=224, help="pixels of a side")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    dist.init_process_group("gloo" if args.cpu else "nccl")
    device = torch.device("cpu") if args.cpu else torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.get_model(args.model, num_classes=args.classes).to(device, memory_format=torch.channels_last)
    model = DistributedDataParallel(model, device_ids=None if args.cpu else [device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(device.type, enabled=not args.fp32)
    pictures = torch.Generator().manual_seed(dist.get_rank())
    images = torch.randn(args.batch, 3, args.size, args.size, generator=pictures).to(device, memory_format=torch.channels_last)
    labels = torch.randint(args.classes, (args.batch,), generator=pictures).to(device)
    start = time.perf_counter()
    for step in range(args.steps):
        with torch.autocast(device.type, dtype=torch.float16, enabled=not args.fp32):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        value = loss.item()
        took, start = time.perf_counter() - start, time.perf_counter()
        if dist.get_rank() == 0:
            rate = args.batch * dist.get_world_size() / took
            print(f"step {step}: loss {value:.4f}, {1e3 * took:.1f} ms, {rate:,.0f} images/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
