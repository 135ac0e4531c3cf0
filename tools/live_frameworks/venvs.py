"""Virtual environments of frameworks: PyPI's releases beside the PyTorch of .torch, without NVIDIA's libraries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# What torch asks for and live runs bring stand-ins of.
OF_NVIDIA = re.compile(r"^Requires-Dist: ((?:nvidia|cuda)-[\w-]+)(?:\[([\w,]+)\])?\s*([^;]*)", re.MULTILINE)
VERSION = re.compile(r"[=>]=\s*([\d.]+)")


def site_packages(python: Path) -> Path:
    (folder,) = python.parents[1].glob("lib/python3*/site-packages")
    return folder


def empty_distributions(torch: Path, folder: Path) -> None:
    """Distributions with a name, a version and nothing else, so that pip does not fetch 2.5 GB of NVIDIA's."""
    (metadata,) = torch.glob("torch-*.dist-info/METADATA")
    for name, extras, versions in OF_NVIDIA.findall(metadata.read_text()):
        version = VERSION.search(versions)
        if not version:
            sys.exit(f"{metadata}: {name}: no version in '{versions}'")
        distribution = folder / f"{name.replace('-', '_')}-{version[1]}.dist-info"
        distribution.mkdir(parents=True, exist_ok=True)
        told = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version[1]}\n", *(f"Provides-Extra: {e}\n" for e in extras.split(",") if e)]
        (distribution / "METADATA").write_text("".join(told))
        (distribution / "RECORD").write_text("")
        (distribution / "INSTALLER").write_text("flopcast\n")


def install(python: Path, *words: str, **environment: str) -> None:
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, *words], check=True, env={**os.environ, **environment})


def compile_sources(python: Path, sources: list[str]) -> None:
    """What is compiled against PyTorch and CUDA, by the headers and the compiler of NVIDIA's packages."""
    environment = {"CUDA_HOME": str(site_packages(python) / "nvidia/cu13"), "NVTE_BUILD_USE_NVIDIA_WHEELS": "1"}
    path = f"{python.parent.absolute()}:{os.environ['PATH']}"
    install(python, "--no-build-isolation", *sources, PATH=path, **environment)


def make(folder: Path, name: str, packages: list[str], base: Path, torch: str = "", sources: Sequence[str] = ()) -> Path:
    """The Python of folder/name, with these packages; what is there already stays. base: the Python whose torch is used, unless
    the framework needs one of another version. sources: what is compiled against the packages, with NVIDIA's as they are."""
    venv = folder / name
    python, stamp = venv / "bin/python", venv / ".packages"
    wanted = "\n".join([f"torch=={torch}"] * bool(torch) + packages + list(sources)) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"{name}: installing {' '.join([*packages, *sources])} into {venv}", file=sys.stderr)
    subprocess.run([base, "-m", "venv", "--clear", venv], check=True)
    if sources:
        install(python, *packages)
        compile_sources(python, list(sources))
        stamp.write_text(wanted)
        return python
    if torch:
        install(python, "--no-deps", f"torch=={torch}")
    source = site_packages(python if torch else base)
    nvidia = (folder / f"nvidia-{version(python if torch else base, 'torch')}").resolve()
    empty_distributions(source, nvidia)
    # Behind the venv's own: a framework that pins an older NumPy gets it.
    (site_packages(python) / "zz_torch.pth").write_text(f"{nvidia}\n" + ("" if torch else f"{source.resolve()}\n"))
    install(python, *packages)
    stamp.write_text(wanted)
    return python


def version(python: Path, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
