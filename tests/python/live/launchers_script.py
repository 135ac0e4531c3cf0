"""Has launchers check launch lines: torchtitan by its own reader, dimensions and parallelize functions, Megatron-core by
its configurations. Argument: a JSON list of {launcher, layers, world, sequence, command, environment, files}; prints as long
a list of what each says: null, or the error."""

import dataclasses
import json
import os
import shlex
import sys
import tempfile
import types
from pathlib import Path


def torchtitan_says(line):
    """Reads the file and does what torchtitan does before it moves weights; the stages it would make."""
    stub_logs_and_data()
    import torchtitan  # noqa: F401
    from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class
    from torchtitan.config import ConfigManager
    from torchtitan.distributed import ParallelDims

    (file,) = line["files"]
    path = Path(tempfile.mkdtemp()) / file["name"]
    path.write_text(file["text"])
    config = ConfigManager().parse_args(["--job.config_file", str(path)])
    p = config.parallelism
    dims = ParallelDims(
        dp_shard=p.data_parallel_shard_degree,
        dp_replicate=p.data_parallel_replicate_degree,
        cp=p.context_parallel_degree,
        tp=p.tensor_parallel_degree,
        pp=p.pipeline_parallel_degree,
        ep=p.expert_parallel_degree,
        etp=p.expert_tensor_parallel_degree,
        world_size=line["world"],
    )
    replicas = dims.dp_replicate * dims.dp_shard
    assert config.training.global_batch_size % (config.training.local_batch_size * replicas) == 0
    parallelize(dims, config)
    if dims.pp == 1:
        return
    schedule = get_schedule_class(p.pipeline_parallel_schedule)
    each = 1 if issubclass(schedule, PipelineScheduleSingle) else 2
    if config.compile.enable and p.pipeline_parallel_schedule in ("ZBVZeroBubble", "DualPipeV"):
        raise ValueError("split backward passes of compiled layers")
    from torchtitan.distributed.pipeline_parallel import generate_llm_fqn_per_model_part

    parts = generate_llm_fqn_per_model_part(
        dims.pp * each,
        line["layers"],
        p.pipeline_parallel_first_stage_less_layers,
        p.pipeline_parallel_last_stage_less_layers,
    )
    stages = [sum(name.startswith("layers.") for name in part) for part in parts]
    assert stages == line["stages"], f"torchtitan makes stages of {stages} layers, not {line['stages']}"
    assert config.training.local_batch_size % p.pipeline_parallel_microbatch_size == 0


def stub_logs_and_data():
    """What torchtitan imports for its logs and its data sets, and these checks do not use."""
    for name in ("torch.utils.tensorboard", "datasets", "datasets.distributed"):
        module = types.ModuleType(name)
        module.__path__ = []
        module.__getattr__ = stand_in
        sys.modules.setdefault(name, module)


def stand_in(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})


def parallelize(dims, config):
    """torchtitan's own function for Llama 3, with all that moves weights taken out of it."""
    import torchtitan

    folder = Path(torchtitan.__file__).parent / "models/llama3"
    for name in ("torchtitan.models.llama3",):  # whose own __init__ wants data sets
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [str(folder)]
    from torchtitan.models.llama3.infra import parallelize as own

    for moves in ("apply_tp", "apply_fsdp", "apply_ddp", "apply_ac", "apply_compile", "apply_cp_to_attention_module"):
        setattr(own, moves, lambda *args, **kwargs: None)
    sizes = {"dp_replicate": dims.dp_replicate}
    mesh = types.SimpleNamespace
    dims.get_mesh = lambda names: mesh(size=lambda: sizes.get(names, 1))
    layer = types.SimpleNamespace(attention=types.SimpleNamespace(inner_attention=None))
    model = types.SimpleNamespace(model_args=types.SimpleNamespace(), layers={"0": layer})
    own.parallelize_llama(model, dims, config)


# Flags whose field has another name; None: no field of these configurations.
RENAMED = {
    "num_experts": "num_moe_experts",
    "swiglu": "gated_linear_unit",
    "group_query_attention": None,
    "untie_embeddings_and_output_weights": None,
    "disable_bias_linear": ("add_bias_linear", False),
    "num_virtual_stages_per_pipeline_rank": "virtual_pipeline_model_parallel_size",
    "no_overlap_p2p_communication": ("overlap_p2p_comm", False),
    "overlap_moe_expert_parallel_comm": "overlap_moe_expert_parallel_comm",
}


def megatron_says(line):
    """Its configurations, made of the flags; its environment as validate_args asks for it."""
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

    flags = flags_of(line["command"])
    kind = MLATransformerConfig if "multi_latent_attention" in flags else TransformerConfig
    import torch

    values = {"pipeline_dtype": torch.bfloat16, "params_dtype": torch.bfloat16}
    for name, words in flags.items():
        field = RENAMED.get(name, name)
        if isinstance(field, tuple):
            values[field[0]] = field[1]
        elif field in {one.name for one in dataclasses.fields(kind)}:
            values[field] = number_of(words)
    if "swiglu" in flags:
        import torch.nn.functional as functional

        values["activation_func"] = functional.silu
    kind(**{**values, "hidden_dropout": 0.0, "attention_dropout": 0.0})
    known = {one.name for one in dataclasses.fields(DistributedDataParallelConfig)}
    DistributedDataParallelConfig(**{k: number_of(v) for k, v in flags.items() if k in known})
    megatron_arguments(line, flags)


def megatron_arguments(line, flags):
    """validate_args of a checkout of Megatron-LM, where there is one."""
    checkout = os.environ.get("FLOPCAST_MEGATRON_LM")
    if not checkout:
        return
    sys.path.insert(0, checkout)
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    os.environ.update(pair.split("=", 1) for pair in line["environment"])
    os.environ.update(WORLD_SIZE=str(line["world"]), RANK="0")
    from megatron.training import arguments

    words = shlex.split(line["command"].replace("\\\n", " "))
    sys.argv = words[words.index("pretrain_gpt.py") :]
    arguments.validate_args(arguments.parse_args())


def flags_of(command):
    """Flags behind the program: names with '_', and their words."""
    words = shlex.split(command.replace("\\\n", " "))
    flags, name = {}, None
    for word in words[words.index("pretrain_gpt.py") + 1 :]:
        if word.startswith("--"):
            name = word[2:].replace("-", "_")
            flags[name] = []
        else:
            flags[name].append(word)
    return flags


def number_of(words):
    """The value of a flag as its field has it."""
    if not words:
        return True
    values = [int(w) if w.lstrip("-").isdigit() else float(w) if w.replace(".", "").isdigit() else w for w in words]
    return values[0] if len(values) == 1 else values


CHECKS = {"torchtitan": torchtitan_says, "megatron": megatron_says}


def main():
    said = []
    for line in json.loads(Path(sys.argv[1]).read_text()):
        try:
            CHECKS[line["launcher"]](line)
            said.append(None)
        except (Exception, SystemExit) as error:  # whatever the launcher has to say
            said.append(f"{type(error).__name__}: {error}")
    print("SAID " + json.dumps(said))


main()
