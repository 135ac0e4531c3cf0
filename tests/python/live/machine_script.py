"""What a script asks of its machine: NVML by its C interface, as pynvml does, and nvidia-smi."""

import ctypes
import subprocess
import sys
import time

import torch

N = ctypes.CDLL("libnvidia-ml.so.1")
assert N.nvmlInit_v2() == 0
handles = []
for number in range(2):
    handles.append(ctypes.c_void_p())
    assert N.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handles[-1])) == 0


def ask(name, *words, kind=ctypes.c_uint, handle=handles[0]):
    value = kind()
    status = getattr(N, name)(handle, *words, ctypes.byref(value))
    return value.value if status == 0 else f"status {status}"


def smi(*words):
    done = subprocess.run(["nvidia-smi", *words], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def use():
    shares = (ctypes.c_uint * 2)()
    assert N.nvmlDeviceGetUtilizationRates(handles[0], shares) == 0
    energy = ask("nvmlDeviceGetTotalEnergyConsumption", kind=ctypes.c_ulonglong)
    return shares[0], ask("nvmlDeviceGetPowerUsage"), ask("nvmlDeviceGetTemperature", 0), energy


numbers = torch.empty(256 << 20, dtype=torch.uint8, device="cuda:1")
torch.cuda.synchronize()
begin = time.perf_counter()
torch.cuda._sleep(1_980_000_000)
torch.cuda.synchronize()
print("slept", round(time.perf_counter() - begin, 3))
print("busy", *use())
time.sleep(0.5)
print("half", *use())
print("smi", smi("--query-gpu=utilization.gpu,power.draw,memory.used", "--format=csv,noheader,nounits", "-i", "0,1"))
time.sleep(1)
print("idle", *use())
memory = (ctypes.c_ulonglong * 3)()
N.nvmlDeviceGetMemoryInfo(handles[1], memory)
print("used", memory[2] >> 20)
print("clock", ask("nvmlDeviceGetClockInfo", 1), ask("nvmlDeviceGetClockInfo", 2))
print("cores", ask("nvmlDeviceGetNumGpuCores"))
print("links", [ask("nvmlDeviceGetNvLinkState", link) for link in (0, 17, 18)], ask("nvmlDeviceGetNvLinkVersion", 0))
print("ancestor", ask("nvmlDeviceGetTopologyCommonAncestor", handles[1]))
print("p2p", [ask("nvmlDeviceGetP2PStatus", handles[1], kind_of) for kind_of in (0, 2)])
print("fan", ask("nvmlDeviceGetFanSpeed"), "serial", ask("nvmlDeviceGetSerial", kind=ctypes.c_uint))
print("limit", ask("nvmlDeviceGetEnforcedPowerLimit"), ask("nvmlDeviceGetMigMode", ctypes.byref(ctypes.c_uint())))
print("list", smi("-L")[1].splitlines()[1])
print("apps", smi("--query-compute-apps=used_memory", "--format=csv"))
print("topology", smi("topo", "-m")[1].splitlines()[1])
print("table", "NVIDIA H100 80GB HBM3" in smi()[1], max(map(len, smi()[1].splitlines())))
print("unknown field", smi("--query-gpu=colour", "--format=csv"))
print("unknown word", smi("--gpu-reset"))
sys.stdout.flush()
