"""Makes the ranks of a live run out of one process: what all of them import is loaded once.

Started by `flopcast run` with the number of a descriptor, from which it reads a JSON document:

    {"reports": 7, "script": "train.py", "arguments": [...], "imports": ["torch"],
     "ranks": [{"environment": {"RANK": "0", ...}, "output": [8, 9]}, ...]}

and hears lines "started RANK PID" and "ended RANK STATUS" on the descriptor `reports`. A rank runs the script as
`python3 script arguments` would: as __main__, with its folder first on sys.path."""

import ast
import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
import time
import types
import warnings
import weakref


def die_with_parent() -> None:
    """Whatever ends the server ends its ranks."""
    import ctypes

    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def begin_virtual_time() -> None:
    """Of the stand-ins, if they are loaded: the rank's time begins before its script does."""
    import ctypes

    begin = getattr(ctypes.CDLL(None), "flopcast_live_is_rank", None)
    if begin is not None:
        begin()


def close_all_but(kept: set) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing's own


def beside_this_file(name: str) -> types.ModuleType:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location("flopcast_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def become(rank: dict) -> None:
    """The process that was forked is this rank from now on."""
    die_with_parent()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for target, descriptor in enumerate(rank["output"], 1):
        if descriptor >= 0:
            os.dup2(descriptor, target)
    close_all_but(set())
    os.environ.update(rank["environment"])
    # The stand-ins know by it what this rank starts. They set it, too, but Python hands on its own copy of the environment.
    os.environ["FLOPCAST_LIVE_OWNER"] = str(os.getpid())
    begin_virtual_time()
    if os.environ.get("FLOPCAST_LIVE_FOLD"):
        beside_this_file("folded").fold()


#: What packages import by themselves when a script first uses them: an optimizer's first step imports the compiler.
IMPORTED_LATER = {"torch": ["torch._dynamo"]}


def parts_named(script: str, packages: list) -> list:
    """Modules of these packages that the script's own import statements name."""
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []  # the script says it itself
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
    return sorted(name for name in names if name.partition(".")[0] in packages and "." in name)


def load(request: dict) -> None:
    """Everything that all ranks will import, and that does not depend on which of them does."""
    packages = request["imports"]
    for name in packages:
        importlib.import_module(name)
    parts = parts_named(request["script"], packages)
    for package in packages:
        parts += IMPORTED_LATER.get(package, [])
    for name in parts:
        with contextlib.suppress(Exception):  # a rank that imports it hears why not
            importlib.import_module(name)


def compile_once() -> None:
    """Ranks compile the same kernels at the same time: who comes while another compiles waits for it, and finds the
    kernel in Triton's cache. A thread has one turn at a time, which its call of the compiler ends."""
    try:
        import triton
        from triton.compiler import compiler
        from triton.runtime.cache import FileCacheManager
    except Exception:
        return  # there is no Triton, or one that is made otherwise
    here, compile_it, get_group = threading.local(), compiler.compile, FileCacheManager.get_group

    @functools.wraps(compile_it)
    def compile_in_turn(*arguments, **options):
        with contextlib.ExitStack() as here.turn:
            try:
                return compile_it(*arguments, **options)
            finally:
                here.turn = None

    @functools.wraps(get_group)
    def get_after_others(self, filename):
        found, turn = get_group(self, filename), getattr(here, "turn", None)
        if found is None and turn is not None and self.lock_path:
            here.turn = None
            with contextlib.suppress(OSError):  # a cache that cannot be written to
                fcntl.flock(turn.enter_context(open(self.lock_path, "w")), fcntl.LOCK_EX)
                found = get_group(self, filename)
        return found

    for module in (triton, triton.compiler, compiler):
        module.compile = compile_in_turn
    FileCacheManager.get_group = get_after_others


def measure_briefly() -> None:
    """Triton chooses among kernels by running each for 125 ms. Here a launch takes what the one before took, so a few tell as
    much; the rest of that time passes."""
    try:
        from triton import testing
    except Exception:
        return  # as above
    measure = testing.do_bench

    @functools.wraps(measure)
    def measure_few(fn, warmup=25, rep=100, *arguments, **options):
        if options.get("return_mode") == "all":
            return measure(fn, warmup, rep, *arguments, **options)
        until = time.monotonic() + (warmup + rep) / 1e3
        found = measure(fn, 0, 0, *arguments, **options)
        time.sleep(max(0, until - time.monotonic()))
        return found

    testing.do_bench = measure_few


def freeze() -> None:
    """What is there stays in pages that all ranks share: no collection touches it."""
    gc.collect()
    gc.freeze()


class Ending:
    """How a rank ends: as the interpreter does it, but that what was there before the rank was is left alone. Looking
    through it took most of the time of the end, and copied the pages that ranks share."""

    def __init__(self) -> None:
        self.shared = set()  #: modules
        self.status = None  #: of the process, less than 0: by this signal; None: it is no rank
        atexit.register(self.end)  # before anybody: it is called after all others

    def become_rank(self) -> None:
        self.shared.update(sys.modules)

    def note(self, error) -> None:
        """What the script ended with."""
        if error is None:
            self.status = 0
        elif isinstance(error, SystemExit):
            code = error.code
            self.status = 0 if code is None else code & 0xFF if isinstance(code, int) else 1
        else:
            self.status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1

    def end(self) -> None:
        """The last of what is called at the end."""
        if self.status is None:
            return
        self.forget_modules()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        import ctypes

        ctypes.CDLL(None).fflush(None)
        if self.status < 0:
            signal.signal(-self.status, signal.SIG_DFL)
            os.kill(os.getpid(), -self.status)
        os._exit(self.status)

    def forget_modules(self) -> None:
        """The rank's modules go: workers and files end with the objects that have them."""
        own = [name for name in reversed(sys.modules) if name == "__main__" or name not in self.shared]
        left = [weakref.ref(sys.modules[name]) for name in own if isinstance(sys.modules[name], types.ModuleType)]
        for name in own:
            sys.modules[name] = None
        atexit._clear()  # all were called, and they hold what they are from
        gc.collect()
        for module in left:
            names = vars(module()) if module() is not None else {}
            for name in [name for name in names if name != "__builtins__"]:
                names[name] = None
        gc.collect()


def serve(request: dict) -> dict:
    """Forks the ranks and waits for them. Returns in each rank: what it is."""
    gc.disable()
    load(request)
    if "triton.runtime" in sys.modules:
        compile_once()
        measure_briefly()
    freeze()
    gc.enable()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    ranks = {}
    for index, rank in enumerate(request["ranks"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that a module may have started
            pid = os.fork()
        if pid == 0:
            become(rank)
            return rank
        ranks[pid] = index
        report(request, f"started {index} {pid}")
    close_all_but({request["reports"]})
    while ranks:
        pid, status = os.wait()
        if pid in ranks:
            code = os.waitstatus_to_exitcode(status)
            report(request, f"ended {ranks.pop(pid)} {128 - code if code < 0 else code}")
    os._exit(0)


def report(request: dict, line: str) -> None:
    os.write(request["reports"], (line + "\n").encode())


def main_module(script: str) -> types.ModuleType:
    """An empty __main__, as the interpreter makes it for a script."""
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    module.__annotations__ = {}
    sys.modules["__main__"] = module
    return module


def without_this_file(kind, error, trace) -> None:
    """Prints an exception as if the script had been started alone."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def start(ending: Ending) -> tuple:
    """In each rank: the code of the script, and the module that it runs in."""
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as file:
        request = json.load(file)
    sys.path.pop(0)  # the folder of this file
    script = request["script"]
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    serve(request)
    sys.argv[:] = [script, *request["arguments"]]
    sys.excepthook = without_this_file
    module = main_module(script)
    ending.become_rank()
    with open(script, "rb") as file:
        source = file.read()
    return source, script, module


def main() -> None:
    ending = Ending()
    source, script, module = start(ending)
    try:
        exec(compile(source, script, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        ending.note(error)
        raise
    ending.note(None)


if __name__ == "__main__":
    main()
