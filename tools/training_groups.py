"""Groups of measured training runs that tools/fit_training.py leaves out of a fit."""

from __future__ import annotations

import re

# Families that a forecast has never seen: left out of the fit, then forecast.
FAMILIES = {
    "GB300, dense": lambda r: "gb300" in r["cluster"] and not r["experts"],
    "more than 2,000 GPUs": lambda r: r["chips"] > 2000,
    "vTrain, many nodes": lambda r: r["set"] == "vtrain-multi",
    "vTrain, one node": lambda r: r["set"] == "vtrain-single",
    "BLOOM": lambda r: r["set"] == "bloom",
    "experts": lambda r: r["experts"],
}

# Sets that were collected after the model stood, and entered the fit last: left out as a whole, too.
LATER = ("automodel", "dgxc", "primus")

GENERATIONS = {
    "ampere": "a100", "hopper": "h[12]00", "blackwell": "b200", "blackwell-ultra": "b300", "cdna": "mi3",
}  # fmt: skip
# Years of software that runs do not tell, by profile.
ERAS = {"megatron-2021": 2021, "deepspeed-2021": 2021, "megatron-deepspeed": 2022, "deepspeed-2022": 2022, "fsdp": 2023}


def generation(run: dict) -> str:
    chip = run["cluster"].split(" x ")[-1]
    return next((name for name, chips in GENERATIONS.items() if re.search(chips, chip)), "other")


def year(run: dict) -> str:
    return str(run["month"] // 100 or ERAS.get(run["software"], "not told"))


# What runs share that a forecast is asked for without: each in turn is left out of the fit.
SHARED = {
    "source": lambda r: r["set"],
    "chip generation": generation,
    "model family": lambda r: re.match("[a-z]*", r["model"].lower()).group() or "not told",
    "year of the software": year,
}
