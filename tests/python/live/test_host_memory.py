"""Tensors of a device whose bytes lie in pinned memory of the host, as vLLM hands numbers to its kernels."""

import json

SCRIPT = """
import json, torch
class View:
    def __init__(self, host):
        self.__cuda_array_interface__ = dict(
            shape=tuple(host.shape), typestr="<i4", data=(host.data_ptr(), False), version=2)
host = torch.zeros(8, dtype=torch.int32, pin_memory=True)
seen = torch.as_tensor(View(host), device="cuda")
assert seen.is_cuda and seen.data_ptr() == host.data_ptr()
told = {"fresh": seen.tolist()}
host[:] = torch.arange(8)
told["written"] = seen.tolist()
told["cloned"] = seen.clone().tolist()
told["chosen"] = seen[torch.tensor([3, 5], device="cuda")].tolist()
seen += 1
told["added"] = host.tolist()
print(json.dumps(told))
"""


def test_what_the_host_writes_to_pinned_memory_is_what_a_device_reads(live, tmp_path):
    script = tmp_path / "view.py"
    script.write_text(SCRIPT)
    done = live.run("--json", tmp_path / "run.json", script)
    told = json.loads(done.stdout)
    assert told["fresh"] == [0] * 8
    assert told["written"] == told["cloned"] == list(range(8))
    assert told["chosen"] == [3, 5]
    assert told["added"] == list(range(1, 9))
    assert json.loads((tmp_path / "run.json").read_text())["tainted_reads"] == 0
