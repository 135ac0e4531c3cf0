"""The run: all ranks and their groups; lets every host run until it needs the GPU, in turns."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, NamedTuple

from . import machine
from .gpu import UNKNOWN, Clockwork, Collective
from .program import Program
from .noise import Drawn, Hashed, unit
from .plan import Plan


@dataclass(frozen=True, eq=False)
class Group:
    """A process group, as its rows tell of it."""

    kind: str
    name: str
    ranks: tuple[int, ...]
    description: str


class Place(NamedTuple):
    """Of a rank. `part`: of a sequence, where ranks share it."""

    stage: int
    replica: int
    part: int
    shard: int


class World:
    """Rank = ((stage * dp + replica) * cp + part) * tp + shard, as Megatron numbers them."""

    ORDER = ("tp", "dp", "pp", "mp", "act", "grad", "cp", "ep", "edp")

    def __init__(self, plan: Plan, rows: bool = True) -> None:
        self.plan = plan
        self.random = random.Random(plan.seed)
        self.clockwork = Clockwork()
        self.collectives: dict[tuple[Group, int], Collective] = {}
        self.joined: dict[tuple[Group, int], int] = {}
        self.groups: dict[tuple[str, int], Group] = {}
        self.named: dict[str, Group] = {}
        self.hosts = [Program(self, rank, rows) for rank in range(plan.world)]

    def place(self, rank: int) -> Place:
        p = self.plan
        rest, shard = divmod(rank, p.tp)
        rest, part = divmod(rest, p.cp)
        stage, replica = divmod(rest, p.dp)
        return Place(stage, replica, part, shard)

    def rank(self, stage: int, replica: int, part: int, shard: int) -> int:
        p = self.plan
        return ((stage % p.pp * p.dp + replica) * p.cp + part) * p.tp + shard

    def noise(self, rank: int) -> Drawn | Hashed:
        p = self.plan
        return Drawn(p.seed, rank) if p.plain else Hashed(p.seed, self.place(rank)[1:], p.noise)

    # Groups. A message has two ranks; its group belongs to the stage that it starts from.

    def group(self, kind: str, rank: int) -> Group:
        found = self.groups.get((kind, rank))
        return found or self.new_group(kind, self.members(kind, rank))

    def pair(self, kind: str, rank: int, side: int) -> Group:
        """Of a rank with its neighbour: exchanges ("pp", both ways) or messages of one kind that it sends."""
        place = self.place(rank)
        ranks = (rank, self.rank(place.stage + side, *place[1:]))
        key = (f"{kind}{side}", rank)
        if key not in self.groups:
            first = min(ranks) if kind == "pp" else rank
            self.groups[key] = self.described(kind, tuple(sorted(ranks)), first)
        return self.groups[key]

    def members(self, kind: str, rank: int) -> tuple[int, ...]:
        p, (stage, replica, part, shard) = self.plan, self.place(rank)
        stages = range(p.pp) if kind == "mp" else [stage]
        shards = range(p.tp) if kind in ("mp", "tp") else [shard]
        parts = range(p.cp) if kind in ("cp", "dp", "edp") or (kind == "mp" and p.zero) else [part]
        return tuple(
            self.rank(s, r, c, t) for s in stages for r in self.replicas(kind, replica) for c in parts for t in shards
        )

    def replicas(self, kind: str, replica: int) -> Iterable[int]:
        p = self.plan
        if kind == "dp" or (kind == "mp" and p.zero):
            return range(p.dp)
        if kind == "ep":
            return range(replica - replica % p.ep, replica - replica % p.ep + p.ep)
        if kind == "edp":
            return range(replica % p.ep, p.dp, p.ep)
        return [replica]

    def new_group(self, kind: str, ranks: tuple[int, ...]) -> Group:
        group = self.described(kind, ranks, ranks[0])
        for rank in ranks:
            self.groups[kind, rank] = group
        return group

    def described(self, kind: str, ranks: tuple[int, ...], first: int) -> Group:
        number = str(1 + self.ORDER.index(kind) * self.plan.world + first)
        what = {"act": "PP_ACTIVATIONS_GROUP", "grad": "PP_GRADIENTS_GROUP", "edp": "EXPERT_DP_GROUP"}
        description = what.get(kind, f"{kind.upper()}_GROUP")
        return self.named.setdefault(number, Group(kind, number, ranks, description))

    def join(
        self, group: Group, rank: int, name: str, size: int, identity: tuple[object, ...]
    ) -> tuple[int, Collective]:
        """The next collective of this group: the n-th of one rank is the n-th of all."""
        number = self.joined[group, rank] = self.joined.get((group, rank), 0) + 1
        key = (group, number)
        if key not in self.collectives:
            kind = {"act": "pp", "grad": "pp", "edp": "dp"}.get(group.kind, group.kind)
            transfer = machine.transfer(kind, name, len(group.ranks), size)
            more = self.transfer_noise(group, identity)
            time = int(transfer * self.plan.times("network", kind) * (1 + 0.06 * more))
            self.collectives[key] = Collective(len(group.ranks), time)
        return number, self.collectives[key]

    def transfer_noise(self, group: Group, identity: tuple[object, ...]) -> float:
        if self.plan.plain:
            return self.random.random()
        return self.plan.noise * unit(self.plan.seed, group.kind, self.place(group.ranks[0])[1:], *identity)

    # Time.

    def run(self) -> None:
        programs = {host: host.steps() for host in self.hosts}
        needs = {host: next(program) for host, program in programs.items()}
        while needs:
            moved = self.clockwork.settle()
            for host in [h for h, tasks in needs.items() if all(t.end != UNKNOWN for t in tasks)]:
                moved = True
                try:
                    needs[host] = next(programs[host])
                except StopIteration:
                    del needs[host]
            if not moved:
                raise RuntimeError(f"ranks wait for each other: {[h.rank for h in needs]}")

    def write(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for host in self.hosts:
            host.write(directory)

    def length(self) -> int:
        return max(host.now for host in self.hosts)
