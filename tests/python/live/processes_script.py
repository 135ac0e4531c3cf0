"""Tensors that processes hand each other by torch.multiprocessing, there and back: what each sees goes out as JSON."""

import json

import torch
import torch.multiprocessing as mp


def child(inbox, outbox):
    small = inbox.get()
    outbox.put(small.tolist())
    small.add_(10)
    large = inbox.get()
    outbox.put([str(large.device), list(large.shape), large[:3].tolist()])
    outbox.put(torch.arange(5.0, device="cuda"))
    assert inbox.get() == "end"


def main():
    context = mp.get_context("spawn")
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(there, back))
    process.start()
    small = torch.arange(8.0, device="cuda")
    there.put(small)
    seen = {"there": back.get()}
    large = torch.randn(1 << 24, device="cuda")  # nobody computes so much: it is tainted, here and there
    there.put(large)
    seen["large"] = back.get()
    seen["changed"] = small.tolist()
    made = back.get()
    seen["made"] = made.tolist()
    del made
    there.put("end")
    process.join()
    seen["status"] = process.exitcode
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
