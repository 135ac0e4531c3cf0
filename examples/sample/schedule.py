"""In which order a stage runs its passes, and when it talks to its neighbours.

A pass is `Pass(kind, chunk, microbatch)`: "F" forward, "B" backward, "W" the gradients of the weights
where the schedule takes them apart. `passes` gives the order. `program` adds the messages, in one of
two ways:

- "1f1b" exchanges with one neighbour at a time, what goes there and what comes from there in one
  kernel that the next pass waits for (Megatron's send_forward_recv_backward and so on);
- all others, and "1f1b" where `apart` asks for it, send without waiting, and receive just before the
  pass that needs it.
"""

from __future__ import annotations

from typing import NamedTuple, Union


class Pass(NamedTuple):
    kind: str
    chunk: int
    microbatch: int


class Exchange(NamedTuple):
    """With the next stage (+1) or the one before (-1); `number` counts those of a pair of stages."""

    side: int
    number: int


class Message(NamedTuple):
    """Activations ("act") to the next part of the model, gradients ("grad") to the one before."""

    what: str  # "act", "grad"
    sent: bool
    part: int  # of the model: that of the sender
    microbatch: int


Action = Union[Pass, Exchange, Message]


def passes(schedule: str, stages: int, stage: int, microbatches: int, chunks: int) -> list[Pass]:
    if schedule == "gpipe":
        everyone = range(microbatches)
        return [Pass("F", 0, i) for i in everyone] + [Pass("B", 0, i) for i in everyone]
    if schedule == "interleaved":
        return interleaved(stages, stage, microbatches, chunks)
    forwards = [Pass("F", 0, i) for i in range(microbatches)]
    backwards = [Pass("B", 0, i) for i in range(microbatches)]
    order = one_forward_one_backward(forwards, backwards, stages - 1 - stage)
    return order if schedule == "1f1b" else with_late_weights(order, stage)


def one_forward_one_backward(forwards: list[Pass], backwards: list[Pass], ahead: int) -> list[Pass]:
    """`ahead` forwards, then one forward and one backward in turn, then the backwards left."""
    ahead = min(ahead, len(forwards))
    order = forwards[:ahead]
    for forward, backward in zip(forwards[ahead:], backwards):
        order += [forward, backward]
    return order + backwards[len(forwards) - ahead :]


def interleaved(stages: int, stage: int, microbatches: int, chunks: int) -> list[Pass]:
    """Narayanan et al., arXiv:2104.04473: groups of `stages` microbatches go through chunk by chunk."""
    forwards, backwards = [], []
    for begin in range(0, microbatches, stages):
        for chunk in range(chunks):
            for i in range(begin, begin + stages):
                forwards.append(Pass("F", chunk, i))
                backwards.append(Pass("B", chunks - 1 - chunk, i))
    ahead = 2 * (stages - 1 - stage) + (chunks - 1) * stages
    return one_forward_one_backward(forwards, backwards, ahead)


def with_late_weights(order: list[Pass], stage: int) -> list[Pass]:
    """ZB-H1 (Qi et al., arXiv:2401.10241): stage i runs the weights' half i microbatches late.

    So no stage holds more microbatches than with 1F1B, and what was the bubble of the end is filled."""
    result, owed = [], []
    for one in order:
        result.append(one)
        if one.kind == "B":
            owed.append(Pass("W", one.chunk, one.microbatch))
            if len(owed) > stage:
                result.append(owed.pop(0))
    return result + owed


def program(
    schedule: str, stages: int, stage: int, microbatches: int, chunks: int, apart: bool = False
) -> list[Action]:
    order = passes(schedule, stages, stage, microbatches, chunks)
    if schedule == "1f1b" and not apart:
        return with_exchanges(order, stages, stage)
    return with_messages(order, stages, stage, chunks)


def with_exchanges(order: list[Pass], stages: int, stage: int) -> list[Action]:
    """A forward takes from the stage before and gives to the next, a backward the other way round.

    Where a pass gives to the stage that the next pass takes from, one exchange does both: after a
    backward always, after a forward only where the neighbour sends at the same time, which is when as
    many forwards are ahead as there are stages behind this one."""
    actions: list[Action] = []
    count = {-1: 0, 1: 0}

    def exchange(side: int) -> None:
        if 0 <= stage + side < stages:
            actions.append(Exchange(side, count[side]))
            count[side] += 1

    before: Pass | None = None
    for one in order:
        side = -1 if one.kind == "F" else 1
        if before is not None:
            given = 1 if before.kind == "F" else -1
            exchange(given)
            ahead = before.microbatch - one.microbatch
            if given != side or (given > 0 and ahead != stages - 1 - stage):
                exchange(side)
        else:
            exchange(side)
        actions.append(one)
        before = one
    if before is not None:
        exchange(1 if before.kind == "F" else -1)
    return actions


def with_messages(order: list[Pass], stages: int, stage: int, chunks: int) -> list[Action]:
    last = stages * chunks - 1
    actions: list[Action] = []
    for one in order:
        part = one.chunk * stages + stage
        if one.kind == "F" and part > 0:
            actions.append(Message("act", False, part - 1, one.microbatch))
        if one.kind == "B" and part < last:
            actions.append(Message("grad", False, part + 1, one.microbatch))
        actions.append(one)
        if one.kind == "F" and part < last:
            actions.append(Message("act", True, part, one.microbatch))
        if one.kind == "B" and part > 0:
            actions.append(Message("grad", True, part, one.microbatch))
    return actions
