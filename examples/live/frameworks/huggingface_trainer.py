"""A small Llama trained by Transformers' Trainer: DDP, FSDP2 or DeepSpeed.

    torchrun --nproc-per-node 4 huggingface_trainer.py                       on GPUs
    flopcast run --on dgx-h100 --ranks 4 huggingface_trainer.py              on none
    flopcast run --on dgx-h100 --ranks 4 huggingface_trainer.py --fsdp
    flopcast run --on dgx-h100 --ranks 4 huggingface_trainer.py --zero 2
"""

import argparse
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __init__(self, vocabulary, length):
        self.vocabulary, self.length = vocabulary, length

    def __len__(self):
        return 1024

    def __getitem__(self, index):
        tokens = torch.randint(self.vocabulary, (self.length,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def strategy(args):
    if args.fsdp:
        layers = {"fsdp_version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}
        return {"fsdp": "full_shard auto_wrap", "fsdp_config": layers}
    if args.zero:
        config = {"zero_optimization": {"stage": args.zero}, "bf16": {"enabled": "auto"}, "gradient_clipping": "auto",
                  "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
        return {"deepspeed": config}
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--zero", type=int, default=0, help="stage of DeepSpeed")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4, help="sequences of a GPU")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=args.vocabulary, hidden_size=args.width, intermediate_size=2 * args.width, num_hidden_layers=args.layers,
        num_attention_heads=max(1, args.width // 64), num_key_value_heads=max(1, args.width // 64),
        max_position_embeddings=args.sequence, use_cache=False,
    ))
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=args.batch, logging_steps=1,
            gradient_accumulation_steps=args.accumulate, bf16=not args.fp32, report_to="none", save_strategy="no",
            use_cpu=args.cpu, **strategy(args),
        )
        trainer = Trainer(model=model, args=settings, train_dataset=Texts(args.vocabulary, args.sequence))
        trainer.train()


if __name__ == "__main__":
    main()
