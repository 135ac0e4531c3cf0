"""A transformer trained by Lightning's Trainer, which starts its ranks itself.

    python3 lightning_fit.py --devices 4                                     on GPUs
    flopcast run --on dgx-h100 -- python3 lightning_fit.py --devices 4       on none
    flopcast run --on dgx-h100 -- python3 lightning_fit.py --devices 4 --strategy fsdp
"""

import argparse
import time

import lightning
import torch
from torch import nn


class Model(lightning.LightningModule):
    def __init__(self, width, layers, classes=10):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, max(1, width // 64), 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.head(self.body(x).mean(1)), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


class Steps(lightning.Callback):
    """Prints each step's loss and time."""

    def on_train_batch_start(self, trainer, *_):
        self.start = time.perf_counter()

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        loss = outputs["loss"].item()
        if trainer.is_global_zero:
            print(f"step {index}: loss {loss:.4f}, {1e3 * (time.perf_counter() - self.start):.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--batch", type=int, default=8, help="sequences of a GPU")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    count = args.batch * args.devices * args.steps
    rows = torch.utils.data.TensorDataset(torch.randn(count, args.tokens, args.width), torch.randint(10, (count,)))
    trainer = lightning.Trainer(
        accelerator="cpu" if args.cpu else "gpu", devices=args.devices, strategy=args.strategy, precision=args.precision,
        max_steps=args.steps, logger=False, enable_checkpointing=False, enable_progress_bar=False, callbacks=[Steps()],
    )
    trainer.fit(Model(args.width, args.layers), torch.utils.data.DataLoader(rows, batch_size=args.batch))


if __name__ == "__main__":
    main()
