"""The libraries that stand in for NVIDIA's: what they define, what an unsupported call answers, what is generated.

Against the list of what stock torch wheels want (tests/data/live), and against an installed torch: the one of
.torch, or the package folder that FLOPCAST_TORCH names."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "src/live/standin/api"
INTERPOSED = ROOT / "src/live/standin/clock/interposed.txt"
WANTED = {13: ROOT / "tests/data/live/torch-2.15-cu13.txt", 12: ROOT / "tests/data/live/torch-2.9-cu12.txt"}


def load(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up while the class is being made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator():
    return load("src/live/standin/api/generate.py")


@pytest.fixture(scope="module")
def shims() -> Path:
    """The folder that holds cuda13/ and cuda12/."""
    binary = os.environ.get("FLOPCAST_CLI")
    folder = Path(binary).resolve().parent / "live" if binary else None
    if folder is None or not folder.exists():
        pytest.skip("no live/ beside the flopcast binary that FLOPCAST_CLI names")
    return folder


def run(*command, **more) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def exported(library: Path) -> set[tuple[str, str]]:
    """(name, version node or "-") of all that a library defines."""
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    return {(name, node.lstrip("@") or "-") for name, _, node in (each.partition("@") for each in names)}


def read_wanted(path: Path) -> dict[str, set[tuple[str, str]]]:
    wanted: dict[str, set[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("\t"):
            wanted[soname].add((line.strip(), node))
        elif not line.startswith("#"):
            soname, node = line.split("\t")
            wanted[soname] = set()
    return wanted


def check_covered(folder: Path, wanted: dict[str, set[tuple[str, str]]]) -> None:
    defined = exported(folder / "libflopcast_live.so")
    for soname, symbols in wanted.items():
        assert not symbols - defined, soname
        dynamic = run("readelf", "-d", folder / soname)
        assert f"soname: [{soname}]" in dynamic
        assert "[libflopcast_live.so]" in dynamic
        for node in {node for _, node in symbols} - {"-"}:
            assert f"Name: {node}" in run("readelf", "-V", folder / soname)


# --- What is there ----------------------------------------------------------------------------------


@pytest.mark.parametrize("major", WANTED)
def test_all_that_stock_torch_wants_is_defined_at_its_node(shims, major):
    wanted = read_wanted(WANTED[major])
    assert sum(len(symbols) for symbols in wanted.values()) > 700
    check_covered(shims / f"cuda{major}", wanted)


def test_all_that_the_installed_torch_wants_is_defined_at_its_node(shims, torch_package):
    (major,) = re.findall(r"^cuda\b.*= '(\d+)\.", (torch_package / "version.py").read_text(), re.MULTILINE)
    tool = load("tools/cuda_api.py")
    symbols = tool.undefined_symbols(torch_package / "lib", tool.libraries(int(major)))
    check_covered(shims / f"cuda{major}", {soname: set(names) for soname, names in symbols.items()})


@pytest.mark.parametrize("major", WANTED)
def test_the_core_exports_no_name_but_those_of_the_table(shims, generator, major):
    table = generator.read_table(API / f"cuda{major}.tsv")
    generator.add_cute(API / "cute.tsv", table, {})
    expected = {(f.name, f.library.node or "-") for f in table.functions}
    taken_over = [line.partition("@") for line in INTERPOSED.read_text().split()]
    nodes = {(library.node, "-") for library in table.libraries.values()} | {(node, "-") for _, _, node in taken_over}
    found = exported(shims / f"cuda{major}/libflopcast_live.so") - nodes
    # Those of the C and C++ libraries, and those of PyTorch, which are C++ and must be named at some node.
    first = next(library.node for library in table.libraries.values() if library.node)
    expected |= {(name, node or (first if name.startswith("_Z") else "-")) for name, _, node in taken_over}
    assert {(name, node) for name, node in found if not name.startswith("flopcast_")} == expected


def test_the_preloaded_library_needs_every_other(shims):
    for folder in (shims / f"cuda{major}" for major in WANTED):
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", folder / "libflopcast_preload.so")))
        libraries = {path.name for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
        assert needed == libraries - {"libflopcast_preload.so"}
        assert (folder / "libcuda.so").readlink() == Path("libcuda.so.1")
        assert (folder / "libcudart.so").readlink().name.startswith("libcudart.so.")


# --- What a program sees ------------------------------------------------------------------------------

# As a program built with the real library sees it: symbols at the node libcudart.so.13, found through DT_RPATH.
REAL_LIBRARY = """
int cudaGraphicsMapResources(int count, void *resources, void *stream) { return 99; }
int cudaGraphicsUnregisterResource(void *resource) { return 99; }
int marker_of_the_real_library;
"""
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
struct Pair { int error, driver; };
int cudaGraphicsMapResources(int count, void *resources, void *stream);
int cudaGraphicsUnregisterResource(void *resource);
static void *find(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW);
  void *found = handle ? dlsym(handle, name) : NULL;
  if (!found) printf("no %s in %s: %s\n", name, library, dlerror());
  return found;
}
int main(void) {
  printf("map %d %d\n", cudaGraphicsMapResources(0, 0, 0), cudaGraphicsMapResources(0, 0, 0));
  printf("unregister %d\n", cudaGraphicsUnregisterResource(0));
  struct Pair (*reset)(void) = find("libcufile.so.0", "cuFileStatsReset");
  printf("reset %d %d\n", reset().error, reset().driver);
  float (*dot)(int, const float *, int, const float *, int) = find("libcublas.so.13", "cublasSdot");
  printf("dot %g\n", (double)dot(0, 0, 0, 0, 0));
  const char *(*text)(int) = find("libcusparse.so.12", "cusparseGetErrorString");
  printf("text %s\n", text(10));
  int (*unset)(void *, int) = find("libnvidia-ml.so.1", "nvmlDeviceSetEccMode");
  printf("ecc %d\n", unset(0, 0));
  int (*query)(void *) = find("libcuda.so.1", "cuEGLStreamConsumerDisconnect_absent");
  printf("absent %d\n", query == NULL);
  return 0;
}
"""
ANSWERS = """\
map 801 801
unregister 0
reset 5007 0
dot 0
text not supported by Flopcast
ecc 3
"""
SAID = [
    "NOT_SUPPORTED cudaGraphicsMapResources answers 801",
    "NOT_SUPPORTED cudaGraphicsUnregisterResource answers 0",
    "NOT_SUPPORTED cuFileStatsReset answers 5007",
    "NOT_SUPPORTED cublasSdot answers 0",
    "NOT_SUPPORTED cusparseGetErrorString answers 0",
    "NOT_SUPPORTED nvmlDeviceSetEccMode answers 3",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("live")
    (folder / "real").mkdir()
    (folder / "real.c").write_text(REAL_LIBRARY)
    (folder / "real.map").write_text("libcudart.so.13 { global: *; };\n")
    (folder / "program.c").write_text(PROGRAM)
    real = folder / "real/libcudart.so.13"
    run(compiler, "-shared", "-fPIC", folder / "real.c", "-o", real, "-Wl,-soname,libcudart.so.13",
        f"-Wl,--version-script={folder}/real.map")  # fmt: skip
    run(compiler, folder / "program.c", "-o", folder / "program", real, "-ldl", "-Wl,--disable-new-dtags",
        f"-Wl,-rpath,{folder}/real")  # fmt: skip
    return folder / "program"


def environment(**more) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return {**kept, **more}


def preloads(folder: Path) -> str:
    return f"{folder}/libflopcast_live.so:{folder}/libflopcast_preload.so"


def test_an_unsupported_call_answers_its_code_and_says_so_once(shims, program, tmp_path):
    log = tmp_path / "log"
    # LD_LIBRARY_PATH and the program's DT_RPATH lead to the real library: the preloaded ones win all the same.
    printed = run(program, env=environment(LD_PRELOAD=preloads(shims / "cuda13"),
                                           LD_LIBRARY_PATH=str(program.parent / "real"),
                                           FLOPCAST_LIVE_LOG=str(log)))  # fmt: skip
    assert printed.startswith(ANSWERS)
    assert "no cuEGLStreamConsumerDisconnect_absent in libcuda.so.1" in printed
    assert log.read_text().splitlines() == SAID


def test_without_the_real_library_its_folder_is_enough(shims, program, tmp_path):
    alone = shutil.copy(program, tmp_path / "program")
    (tmp_path / "empty").mkdir()
    (program.parent / "real").rename(program.parent / "gone")
    try:
        printed = run(alone, env=environment(LD_LIBRARY_PATH=str(shims / "cuda13")))
    finally:
        (program.parent / "gone").rename(program.parent / "real")
    assert printed.startswith(ANSWERS)


def test_stock_torch_is_imported(shims, torch_package, tmp_path):
    (major,) = re.findall(r"^cuda\b.*= '(\d+)\.", (torch_package / "version.py").read_text(), re.MULTILINE)
    folder = shims / f"cuda{major}"
    log = tmp_path / "log"
    code = "import torch; print(torch.version.cuda, (torch.ones(2) + 1).tolist())"
    printed = run(sys.executable, "-c", code,
                  env=environment(LD_PRELOAD=preloads(folder), LD_LIBRARY_PATH=str(folder),
                                  PYTHONPATH=str(torch_package.parent), FLOPCAST_LIVE_LOG=str(log)))  # fmt: skip
    assert printed.startswith(f"{major}.") and printed.endswith("[2.0, 2.0]\n")


# --- Tables and generator -----------------------------------------------------------------------------


@pytest.mark.parametrize("major", WANTED)
def test_tables_are_sorted_and_name_a_function_once(generator, major):
    path = API / f"cuda{major}.tsv"
    rows = [line for line in path.read_text().splitlines() if line[0] not in "#@"]
    assert rows == sorted(rows)
    names = [function.name for function in generator.read_table(path).functions]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("major", WANTED)
def test_what_ends_torch_when_it_fails_succeeds(generator, major):
    table = generator.read_table(API / f"cuda{major}.tsv")
    answers = {function.name: function.answer for function in table.functions}
    succeed = ["cudaEventDestroy", "cudaSetDevice", "cudaFree", "cudnnSetTensorNdDescriptor", "ncclCommAbort",
               "cuMemUnmap", "cublasSetStream_v2", "cudaGetLastError", "cuMemAddressFree", "nvmlShutdown"]  # fmt: skip
    fail = ["cudaMalloc", "cublasSetVector", "cudaMemset", "nvmlEventSetCreate", "nvmlDeviceSetEccMode",
            "cuGraphAddMemFreeNode"]  # fmt: skip
    assert {answers[name] for name in succeed} == {"0"}
    assert {answers[name] for name in fail} == {"-"}


LITTLE_TABLE = """\
@a\tliba.so.1\tliba.so.1\t7
@b\tlibb.so.2\t-\t8
a\tcudaOne\tstatus\tout size\t-
a\tcudaTwo\tvoid\t{u32*3} text ...\t-
b\tcuThree\tpointer\t\t-
"""


@pytest.fixture
def little(generator, tmp_path):
    path = tmp_path / "little.tsv"
    path.write_text(LITTLE_TABLE)
    return generator.read_table(path)


def test_what_the_core_defines_is_not_generated_and_has_its_node(generator, little, tmp_path):
    defined = {"cudaOne", "cudaOfAnotherMajor", "_ZN8flopcast4live3x", "flopcast_unsupported"}
    generator.generate(little, {"cudaOfAnotherMajor"}, defined, tmp_path / "out")
    source = (tmp_path / "out/stubs.cc").read_text()
    assert "cudaOne" not in source
    assert 'void cudaTwo(Value0, const char*, ...) { flopcast_unsupported("cudaTwo", 0); }' in source
    assert 'void* cuThree() { flopcast_unsupported("cuThree", 0); return nullptr; }' in source
    script = (tmp_path / "out/core.map").read_text()
    assert re.sub(r"\s+", " ", script) == "liba.so.1 { global: cudaOne; cudaTwo; local: _Z*; cudaOfAnotherMajor; }; "


def test_a_function_of_the_core_that_no_library_has_is_refused(generator, little, tmp_path):
    with pytest.raises(generator.BadTable, match="cudaOen, which no library of the API tables has"):
        generator.generate(little, set(), {"cudaOen"}, tmp_path / "out")


def test_files_that_stay_the_same_are_not_written_again(generator, little, tmp_path):
    generator.generate(little, set(), set(), tmp_path)
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    generator.generate(little, set(), {"cudaOne"}, tmp_path)
    written = {path.name for path in tmp_path.iterdir() if path.stat().st_mtime > 1}
    assert written == {"stubs.cc"}


@pytest.mark.parametrize(
    "line", ["a\tcudaFour\tstatus\tout", "c\tcudaFour\tstatus\tout\t-", "a\tcudaFour\tstatus\tint64\t-", "@a\tb\tc"]
)
def test_a_bad_line_of_a_table_is_named(generator, tmp_path, line):
    path = tmp_path / "bad.tsv"
    path.write_text(LITTLE_TABLE + line + "\n")
    with pytest.raises(generator.BadTable, match=r"bad\.tsv:6: not a line of an API table"):
        generator.read_table(path)
