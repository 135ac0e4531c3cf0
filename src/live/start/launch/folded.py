"""In a rank of a folded run (`flopcast run --fold`): what PyTorch's ranks say to each other by other means than NCCL.

Some ranks of such a run stand for others, which are not there (engine/session/folding.h). So a group is made known with
its ranks before its communicator is, stores do not wait for who does not come, and collectives on the CPU take what an
absent rank would have given from the one that stands for it. Loaded by serve.py once torch is."""

import ctypes
import functools
import inspect
import itertools
import os
import pickle
import sys
import types

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d
from torch.distributed import distributed_c10d as c10d

#: Set in the processes of a folded run; "alone" where this rank is there to show what it calls, and nobody else is.
VARIABLE = "FLOPCAST_LIVE_FOLD"

_library = ctypes.CDLL(None)


def array_of(ranks) -> ctypes.Array:
    return (ctypes.c_int32 * len(ranks))(*ranks)


def voices_of(ranks: list) -> list:
    """For each member of a group of these ranks of the run, the member whose bytes are its own."""
    voices = array_of(ranks)
    _library.flopcast_live_voices(voices, len(ranks))
    return list(voices)


def replace(name: str, own, other) -> None:
    """In every module that has imported it."""
    for module in list(sys.modules.values()):
        if vars(module).get(name) is other:
            setattr(module, name, own)


def is_alone() -> bool:
    return os.environ[VARIABLE] == "alone"


# --- groups -------------------------------------------------------------------------------------


class Groups:
    """Tells of every group before it is made."""

    def __init__(self):
        self.name_of, self.new_group = c10d._process_group_name, c10d.new_group
        self.split_group = c10d.split_group
        self.of_parent = None  # ranks of the run of the group that is being split
        self.what = ""  # what the program calls the groups that are being made

    def tell(self, name: str, ranks: list) -> None:
        if is_alone() or int(os.environ["RANK"]) in ranks:
            what = self.what.encode()
            _library.flopcast_live_group(name.encode(), what, array_of(ranks), len(ranks))

    def process_group_name(self, ranks, *arguments, **named):
        name = self.name_of(ranks, *arguments, **named)
        own = list(ranks) or list(range(int(os.environ["WORLD_SIZE"])))
        self.tell(name, [self.of_parent[rank] for rank in own] if self.of_parent else own)
        return name

    def new(self, *arguments, **named):
        self.what = named.get("group_desc") or ""
        try:
            return self.new_group(*arguments, **named)
        finally:
            self.what = ""

    def split(self, parent_pg=None, split_ranks=None, *arguments, **named):
        self.of_parent = dist.get_process_group_ranks(parent_pg)
        self.what = named.get("group_desc") or ""
        if is_alone():
            for part in split_ranks or []:
                self.tell("", [self.of_parent[rank] for rank in part])
        on_cpu = has_cpu_group(parent_pg or dist.group.WORLD)
        if on_cpu and "backend" in inspect.signature(self.split_group).parameters:
            named.setdefault("backend", "cuda:nccl")  # PyTorch splits no group that Python makes
        try:
            group = self.split_group(parent_pg, split_ranks, *arguments, **named)
        finally:
            self.of_parent, self.what = None, ""
        if on_cpu and group is not dist.GroupMember.NON_GROUP_MEMBER and not has_cpu_group(group):
            add_cpu_group(group)
        return group

    def name_communicators(self) -> None:
        """Older releases of PyTorch do not name NCCL's communicators. What names their network is free: it is simulated."""
        kind = _distributed_c10d.ProcessGroupNCCL
        make, named = kind.__init__, set()

        @functools.wraps(make)
        def make_named(own, *arguments, **by_name):
            for options in (*arguments, *by_name.values()):
                if isinstance(options, kind.Options) and options.config.net_name in (None, *named):
                    options.config.net_name = options.group_name
                    named.add(options.group_name)
            make(own, *arguments, **by_name)

        kind.__init__ = make_named

    def watch(self) -> None:
        self.name_communicators()
        c10d._process_group_name = self.process_group_name
        for own, other in ((self.new, self.new_group), (self.split, self.split_group)):
            replace(other.__name__, functools.wraps(other)(functools.partial(own)), other)


def tell_peers() -> None:
    """Whom this rank sends to, or receives from, alone."""

    def told(function, name: str):
        @functools.wraps(function)
        def call(tensor, peer=None, group=None, tag=0, group_peer=None, **named):
            peer = named.pop(name, peer)
            group_peer = named.pop("group_" + name, group_peer)
            of_run = peer
            if peer is None and group_peer is not None:
                of_run = dist.get_global_rank(group or dist.group.WORLD, group_peer)
            if of_run is not None:
                _library.flopcast_live_peer(of_run)
            return function(tensor, peer, group, tag, group_peer)

        return call

    for kind, name in (("send", "dst"), ("recv", "src"), ("isend", "dst"), ("irecv", "src")):
        replace(kind, told(getattr(c10d, kind), name), getattr(c10d, kind))


# --- stores -------------------------------------------------------------------------------------


class PatientStore(_distributed_c10d.TCPStore):
    """Waits for no rank when it is made: not all come."""

    def __init__(self, host_name, port, world_size=None, is_master=False, *arguments, **named):
        named["wait_for_workers"] = False
        arguments = arguments[:1]  # the time-out: what follows is whether it waits
        super().__init__(host_name, port, world_size, is_master, *arguments, **named)


class AloneStore(dist.Store):
    """Of a rank that is alone. What others would have set is there: a name for a communicator."""

    names = itertools.count(1)
    kept = []  # PyTorch, older releases at least, holds the half of a store that C++ sees, and this half would go

    def __init__(self, *_arguments, **_named):
        super().__init__()
        self.kept.append(self)
        self.values = {}

    def set(self, key, value):
        self.values[key] = value if isinstance(value, bytes) else str(value).encode()

    def get(self, key):
        name = f"alone.{os.environ['RANK']}.{next(self.names)}".encode()
        return self.values.setdefault(key, name.ljust(128, b"\0"))

    def add(self, key, value):
        count = int(self.values.get(key, b"0")) + value
        self.values[key] = str(count).encode()
        return count

    def compare_set(self, key, expected, desired):
        expected, desired = (v if isinstance(v, bytes) else v.encode() for v in (expected, desired))
        if self.values.get(key, expected) == expected:
            self.values[key] = desired
        return self.values[key]

    def multi_get(self, keys):
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def append(self, key, value):
        self.values[key] = self.values.get(key, b"") + value

    def check(self, _keys):
        return True

    def wait(self, *_arguments):
        return None

    def delete_key(self, key):
        return self.values.pop(key, None) is not None

    def num_keys(self):
        return len(self.values)

    def clone(self):
        return self


def wait_for_nobody() -> None:
    store = AloneStore if is_alone() else PatientStore
    replace("TCPStore", store, _distributed_c10d.TCPStore)
    c10d._store_based_barrier = lambda *_arguments, **_named: None


# --- collectives on the CPU ---------------------------------------------------------------------


class Done(_distributed_c10d.Work):
    """Of a call that is over when it returns."""

    def wait(self, *_arguments):
        return True

    def is_completed(self):
        return True


#: What reductions do.
REDUCTIONS = (
    (dist.ReduceOp.SUM, lambda parts: parts.sum(0)),
    (dist.ReduceOp.AVG, lambda parts: parts.mean(0)),
    (dist.ReduceOp.PRODUCT, lambda parts: parts.prod(0)),
    (dist.ReduceOp.MIN, lambda parts: parts.amin(0)),
    (dist.ReduceOp.MAX, lambda parts: parts.amax(0)),
)


CPU = torch.device("cpu")


def has_cpu_group(group) -> bool:
    return CPU in group._device_types and isinstance(group._get_backend(CPU), CpuGroup)


def add_cpu_group(group) -> None:
    """To a group of GPUs that was split off one with both."""
    store = dist.PrefixStore("cpu", group.get_group_store())
    own = CpuGroup(store, group.rank(), group.size())
    own.options.global_ranks_in_group = dist.get_process_group_ranks(group)
    name, what = group.group_name, group.group_desc
    group._register_backend(CPU, dist.ProcessGroup.BackendType.GLOO, own)
    group._set_group_name(name)  # of all that it is made of
    group._set_group_desc(what)


class CpuGroup(_distributed_c10d.Backend):
    """In gloo's place: bytes go by the store."""

    options = property(lambda self: self._options)

    def __init__(self, store, rank, size, timeout=None, **_named):
        super().__init__(rank, size)
        self._options = types.SimpleNamespace(global_ranks_in_group=[], group_name="")
        self._store, self._rank, self._size = store, rank, size
        self._calls = 0
        self._pairs = {}
        self._voices = None

    def name(self):
        return "gloo"

    def getBackendName(self):
        return "gloo"

    def voices(self):
        if self._voices is None:
            ranks = list(self._options.global_ranks_in_group)
            self._voices = voices_of(ranks or list(range(self._size)))
        return self._voices

    def exchange(self, own) -> list:
        """What each member gives."""
        self._calls += 1
        store, call = self._store, self._calls
        store.set(f"{call}/{self._rank}", pickle.dumps(own))
        given = {}
        for member in set(self.voices()):
            is_own = member == self._rank
            given[member] = own if is_own else pickle.loads(store.get(f"{call}/{member}"))
        return [given[voice] for voice in self.voices()]

    def reduced(self, tensor, operation):
        reduce = next((function for kind, function in REDUCTIONS if operation == kind), None)
        if reduce is None:
            raise NotImplementedError(f"--fold: {operation} of CPU tensors; run without --fold")
        parts = torch.stack([part.to(tensor.dtype) for part in self.exchange(tensor.clone())])
        return reduce(parts).to(tensor.dtype)

    def allreduce(self, tensors, options):
        for tensor in tensors:
            tensor.copy_(self.reduced(tensor, options.reduceOp))
        return Done()

    def reduce(self, tensors, options):
        result = self.reduced(tensors[0], options.reduceOp)
        if options.rootRank == self._rank:
            tensors[0].copy_(result)
        return Done()

    def broadcast(self, tensors, options):
        for tensor in tensors:
            tensor.copy_(self.exchange(tensor.clone())[options.rootRank])
        return Done()

    def allgather(self, outputs, inputs, _options):
        for parts, own in zip(outputs, inputs, strict=True):
            for part, given in zip(parts, self.exchange(own.clone()), strict=True):
                part.copy_(given)
        return Done()

    def all_gather_single(self, output, own, options):
        return self.allgather([list(output.chunk(self._size))], [own], options)

    _allgather_base = all_gather_single

    def gather(self, outputs, inputs, options):
        given = self.exchange(inputs[0].clone())
        if options.rootRank == self._rank:
            for part, one in zip(outputs[0], given, strict=True):
                part.copy_(one)
        return Done()

    def scatter(self, outputs, inputs, options):
        is_root = options.rootRank == self._rank
        given = self.exchange([part.clone() for part in inputs[0]] if is_root else None)
        outputs[0].copy_(given[options.rootRank][self._rank])
        return Done()

    def barrier(self, _options):
        self.exchange(None)
        return Done()

    def send(self, tensors, peer, _tag):
        for tensor in tensors:
            self._store.set(self.pair(self._rank, peer), pickle.dumps(tensor))
        return Done()

    def recv(self, tensors, peer, _tag):
        for tensor in tensors:
            tensor.copy_(pickle.loads(self._store.get(self.pair(peer, self._rank))))
        return Done()

    def pair(self, sender, receiver) -> str:
        number = self._pairs[sender, receiver] = self._pairs.get((sender, receiver), 0) + 1
        return f"{sender}-{receiver}/{number}"


def fold() -> None:
    """Makes this process's torch a folded run's."""
    Groups().watch()
    wait_for_nobody()
    if is_alone():
        tell_peers()
    replace("ProcessGroupGloo", CpuGroup, _distributed_c10d.ProcessGroupGloo)
