#!/usr/bin/env python3
"""Counts of the models that Hugging Face's transformers builds of the defaults of its configs, beside Flopcast's.

Every family with a class for causal language models, and every encoder with a decoder, is built on PyTorch's "meta"
device: shapes without numbers. Wanted are transformers and torch (any build that imports; nothing is computed).

    tools/transformers_counts.py count [--to FILE]  writes tests/data/model_families.json: for each family the fields of
                                                    its default config that Flopcast reads, and its exact count
    tools/transformers_counts.py variants PROGRAM   builds every decoder with one field changed, switches turned and
                                                    sizes halved, and lists what PROGRAM counts otherwise
    tools/transformers_counts.py table PROGRAM      writes docs/reference/models.md from that file, with what PROGRAM
                                                    (build/release/flopcast) says of each; --check compares instead
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/data/model_families.json"
PAGE = ROOT / "docs/reference/models.md"

# Models that transformers builds otherwise than their makers do: told, and not counted as exact.
OTHERWISE = {
    "longcat_flash": "transformers 5 builds the first product of experts that do nothing, too: 741 B for 560 B",
}


# Of fields that are read: what says nothing of a model's layers.
SAY_NOTHING = {
    "_name_or_path",
    "architectures",
    "auto_map",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "initializer_range",
    "pad_token_id",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "torch_dtype",
    "transformers_version",
    "use_cache",
}


def fields_read() -> set[str]:
    """Every name of a field that stands in the readers of configs."""
    names: set[str] = set()
    for source in (ROOT / "src/workload/model").glob("*.*"):
        if source.is_file() and not re.search(r"_(test|fuzz)$", source.stem):
            names.update(re.findall(r'"([A-Za-z_][A-Za-z0-9_]*)"', source.read_text()))
    return names - SAY_NOTHING


def small(config: dict, names: set[str]) -> dict:
    """The fields that are read, without those that say nothing."""
    kept = {}
    for key, value in config.items():
        if key not in names or value is None:
            continue
        if isinstance(value, dict):
            value = value if key == "per_layer_config" else small(value, names)
            if not value:
                continue
        kept[key] = value
    return kept


def router_biases(model) -> int:
    """Values that checkpoints keep and training moves, though they are no parameters to PyTorch."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    kept = set(model.state_dict())
    return sum(
        buffer.numel()
        for name, buffer in model.named_buffers()
        if name in kept - parameters and re.search(r"(correction_bias|expert_bias|balancing_biases)$", name)
    )


def kind_of(config, type_name: str, masked: set[str]) -> str:
    if getattr(config, "is_encoder_decoder", False):
        return "encoder and decoder"
    if type_name in masked:
        return "encoder"
    parts = [key for key, value in vars(config).items() if key.endswith("config") and hasattr(value, "to_dict")]
    return "several models" if parts else "decoder"


def counted(type_name: str, class_name: str, masked: set[str], changed: dict | None = None) -> dict:
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[type_name](**(changed or {}))
    entry = {"kind": kind_of(config, type_name, masked), "class": class_name}
    entry["config"] = config.to_dict()
    with torch.device("meta"):
        model = getattr(transformers, class_name)._from_config(config)
    entry["parameters"] = sum(p.numel() for p in model.parameters()) + router_biases(model)
    return entry


# Sizes that variants halve.
HALVED = {
    "first_k_dense_replace", "intermediate_size", "kv_lora_rank", "linear_conv_kernel_dim", "mamba_d_conv",
    "mamba_d_state", "moe_intermediate_size", "n_routed_experts", "n_shared_experts", "num_experts",
    "num_experts_per_tok", "num_hidden_layers", "num_key_value_heads", "num_local_experts", "num_shared_experts",
    "q_lora_rank", "shared_expert_intermediate_size", "shared_intermediate_size", "sliding_window", "v_head_dim",
    "vocab_size",
}  # fmt: skip
# transformers ties no tables of these, whatever the config says.
NEVER_TIED = {"bailing_hybrid", "kimi_linear", "nemotron_h"}


def changes(config: dict, names: set[str]) -> list[dict]:
    switched = [{key: not value} for key, value in config.items() if key in names and isinstance(value, bool)]
    sizes = {key: value for key, value in config.items() if key in HALVED and isinstance(value, int) and value > 1}
    return switched + [{key: value // 2} for key, value in sizes.items()]


def variants(program: str) -> int:
    """How many variants are counted otherwise; refused ones are not."""
    names, wrong = fields_read(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, family in json.loads(DATA.read_text())["families"].items():
            if family["kind"] != "decoder" or name in OTHERWISE:
                continue
            for change in changes(family["config"], names):
                try:
                    entry = counted(name, family["class"], set(), change)
                except Exception:  # noqa: BLE001, S112: transformers cannot build it
                    continue
                entry["config"] = plain(entry["config"], names)
                verdict, words = asked(program, name, entry, Path(folder))
                tied = "tie_word_embeddings" in change and name in NEVER_TIED
                if verdict == "otherwise" and not tied:
                    wrong += 1
                    print(name, change, words, f"transformers: {entry['parameters']:,}", flush=True)
    return wrong


def plain(config: dict, names: set[str]) -> dict:
    return small(json.loads(json.dumps(config, default=str).replace("Infinity", "null")), names)


def count(to: Path) -> None:
    import transformers
    from transformers.models.auto import modeling_auto as auto

    masked = set(auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    classes = {"whisper": "WhisperForConditionalGeneration"} | dict(auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)
    classes |= {t: c for t, c in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items() if t not in classes}
    names, families, unbuilt = fields_read(), {}, {}
    for type_name, class_name in sorted(classes.items()):
        if type_name in UNSAFE:
            unbuilt[type_name] = UNSAFE[type_name]
            continue
        class_name = class_name if isinstance(class_name, str) else class_name[0]
        try:
            entry = counted(type_name, class_name, masked)
        except Exception as problem:  # noqa: BLE001: transformers raises whatever its models raise
            unbuilt[type_name] = f"{type(problem).__name__}: {problem}".splitlines()[0][:120]
            continue
        if entry["kind"] == "several models":
            continue
        entry["config"] = plain(entry["config"], names)
        families[type_name] = entry
        print(type_name, entry["kind"], entry["parameters"], flush=True)
    for type_name, change in CHOSEN:
        entry = counted(type_name, class_of(type_name, classes), masked, change)
        entry |= {"kind": "chosen", "config": plain(entry["config"], names)}
        families[f"{type_name} ({', '.join(change)})"] = entry
    write_data({"transformers": transformers.__version__, "families": families, "unbuilt": unbuilt}, to)


def class_of(type_name: str, classes: dict) -> str:
    name = classes[type_name]
    return name if isinstance(name, str) else name[0]


# What families may have and their defaults have not, and families that are not built of their defaults alone.
CHOSEN = [
    ("bamba", {"attn_layer_indices": [3, 9]}),
    ("deepseek_v2", {"num_experts_per_tok": 6, "first_k_dense_replace": 1}),
    ("dots1", {"num_key_value_heads": 32, "head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
               "num_experts_per_tok": 6, "first_k_dense_replace": 1}),
    ("exaone4", {"num_key_value_heads": 8}),
    ("falcon_h1", {"mamba_rms_norm": True}),
    ("gemma4_text", {"enable_moe_block": True, "num_experts": 16, "top_k_experts": 4, "moe_intermediate_size": 704,
                     "hidden_size_per_layer_input": 0}),
    ("gemma4_text", {"num_kv_shared_layers": 10, "use_double_wide_mlp": True}),
    ("gemma4_text", {"attention_k_eq_v": True, "num_global_key_value_heads": 2}),
    ("glm_moe_dsa", {"index_topk_freq": 4, "index_skip_topk_offset": 3}),
    ("granitemoehybrid", {"num_local_experts": 0, "num_hidden_layers": 6,
                          "layer_types": ["linear_attention"] * 5 + ["full_attention"]}),
    ("hunyuan_v1_dense", {"head_dim": 128}),
    ("hunyuan_v1_moe", {"head_dim": 128, "num_experts": 8, "moe_topk": 2}),
    ("laguna", {"num_attention_heads_per_layer": [48, 64] * 20}),
    ("lfm2", {"full_attn_idxs": [2, 5, 8]}),
    ("lfm2_moe", {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8}),
    ("minimax_m3_vl_text", {"mlp_layer_types": ["dense"] * 3 + ["sparse"] * 57}),
    ("ministral", {"head_dim": 128}),
    ("nemotron", {"num_key_value_heads": 8}),
    ("nemotron_h", {"moe_latent_size": 1024}),
    ("zamba2", {"num_mem_blocks": 2}),
]  # fmt: skip

# Their kernels are compiled when they are built.
UNSAFE = {"rwkv": "compiles a kernel for a GPU", "xlstm": "compiles a kernel for a GPU"}


def write_data(data: dict, to: Path) -> None:
    """A family in a line: a diff shows which one changed."""
    lines = [f'  {json.dumps(name)}: {json.dumps(entry)}' for name, entry in data["families"].items()]
    text = "{\n" + f'"transformers": {json.dumps(data["transformers"])},\n"families": {{\n' + ",\n".join(lines)
    text += "\n},\n" + f'"unbuilt": {json.dumps(data["unbuilt"], indent=2)}\n' + "}\n"
    to.write_text(text)


def asked(program: str, name: str, entry: dict, folder: Path) -> tuple[str, str]:
    """What Flopcast makes of it: a verdict, and words."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(entry["config"]))
    run = subprocess.run([program, "models", "show", str(path), "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        # "flopcast: error: FILE: what (hint)"
        return "refused", run.stderr.strip().splitlines()[0].split(": ", 3)[-1].split(" (")[0]
    model = json.loads(run.stdout)["models"][0]
    total = model["parameters"]["total"]
    if total != entry["parameters"]:
        return "otherwise", OTHERWISE.get(name, f"{total:,} parameters")
    if model["unpriced"]:
        return "counted", "; ".join(model["unpriced"])
    return "priced", ""


def table(program: str) -> str:
    data = json.loads(DATA.read_text())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        items = list(data["families"].items())
        verdicts = list(pool.map(lambda item: asked(program, *item, Path(folder)), items))
    rows = [(name, entry, *verdict) for (name, entry), verdict in zip(items, verdicts, strict=True)]
    text = HEAD.format(version=data["transformers"])
    for kind, title in TITLES.items():
        of_kind = [row for row in rows if row[1]["kind"] == kind]
        exact = sum(row[2] in ("priced", "counted") for row in of_kind)
        share = 100 * exact / len(of_kind)
        text += f"\n## {title}\n\n{exact} of {len(of_kind)} counts are exact ({share:.1f} %).\n\n"
        text += "| `model_type` | parameters | Flopcast | |\n|---|---|---|---|\n"
        for name, entry, verdict, words in of_kind:
            text += f"| `{name}` | {entry['parameters']:,} | {VERDICTS[verdict]} | {words.replace('|', '/')} |\n"
    text += "\n## Not built\n\nOf these transformers builds no model from the defaults alone.\n\n"
    text += "| `model_type` | why |\n|---|---|\n"
    for name, why in data["unbuilt"].items():
        text += f"| `{name}` | {why.replace('|', '/')} |\n"
    return text


TITLES = {
    "decoder": "Decoders",
    "chosen": "With what their defaults have not",
    "encoder and decoder": "Encoders with a decoder",
    "encoder": "Encoders that have a causal head, too",
}
VERDICTS = {"priced": "exact", "counted": "exact; not priced", "otherwise": "another count", "refused": "refused"}
HEAD = """# Families of models

<!-- Made by tools/transformers_counts.py; tests/python/test_transformers_counts.py holds it to what is built. -->

What Flopcast makes of the default config of every family that Hugging Face's transformers {version} ships: the count of
parameters beside that of the model which transformers builds of it on PyTorch's meta device, with the biases of
routers. *Not priced*: counted to the last parameter, while no cost is known of the part that is named; `estimate`, `plan`
and `serve` refuse such a model by that name. What is refused here is refused with these words. Models that are made of
several (an image encoder and a decoder, say) are read by their language model, whose family stands here.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("count").add_argument("--to", type=Path, default=DATA)
    commands.add_parser("variants").add_argument("program")
    page = commands.add_parser("table")
    page.add_argument("program")
    page.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "count":
        count(arguments.to)
        return 0
    if arguments.command == "variants":
        return 1 if variants(arguments.program) else 0
    text = table(arguments.program)
    if arguments.check:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
