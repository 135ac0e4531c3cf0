"""What processes hand each other by eventfd, epoll and connections, each to the arithmetic of virtual time. Prints JSON."""

import asyncio
import json
import mmap
import os
import select
import selectors
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path


def child_that(work) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


class Watch:
    def __init__(self):
        self.begin = time.monotonic()

    def __call__(self):
        return round(time.monotonic() - self.begin, 2)


def counters():
    """A counter's sum has the time of its last part, and each part of a semaphore its own."""
    watch, said = Watch(), []
    counter, tokens = os.eventfd(0), os.eventfd(0, os.EFD_SEMAPHORE)

    def work():
        time.sleep(10)
        os.eventfd_write(counter, 3)
        os.eventfd_write(tokens, 2)
        time.sleep(10)
        os.eventfd_write(counter, 4)
        time.sleep(10)
        os.eventfd_write(tokens, 1)

    child = child_that(work)
    with select.epoll() as both:
        both.register(counter, select.EPOLLIN)
        both.register(tokens, select.EPOLLIN)
        said += [both.poll(4), watch()]  # nothing for 4 s
        # Both at 10 s; whether it sees the second already is not the same in every run yet.
        said += [len(both.poll(1000)) > 0, watch()]
        said += [os.eventfd_read(counter), os.eventfd_read(tokens), watch()]
    said += [os.eventfd_read(counter), watch()]  # at 20 s
    said += [os.eventfd_read(tokens), watch(), os.eventfd_read(tokens), watch()]  # the second has been there; 30 s
    os.waitpid(child, 0)
    return said


async def answers(reader, writer):
    """Each number takes as many tenths of a second."""
    while text := await reader.readline():
        await asyncio.sleep(int(text) / 10)
        writer.write(text)
        await writer.drain()
    writer.close()


async def asks(reader, writer, numbers):
    watch, said = Watch(), []
    for number in numbers:
        writer.write(f"{number}\n".encode())
        said += [int(await reader.readline()), watch()]
    writer.close()
    return said


def asyncio_over(listen, connect):
    """A server in a process of its own; two clients at once, each of which waits for its own answers."""

    async def serve():
        server = await listen()
        async with server:
            await asyncio.sleep(100)

    async def ask():
        for _ in range(100):
            try:
                one, other = await connect(), await connect()
                break
            except OSError:
                await asyncio.sleep(0.01)
        said = await asyncio.gather(asks(*one, [5, 10]), asks(*other, [20]))
        begin = Watch()
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 7.5)
        except asyncio.TimeoutError:
            said.append(begin())
        return said

    child = child_that(lambda: asyncio.run(serve()))
    said = asyncio.run(ask())
    os.kill(child, 9)
    os.waitpid(child, 0)
    return said


def unix():
    path = os.path.join(tempfile.mkdtemp(), "socket")
    return asyncio_over(
        lambda: asyncio.start_unix_server(answers, path), lambda: asyncio.open_unix_connection(path)
    )


def tcp():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return asyncio_over(
        lambda: asyncio.start_server(answers, "127.0.0.1", port), lambda: asyncio.open_connection("127.0.0.1", port)
    )


def selected():
    """A server that selects hears whoever was first in virtual time, however the machine runs them; its clients' ends are where
    they closed."""
    watch, said = Watch(), []
    listener = socket.create_server(("127.0.0.1", 0))

    def client(number, begins):
        time.sleep(begins)
        with socket.create_connection(listener.getsockname()) as own:
            own.sendall(struct.pack("I", number))
            time.sleep(10)
            own.sendall(struct.pack("I", number + 10))
            time.sleep(number)

    children = [child_that(lambda n=n: client(n, begins)) for n, begins in ((1, 3), (2, 1), (3, 2))]
    with selectors.DefaultSelector() as all_of_them:
        all_of_them.register(listener, selectors.EVENT_READ)
        closed = 0
        while closed < len(children):
            found = all_of_them.select(0.5)
            for key, _ in found:
                if key.fileobj is listener:
                    one, _ = listener.accept()
                    one.setblocking(False)
                    all_of_them.register(one, selectors.EVENT_READ)
                    said.append(["accepted", watch()])
                elif text := key.fileobj.recv(4):
                    said.append([struct.unpack("I", text)[0], watch()])
                else:
                    all_of_them.unregister(key.fileobj)
                    key.fileobj.close()
                    closed += 1
                    said.append(["closed", watch()])
    for child in children:
        os.waitpid(child, 0)
    return said


def threads():
    """A loop is woken by a thread of its own process, and by a signal's pipe: call_soon_threadsafe."""

    async def run():
        watch, loop = Watch(), asyncio.get_running_loop()
        done = loop.create_future()

        def work():
            time.sleep(3.25)
            loop.call_soon_threadsafe(done.set_result, watch())

        thread = threading.Thread(target=work)
        thread.start()
        said = [await done, watch()]
        thread.join()
        said.append(await loop.run_in_executor(None, lambda: time.sleep(2) or watch()))
        return [*said, watch()]

    return asyncio.run(run())


def full():
    """Who finds no room in a connection waits for whoever reads it."""
    listener = socket.create_server(("127.0.0.1", 0))
    message = bytes(20_000_000)

    async def send():
        _, writer = await asyncio.open_connection(*listener.getsockname())
        watch = Watch()
        writer.write(message)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert watch() == 50, watch()

    child = child_that(lambda: asyncio.run(send()))
    one, _ = listener.accept()
    watch, got = Watch(), 0
    time.sleep(50)
    while part := one.recv(1 << 20):
        got += len(part)
    return [got, watch(), os.waitpid(child, 0)[1]]


def spins():
    """A loop over a flag in memory that processes share, and that act in turn since one waited for the other."""
    flag, there, here = mmap.mmap(-1, 1), os.eventfd(0), os.eventfd(0)
    watch = Watch()

    def work():
        time.sleep(1)
        os.eventfd_write(here, 1)
        os.eventfd_read(there)
        time.sleep(2)
        flag[0] = 1
        time.sleep(5)

    child = child_that(work)
    said = [os.eventfd_read(here), watch()]
    time.sleep(1)
    os.eventfd_write(there, 1)
    while flag[0] == 0:
        os.sched_yield()
    said.append(watch())
    os.waitpid(child, 0)
    return [*said, watch()]


def zmq():
    """Requests and answers of ZeroMQ, its own threads between them; a wait for nothing ends when it should."""
    import zmq

    place = "ipc://" + os.path.join(tempfile.mkdtemp(), "socket")

    def serve():
        with zmq.Context() as context, context.socket(zmq.ROUTER) as own:
            own.linger = 1000
            own.bind(place)
            for _ in range(4):
                who, text = own.recv_multipart()
                time.sleep(int(text) / 10)
                own.send_multipart([who, text])
            time.sleep(1)

    child = child_that(serve)
    watch, said = Watch(), []
    with zmq.Context() as context, context.socket(zmq.DEALER) as own:
        own.connect(place)
        said += [own.poll(3000), watch()]  # nothing was asked: 3 s
        for number in (5, 20):
            own.send(b"%d" % number)
            said += [int(own.recv()), watch()]
        own.send_multipart([b"10"])
        own.send_multipart([b"30"])
        time.sleep(2)
        said += [int(own.recv()), watch(), int(own.recv()), watch()]
    os.waitpid(child, 0)
    return said


def stuck():
    """Two processes that wait for each other."""
    here, there = os.eventfd(0), os.eventfd(0)
    child_that(lambda: os.eventfd_read(here))
    with select.epoll() as own:
        own.register(there, select.EPOLLIN)
        own.poll()


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}), flush=True)
