"""The script that builds and tests, where nothing is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_bare_machine_is_told_to_set_up(tmp_path: Path) -> None:
    """Without CMake and compilers the first thing said is how to get them."""
    for tool in ("bash", "env", "dirname", "cat", "sed", "grep", "nproc", "uname", "mkdir"):
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / tool).symlink_to(found)
    ran = subprocess.run(
        [str(tmp_path / "bash"), str(ROOT / "dev"), "build", "trace"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode != 0
    assert "cmake" in ran.stderr
    assert "./dev setup" in ran.stderr
