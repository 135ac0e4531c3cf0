import re
from pathlib import Path

import flopcast

ROOT = Path(__file__).resolve().parents[2]


def test_version_is_the_one_of_the_build():
    text = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(flopcast VERSION ([0-9.]+)", text).group(1)
    assert flopcast.__version__ == version
