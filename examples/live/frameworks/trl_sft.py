"""Supervised fine-tuning of a small Llama by TRL's SFTTrainer, of all weights or of adapters (LoRA, by PEFT).

    accelerate launch --num_processes 2 trl_sft.py                           on GPUs
    flopcast run --on dgx-h100 --ranks 2 trl_sft.py                          on none
    flopcast run --on dgx-h100 --ranks 2 trl_sft.py --lora
"""

import argparse
import random
import tempfile

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

WORDS = [f"w{i}" for i in range(500)]


def tokenizer_of_words():
    """A word is a token: nothing has to be fetched."""
    numbers = {word: i for i, word in enumerate(["<unk>", "<s>", "</s>", "<pad>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lora", action="store_true")
    parser.add_argument("--packing", action="store_true")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4, help="sequences of a GPU")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    tokenizer = tokenizer_of_words()
    chance = random.Random(0)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(args.sequence // 4, args.sequence))) for _ in range(512)]
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=args.width, intermediate_size=2 * args.width, num_hidden_layers=args.layers,
        num_attention_heads=max(1, args.width // 64), num_key_value_heads=max(1, args.width // 64),
        max_position_embeddings=args.sequence,
    ))
    with tempfile.TemporaryDirectory() as folder:
        settings = SFTConfig(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=args.batch, max_length=args.sequence,
            packing=args.packing, logging_steps=1, bf16=not args.fp32, report_to="none", save_strategy="no", use_cpu=args.cpu,
        )
        adapters = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM") if args.lora else None
        trainer = SFTTrainer(
            model=model, args=settings, train_dataset=Dataset.from_dict({"text": texts}), processing_class=tokenizer,
            peft_config=adapters,
        )
        trainer.train()


if __name__ == "__main__":
    main()
