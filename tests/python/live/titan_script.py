"""torchtitan's trainer by examples/live/frameworks/titan.py. `datasets` and tensorboard, which
torchtitan imports and requirements-launchers.txt leaves out, are made up where they are missing: lines of text, no logs."""

import importlib.util
import json
import runpy
import sys
import types
from pathlib import Path

TITAN = Path(__file__).resolve().parents[3] / "examples/live/frameworks/titan.py"


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members, __path__=[])


if importlib.util.find_spec("datasets") is None:
    module(
        "datasets",
        Dataset=type("Dataset", (), {}),
        load_dataset=lambda path, split: [json.loads(line) for line in (Path(path) / "data.json").read_text().splitlines()],
    )
    module("datasets.distributed", split_dataset_by_node=lambda rows, rank, world_size: rows[rank::world_size])
if importlib.util.find_spec("tensorboard") is None:
    module("torch.utils.tensorboard", SummaryWriter=None)

if __name__ == "__main__":
    runpy.run_path(str(TITAN), run_name="__main__")
