"""Where the noise of a run comes from.

`Drawn` draws one number after the other: any change of the run changes all noise after it. `Hashed`
takes noise from what it belongs to (seed, place in the model, position), so that two runs that differ
in one thing differ in nothing else: the same layer, microbatch and position has the same kernel time.
"""

from __future__ import annotations

import random
import zlib

MASK = (1 << 64) - 1


def host_share(typical: float, rare: float) -> float:
    """Host time is never less than typical, now and then a good deal more."""
    return 0.12 * typical + (1.5 if rare < 0.01 else 0)


class Drawn:
    """Of one rank, in the order in which it is asked for."""

    def __init__(self, seed: int, rank: int) -> None:
        self.random = random.Random(f"{seed}/{rank}")

    def at(self, *place: object) -> None:
        """Where the program is: of no use here."""

    def start(self) -> int:
        return self.random.randrange(40_000)

    def host(self) -> float:
        return host_share(self.random.random(), self.random.random())

    def kernel(self) -> tuple[float, int]:
        """More time than the fastest, as a share, and more launch latency in ns."""
        return 0.02 * self.random.random(), self.random.randrange(500)

    collective = kernel


def mix(value: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit in changes half the bits out."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def unit(*what: object) -> float:
    """A number from 0 to 1 that belongs to `what`."""
    text = repr(what).encode()
    return mix(zlib.crc32(text) << 32 | zlib.adler32(text)) / (MASK + 1)


class Hashed:
    """Of one rank. `who` is its place without the pipeline stage."""

    def __init__(self, seed: int, who: tuple[int, ...], amount: float) -> None:
        self.who, self.seed, self.amount = who, seed, amount
        self.at("start")

    def at(self, *place: object) -> None:
        text = repr((self.seed, self.who, place)).encode()
        self.base = mix(zlib.crc32(text) << 32 | zlib.adler32(text))
        self.asked = {"host": 0, "kernel": 0, "latency": 0}

    def bits(self, kind: str, salt: int) -> int:
        asked = self.asked[kind] = self.asked[kind] + 1
        return mix(self.base + (asked << 2 | salt) * 0x9E3779B97F4A7C15 & MASK) if self.amount else 0

    def draw(self, kind: str, salt: int) -> float:
        return self.bits(kind, salt) / (MASK + 1)

    def start(self) -> int:
        return int(self.amount * 40_000 * self.draw("host", 0))

    def host(self) -> float:
        if not self.amount:
            return 0.0
        bits = self.bits("host", 1)
        return self.amount * host_share((bits >> 32) / 2**32, (bits & 0xFFFFFFFF) / 2**32)

    def kernel(self) -> tuple[float, int]:
        return self.amount * 0.02 * self.draw("kernel", 2), self.latency()

    def collective(self) -> tuple[float, int]:
        return 0.0, self.latency()

    def latency(self) -> int:
        return int(self.amount * 500 * self.draw("latency", 3))
