"""Diffusers' UNet trained to remove noise from random images.

    python3 diffusers_unet.py                                                on a GPU
    flopcast run --on h100-sxm diffusers_unet.py                             on none
"""

import argparse
import time

import torch
from diffusers import DDPMScheduler, UNet2DModel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=128, help="channels of the first block")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=64, help="pixels of a side")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    device = "cpu" if args.cpu else "cuda"
    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=args.size, block_out_channels=(args.width, 2 * args.width), layers_per_block=2, norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).to(device)
    noise_of = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    pictures = torch.Generator().manual_seed(0)
    start = time.perf_counter()
    for step in range(args.steps):
        images, noise = (torch.randn(args.batch, 3, args.size, args.size, generator=pictures).to(device) for _ in range(2))
        when = torch.randint(1000, (args.batch,), generator=pictures).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=not args.fp32):
            loss = torch.nn.functional.mse_loss(model(noise_of.add_noise(images, noise, when), when).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        took, start = time.perf_counter() - start, time.perf_counter()
        print(f"step {step}: loss {value:.4f}, {1e3 * took:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
