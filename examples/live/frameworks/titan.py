"""torchtitan's own trainer, as its package has it, where there is no network: what its configurations read and the
package leaves out (a tokenizer, text) is made up below tests/assets of the current folder first, where they look.

    flopcast run --on dgx-h100 titan.py in:/tmp/titan --module llama3 --config llama3_debugmodel    (torchtitan 0.3)
    flopcast run --on dgx-h100 titan.py in:/tmp/titan --model.name llama3 --model.flavor debugmodel (before)

Arguments are torchtitan's. What its command line cannot say of a configuration goes before them: set:FIELD=VALUE sets a
field (set:dataloader.dataset=c4_test), model:NAME=VALUE what model_registry is asked for (model:attn_backend=varlen).
in:FOLDER goes there first, so that what torchtitan writes is there, too; train:FILE is the trainer, of a checkout from
before 0.1, when it was outside of the package.
"""

import ast
import base64
import importlib
import itertools
import json
import os
import random
import runpy
import string
import sys
from pathlib import Path

WORDS, TEXTS, WORDS_A_TEXT = 3000, 2000, 400
FIRST, LAST = "<|begin_of_text|>", "<|end_of_text|>"
TOKENS_OF_LLAMA_3 = 128000  # besides its 256 special ones
ASSETS = Path("tests/assets")


def write(path, text):
    """All ranks write the same; none reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def make_assets():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    numbers = random.Random(0)
    words = ["".join(numbers.choices(string.ascii_lowercase, k=numbers.randint(2, 8))) for _ in range(WORDS)]
    texts = [" ".join(numbers.choices(words, k=WORDS_A_TEXT)) for _ in range(TEXTS)]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    tokenizer.add_special_tokens([FIRST, LAST])
    write(ASSETS / "tokenizer/tokenizer.json", tokenizer.to_str())
    settings = {"bos_token": FIRST, "eos_token": LAST, "add_bos_token": True, "add_eos_token": True}
    write(ASSETS / "tokenizer/tokenizer_config.json", json.dumps(settings))
    # tiktoken's format, which torchtitan read until 0.1 and took the model's vocabulary from: as many as Llama 3 has
    bytes_of = itertools.chain.from_iterable(itertools.product(range(256), repeat=size) for size in (1, 2, 3))
    ranks = enumerate(itertools.islice(bytes_of, TOKENS_OF_LLAMA_3))
    write(ASSETS / "tokenizer/tokenizer.model", "".join(f"{base64.b64encode(bytes(token)).decode()} {i}\n" for i, token in ranks))
    write(ASSETS / "c4_test/data.json", "".join(json.dumps({"text": text}) + "\n" for text in texts))


def changed(arguments, settings):
    """The configuration that --config names, with these settings, under a name of its own beside it."""
    module, name = (arguments[arguments.index(flag) + 1] for flag in ("--module", "--config"))
    registry = importlib.import_module(f"torchtitan.models.{module}.config_registry")
    make = getattr(registry, name)

    def make_changed():
        config, model = make(), {}
        for kind, key, value in settings:
            if kind == "model":
                model[key] = value
                continue
            *path, last = key.split(".")
            owner = config
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, last, value)
        if model:
            models = importlib.import_module(f"torchtitan.models.{module}")
            config.model_spec = models.model_registry(config.model_spec.flavor, **model)
        return config

    setattr(registry, f"{name}_changed", make_changed)
    return [f"{name}_changed" if one == name else one for one in arguments]


def value_of(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def main():
    settings, arguments, trainer = [], [], None
    for one in sys.argv[1:]:
        kind, _, rest = one.partition(":")
        if kind == "in":
            Path(rest).mkdir(parents=True, exist_ok=True)
            os.chdir(rest)
        elif kind == "train":
            trainer = Path(rest).absolute()
        elif kind in ("set", "model") and "=" in rest:
            key, _, text = rest.partition("=")
            settings.append((kind, key, value_of(text)))
        else:
            arguments.append(one)
    if not (ASSETS / "c4_test/data.json").exists():
        make_assets()
    sys.argv[1:] = changed(arguments, settings) if settings else arguments
    if trainer:
        sys.path.insert(0, str(trainer.parent))
        runpy.run_path(str(trainer), run_name="__main__")
    else:
        runpy.run_module("torchtitan.train", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
