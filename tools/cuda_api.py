#!/usr/bin/env python3
"""Writes the API tables of the stand-in libraries: src/live/standin/api/cuda<MAJOR>.tsv.

A table says of every function that programs may call in NVIDIA's libraries how it is called, what it
returns, and what it answers where Flopcast does not implement it. Names and signatures are facts, read
from two places that anybody has: the public headers in NVIDIA's wheels, by clang, and the undefined
symbols of a stock torch wheel, with the version nodes they ask for. Nothing else of either is kept.

    tools/cuda_api.py MAJOR WORK [--symbols FILE]

WORK is a folder for the wheels (1-2 GB, fetched with pip where absent) and what is unpacked of them.
--symbols also writes the undefined symbols of that torch, as tests/data/live has them. The format of a
table is in docs/theory/live.md; src/live/standin/api/generate.py reads it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Library:
    """What is to be known of a library beyond its headers."""

    key: str
    soname: str
    names: str
    """Functions of the library, as a regular expression from the start of a name."""
    headers: tuple[str, ...]
    status: str
    """The type that most functions return."""
    unsupported: str
    """The enumerator that says best that a call is not supported, or a number."""
    node: str = "SONAME"
    """Version node of its symbols; "-" where the real library has none."""
    defines: tuple[str, ...] = ("",)
    """The headers are read once for each of these macros: each shows names that others hide."""
    apart: tuple[str, ...] = ()
    """Headers that cannot be read together with the others."""
    cxx: bool = False
    """The headers show all they have only to C++."""
    all: bool = True
    """All functions of the headers, or only those that torch wants."""


PER_THREAD = "CUDA_API_PER_THREAD_DEFAULT_STREAM"
OLD_NAMES = "__CUDA_API_VERSION_INTERNAL"
NOT_CUSPARSELT = r"cusparse(?!Lt)[A-Z]"


def libraries(major: int) -> tuple[Library, ...]:
    """In the order in which they are asked for a symbol that has no version node."""
    cu12 = major == 12
    math = 11 if cu12 else 12
    return (
        Library("cudart", f"libcudart.so.{major}", "cuda[A-Z]|__cuda", ("cuda_runtime_api.h", "cuda_profiler_api.h"),
                "cudaError_t", "cudaErrorNotSupported", defines=("", PER_THREAD, OLD_NAMES)),
        Library("cublasLt", f"libcublasLt.so.{major}", "cublasLt", ("cublasLt.h",),
                "cublasStatus_t", "CUBLAS_STATUS_NOT_SUPPORTED"),
        Library("cublas", f"libcublas.so.{major}", "cublas", ("cublas_v2.h", "cublasXt.h"),
                "cublasStatus_t", "CUBLAS_STATUS_NOT_SUPPORTED", apart=("cublas.h",), cxx=True),
        Library("cudnn", "libcudnn.so.9", "cudnn", ("cudnn.h", "cudnn_backend.h"),
                "cudnnStatus_t", "CUDNN_STATUS_NOT_SUPPORTED"),
        Library("cufft", f"libcufft.so.{math}", "cufft", ("cufft.h", "cufftXt.h"),
                "cufftResult", "CUFFT_NOT_SUPPORTED"),
        Library("curand", "libcurand.so.10", "curand", ("curand.h",),
                "curandStatus_t", "CURAND_STATUS_ARCH_MISMATCH"),
        Library("cusolver", f"libcusolver.so.{math}", "cusolver(?!Mg)",
                ("cusolverDn.h", "cusolverSp.h", "cusolverRf.h"),
                "cusolverStatus_t", "CUSOLVER_STATUS_NOT_SUPPORTED"),
        Library("cusparse", "libcusparse.so.12", NOT_CUSPARSELT, ("cusparse.h",),
                "cusparseStatus_t", "CUSPARSE_STATUS_NOT_SUPPORTED", cxx=True),
        Library("cusparseLt", "libcusparseLt.so.0", "cusparseLt", ("cusparseLt.h",),
                "cusparseStatus_t", "CUSPARSE_STATUS_NOT_SUPPORTED", node="-", cxx=True),
        Library("cupti", f"libcupti.so.{major}", "cupti",
                ("cupti.h", "cupti_profiler_target.h", "cupti_profiler_host.h", "cupti_pcsampling.h",
                 "cupti_range_profiler.h"),
                "CUptiResult", "CUPTI_ERROR_NOT_SUPPORTED", cxx=True),
        Library("nvrtc", f"libnvrtc.so.{major}", "nvrtc", ("nvrtc.h",), "nvrtcResult", "NVRTC_ERROR_INTERNAL_ERROR"),
        Library("nvjitlink", f"libnvJitLink.so.{major}", "(__)?nvJitLink", ("nvJitLink.h",),
                "nvJitLinkResult", "NVJITLINK_ERROR_INTERNAL"),
        Library("nvml", "libnvidia-ml.so.1", "nvml", ("nvml.h",), "nvmlReturn_t", "NVML_ERROR_NOT_SUPPORTED",
                node="-", defines=("", "NVML_NO_UNVERSIONED_FUNC_DEFS")),
        Library("nccl", "libnccl.so.2", "p?nccl[A-Z]", ("nccl.h",), "ncclResult_t", "ncclInvalidUsage", node="-"),
        Library("nvshmem", "libnvshmem_host.so.3", "nvshmem", ("nvshmem_host.h",),
                "int", "NVSHMEMX_ERROR_NOT_SUPPORTED", node="NVSHMEM", cxx=True, all=False),
        Library("cufile", "libcufile.so.0", "cuFile", ("cufile.h",), "CUfileError_t", "CU_FILE_PLATFORM_NOT_SUPPORTED",
                node="-"),
        # CUDA 13 has no library for it any more; programs built before still load it.
        Library("nvtx", "libnvToolsExt.so.1", "nvtx", ("nvToolsExt.h",), "int", "-2"),
        Library("cuda", "libcuda.so.1", "cu[A-Z]", ("cuda.h", "cudaProfiler.h"), "CUresult", "CUDA_ERROR_NOT_SUPPORTED",
                node="-", defines=("", PER_THREAD, OLD_NAMES)),
    )


# What compiled CUDA code calls. The compiler knows these signatures; not all of them are in a header.
COMPILED_CODE = {
    "__cudaGetKernel": ("status", "out in"),
    "__cudaInitModule": ("i8", "out"),
    "__cudaLaunchKernel": ("status", "handle {u32*3} {u32*3} out size handle"),
    "__cudaLaunchKernel_ptsz": ("status", "handle {u32*3} {u32*3} out size handle"),
    "__cudaPopCallConfiguration": ("status", "out out out out"),
    "__cudaPushCallConfiguration": ("i32", "{u32*3} {u32*3} size handle"),
    "__cudaRegisterFatBinary": ("pointer", "out"),
    "__cudaRegisterFatBinaryEnd": ("void", "out"),
    "__cudaRegisterFunction": ("void", "out text out text i32 out out out out out"),
    "__cudaRegisterManagedVar": ("void", "out out out text i32 size i32 i32"),
    "__cudaRegisterSurface": ("void", "out in in text i32 i32"),
    "__cudaRegisterTexture": ("void", "out in in text i32 i32 i32"),
    "__cudaRegisterVar": ("void", "out out out text i32 size i32 i32"),
    "__cudaUnregisterFatBinary": ("void", "out"),
}
SINCE_13 = {"__cudaGetKernel", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"}

# Wanted by torch, and not in a header that can be read without CUDA's compiler.
UNDECLARED = {
    "ncclDevCommCreate": ("status", "handle in out"),
    "ncclDevCommDestroy": ("status", "handle in"),
    "ncclGetLsaDevicePointer": ("status", "handle size i32 out"),
    "ncclGetLsaMultimemDevicePointer": ("status", "handle size out"),
    "ncclGetPeerDevicePointer": ("status", "handle size i32 out"),
    "nvshmem_selected_device_transport": ("data", "{u64}"),
    "nvshmemid_hostlib_finalize": ("void", "out out"),
    "nvshmemid_hostlib_init_attr": ("status", "i32 out u32 out {i32*3} fn"),
    "nvshmemid_init_status": ("i32", ""),
}

TORCH = {13: "torch==2.15.0", 12: "torch==2.9.1"}
WHEELS = {
    13: (
        "nvidia-cublas==13.4.1.3", "nvidia-cuda-cccl==13.2.86", "nvidia-cuda-crt==13.2.86",
        "nvidia-cuda-cupti==13.2.86", "nvidia-cuda-nvrtc==13.2.86", "nvidia-cuda-profiler-api==13.2.86",
        "nvidia-cuda-runtime==13.2.86", "nvidia-cudnn-cu13==9.26.0.51", "nvidia-cufft==12.2.0.57",
        "nvidia-cufile==1.17.1.22", "nvidia-curand==10.4.2.66", "nvidia-cusolver==12.2.0.11",
        "nvidia-cusparse==12.7.10.12", "nvidia-cusparselt-cu13==0.8.1", "nvidia-nccl-cu13==2.30.7",
        "nvidia-nvjitlink==13.2.86", "nvidia-nvml-dev==13.2.86", "nvidia-nvshmem-cu13==3.7.2",
        "nvidia-nvtx-cu12==12.8.90",
    ),
    12: (
        "nvidia-cublas-cu12==12.8.4.1", "nvidia-cuda-cccl-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90",
        "nvidia-cuda-nvcc-cu12==12.8.93", "nvidia-cuda-nvrtc-cu12==12.8.93",
        "nvidia-cuda-profiler-api-cu12==12.8.90", "nvidia-cuda-runtime-cu12==12.8.90",
        "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cufft-cu12==11.3.3.83", "nvidia-cufile-cu12==1.13.1.3",
        "nvidia-curand-cu12==10.3.9.90", "nvidia-cusolver-cu12==11.7.3.90", "nvidia-cusparse-cu12==12.5.8.93",
        "nvidia-cusparselt-cu12==0.7.1", "nvidia-nccl-cu12==2.27.5", "nvidia-nvjitlink-cu12==12.8.93",
        "nvidia-nvml-dev-cu12==12.8.90", "nvidia-nvshmem-cu12==3.3.20", "nvidia-nvtx-cu12==12.8.90",
    ),
}  # fmt: skip


# --- Wheels ---------------------------------------------------------------------------------------


def wheel(requirement: str, folder: Path) -> Path:
    """The wheel of a pinned requirement, from the folder or else from the package index."""
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    found = sorted(folder.glob(pattern))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, requirement],
                       check=True)  # fmt: skip
        found = sorted(folder.glob(pattern))
    return found[0]


def unpack(path: Path, wanted: str, into: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if re.search(wanted, name) and not (into / name).exists():
                archive.extract(name, into)


def include_folders(root: Path) -> list[Path]:
    return sorted([*root.glob("nvidia/*/include"), *root.glob("nvidia/*/include/cccl")])


# --- Undefined symbols of torch ---------------------------------------------------------------------


def undefined_symbols(folder: Path, known: tuple[Library, ...]) -> dict[str, list[tuple[str, str]]]:
    """(name, version node) of what the shared objects of a folder want of NVIDIA's libraries, by SONAME."""
    wanted: dict[str, set[tuple[str, str]]] = {library.soname: set() for library in known}
    by_node = {node_of(library): library for library in known if library.node != "-"}
    without = [library for library in known if library.node == "-"]
    for path in sorted(folder.glob("**/*.so*")):
        listed = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            name, _, node = line.split()[-1].partition("@")
            library = by_node.get(node)
            if library is None and not node:
                library = next((each for each in without if re.match(each.names, name)), None)
            if library is not None:
                wanted[library.soname].add((name, node or "-"))
    return {soname: sorted(symbols) for soname, symbols in sorted(wanted.items()) if symbols}


def node_of(library: Library) -> str:
    return library.soname if library.node == "SONAME" else library.node


def symbols_text(title: str, wanted: dict[str, list[tuple[str, str]]]) -> str:
    lines = [f"# What {title} wants of NVIDIA's libraries, by nm -D --undefined-only: SONAME, version node or -,"]
    lines.append("# then the names. Written by tools/cuda_api.py.")
    for soname, symbols in wanted.items():
        (node,) = {node for _, node in symbols}
        lines.append(f"{soname}\t{node}")
        lines += [f"\t{name}" for name, _ in symbols]
    return "\n".join(lines) + "\n"


# --- Headers ----------------------------------------------------------------------------------------


@dataclass
class Function:
    returns: str
    arguments: str


@dataclass
class Declarations:
    """The declarations of one reading of a library's headers."""

    functions: list[dict] = field(default_factory=list)
    records: dict[str, dict] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    """Structs that are only named: a pointer to one is a handle."""
    enums: set[str] = field(default_factory=set)
    typedefs: dict[str, str] = field(default_factory=dict)
    enumerators: dict[str, int] = field(default_factory=dict)


def read_headers(library: Library, headers: tuple[str, ...], define: str, folders: list[Path]) -> Declarations:
    language = "c++" if library.cxx else "c"
    text = "".join(f"#include <{header}>\n" for header in headers)
    flags = [f"-I{folder}" for folder in folders] + ([f"-D{define}"] if define else [])
    # Preprocessed first: comments then are gone, and the tree is a tenth of the size.
    source = clang(["-E", f"-x{language}", *flags, "-"], text)
    tree = clang(["-w", "-fsyntax-only", f"-x{language}", "-Xclang", "-ast-dump=json", "-"], source)
    declarations = Declarations()
    collect(json.loads(tree)["inner"], declarations)
    return declarations


def clang(arguments: list[str], source: str) -> str:
    done = subprocess.run(["clang", *arguments], input=source, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"clang {' '.join(arguments)}:\n{done.stderr[:2000]}")
    return done.stdout


def collect(nodes: Iterable[dict], into: Declarations) -> None:
    complete: dict[str, dict] = {}
    for node in nodes:
        kind = node["kind"]
        if kind == "LinkageSpecDecl":
            collect(node.get("inner", ()), into)
        elif kind == "FunctionDecl":
            into.functions.append(node)
        elif kind in ("RecordDecl", "CXXRecordDecl"):
            if node.get("completeDefinition"):
                complete[node["id"]] = node
                into.records[node.get("name", node["id"])] = node
            elif "name" in node:
                into.opaque.add(node["name"])
        elif kind == "TypedefDecl":
            into.typedefs[node["name"]] = desugared(node)
            # A struct without a name of its own is known by its typedef's.
            of = next((inner.get("ownedTagDecl", {}).get("id") for inner in node.get("inner", ())), None)
            if of in complete:
                into.records.setdefault(node["name"], complete[of])
        elif kind == "EnumDecl":
            into.enums.add(node.get("name", ""))
            collect_enumerators(node, into)


def collect_enumerators(node: dict, into: Declarations) -> None:
    value = -1
    for each in node.get("inner", ()):
        if each["kind"] == "EnumConstantDecl":
            value = constant(each, value + 1)
            into.enumerators[each["name"]] = value


def constant(node: dict, implicit: int) -> int:
    for inner in node.get("inner", ()):
        if "value" in inner:
            return int(inner["value"])
    return implicit


def desugared(node: dict) -> str:
    return node["type"].get("desugaredQualType", node["type"]["qualType"])


# --- Types --------------------------------------------------------------------------------------------

SCALARS = {
    "void": "void", "_Bool": "i8", "bool": "i8", "char": "i8", "signed char": "i8", "unsigned char": "u8",
    "short": "i16", "unsigned short": "u16", "int": "i32", "unsigned int": "u32", "long": "i64", "long long": "i64",
    "unsigned long": "u64", "unsigned long long": "u64", "float": "f32", "double": "f64",
}  # fmt: skip
SIZES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4}


def kind_of(spelled: str, known: Declarations) -> str:
    """The kind of a type as a table writes it."""
    plain = re.sub(r"\b(volatile|restrict|__restrict)\b", "", spelled).strip()
    if plain == "size_t":
        return "size"
    if "(*)" in plain:
        return "fn"
    if plain.endswith(("*", "*const")) or re.search(r"\[\d*\]$", plain):
        return pointer_kind(re.sub(r"\s*(\*(const)?|\[\d*\])$", "", plain), known)
    plain = re.sub(r"^const\s+|\s+const$", "", plain)
    if plain in SCALARS:
        return SCALARS[plain]
    if plain.startswith("enum ") or plain in known.enums:
        return "i32"
    if plain in known.typedefs and known.typedefs[plain] != plain:
        return kind_of(known.typedefs[plain], known)
    name = re.sub(r"^(struct|union) ", "", plain)
    if name in known.records:
        return "{" + run_lengths(flattened(known.records[name], known)) + "}"
    if name in known.typedefs:  # an enum without a name of its own
        return "i32"
    raise ValueError(f"what is {spelled!r}?")


def pointer_kind(pointee: str, known: Declarations) -> str:
    if pointee in ("const char", "char const"):
        return "text"
    name = re.sub(r"^(const )?(struct |union )?", "", pointee)
    if name in known.opaque and name not in known.records:
        return "handle"
    return "in" if pointee.startswith("const ") or pointee.endswith("const") else "out"


def flattened(record: dict, known: Declarations) -> list[str]:
    """The scalars of a struct, in order; of a union those of its largest member."""
    members: list[list[str]] = []
    nested: dict = {}
    for node in record.get("inner", ()):
        if node["kind"] in ("RecordDecl", "CXXRecordDecl") and node.get("completeDefinition"):
            nested = node
        elif node["kind"] == "FieldDecl":
            spelled, count = desugared(node), 1
            array = re.fullmatch(r"(.*?)\s*\[(\d+)\]", spelled)
            if array:
                spelled, count = array[1], int(array[2])
            if "unnamed" in spelled or "anonymous" in spelled:
                member = flattened(nested, known)
            else:
                kind = kind_of(spelled, known)
                member = unpacked(kind)
            members.append(member * count)
    if record.get("tagUsed") == "union":
        return max(members, key=lambda member: sum(SIZES.get(kind, 8) for kind in member))
    return [kind for member in members for kind in member]


def unpacked(kind: str) -> list[str]:
    if not kind.startswith("{"):
        return [{"handle": "u64", "in": "u64", "out": "u64", "text": "u64", "fn": "u64", "size": "u64"}.get(kind, kind)]
    found = []
    for part in kind[1:-1].split(","):
        scalar, _, count = part.partition("*")
        found += [scalar] * int(count or 1)
    return found


def run_lengths(kinds: list[str]) -> str:
    parts: list[tuple[str, int]] = []
    for kind in kinds:
        if parts and parts[-1][0] == kind:
            parts[-1] = (kind, parts[-1][1] + 1)
        else:
            parts.append((kind, 1))
    return ",".join(kind if count == 1 else f"{kind}*{count}" for kind, count in parts)


# --- A table ------------------------------------------------------------------------------------------


def functions_of(library: Library, folders: list[Path]) -> tuple[dict[str, Function], Declarations]:
    """All functions of the library's headers, and the declarations of the last reading."""
    found: dict[str, Function] = {}
    readings = [(library.headers, define) for define in library.defines]
    for headers, define in [((each,), "") for each in library.apart] + readings:
        known = read_headers(library, headers, define, folders)
        for node in known.functions:
            if re.match(library.names, node["name"]) and not is_defined(node):
                found.setdefault(node["name"], signature(node, library, known))
    return found, known


def is_defined(node: dict) -> bool:
    return node.get("storageClass") == "static" or any(i["kind"] == "CompoundStmt" for i in node.get("inner", ()))


def signature(node: dict, library: Library, known: Declarations) -> Function:
    returns = node["type"]["qualType"].split("(", 1)[0].strip()
    kind = kind_of(returns, known)
    if kind == "i32" and returns.removeprefix("enum ") == library.status:
        kind = "status"
    kind = {"in": "pointer", "out": "pointer", "handle": "pointer"}.get(kind, kind)
    parameters = [inner for inner in node.get("inner", ()) if inner["kind"] == "ParmVarDecl"]
    arguments = [kind_of(argument_type(parameter), known) for parameter in parameters]
    if node.get("variadic"):
        arguments.append("...")
    return Function(kind, " ".join(arguments))


def argument_type(node: dict) -> str:
    """As spelled where that says more (size_t), else resolved."""
    return "size_t" if node["type"]["qualType"] == "size_t" else desugared(node)


SUCCEEDS = re.compile(
    r"Destroy|Release|Unload|Unregister|Deregister|Close|Unmap|Unsubscribe|Free(?!ze|Node)|Shutdown"
    r"|^(?!nvml).*[a-z]Set(?!Vector|Matrix|Tensor$)[A-Z]|^p?ncclComm(Abort|Finalize)$|(Get|PeekAt)LastError$"
)
# An int that is no status.
COUNTS = re.compile(r"^nvshmem_.*_(n_pes|my_pe)$")


def answer(name: str, returns: str) -> str:
    """What the function answers where it is not implemented: "-" is the library's code.

    A destructor or a setter that fails ends torch by std::terminate, so those succeed."""
    if returns == "text":
        return "not supported by Flopcast"
    if returns in ("void", "pointer", "data"):
        return "-"
    if COUNTS.search(name):
        return "-1"
    if returns in ("status", "{i32*2}"):
        return "0" if SUCCEEDS.search(name) else "-"
    return "0"


def table(major: int, work: Path) -> tuple[str, str]:
    headers = work / f"headers{major}"
    for requirement in WHEELS[major]:
        unpack(wheel(requirement, work), r"/include/.*[^/]$", headers)
    folders = include_folders(headers)
    torch = work / TORCH[major].replace("==", "-")
    unpack(wheel(TORCH[major], work), r"^torch/(lib/|_C)[^/]*\.so", torch)
    known = libraries(major)
    wanted = undefined_symbols(torch, known)
    heads, rows = [], []
    for library in known:
        functions, declarations = functions_of(library, folders)
        add_unseen(functions, library, major, {name for name, _ in wanted.get(library.soname, ())})
        code = declarations.enumerators.get(library.unsupported, library.unsupported)
        heads.append(f"@{library.key}\t{library.soname}\t{node_of(library)}\t{int(code)}")
        rows += [
            f"{library.key}\t{name}\t{function.returns}\t{function.arguments}\t{answer(name, function.returns)}"
            for name, function in functions.items()
        ]
        print(f"{library.soname}: {len(functions)}", file=sys.stderr)
    title = f"torch {TORCH[major].split('==')[1]}"
    lines = [
        f"# Functions of NVIDIA's libraries for CUDA {major}, by tools/cuda_api.py; docs/theory/live.md has the format.",
        "# Libraries: @key, SONAME, version node, code of an unsupported call. Functions: key, name, what it returns,",
        "# what it is given, what it answers where it is not implemented (-: the library's code).",
    ]
    return "\n".join(lines + sorted(heads) + sorted(rows)) + "\n", symbols_text(title, wanted)


def add_unseen(functions: dict[str, Function], library: Library, major: int, wanted: set[str]) -> None:
    """What headers do not declare; and out with what nobody wants where not all is kept."""
    if library.key == "nvjitlink":  # each minor version adds names, and keeps those before and the plain one
        for name, function in list(functions.items()):
            of, _, last = name.rpartition("_")
            if last.isdigit():
                functions.update({f"{of}_{minor}": function for minor in range(int(last))})
                functions[re.sub(r"^__|_\d+$", "", of)] = function
    if library.key == "cudart":
        for name, (returns, arguments) in COMPILED_CODE.items():
            if major >= 13 or name not in SINCE_13:
                functions[name] = Function(returns, arguments)
    for name in sorted(wanted - functions.keys()):
        if name not in UNDECLARED:
            sys.exit(f"{library.soname}: {name} is wanted by torch and not declared in {', '.join(library.headers)}: "
                     "add its signature to UNDECLARED")  # fmt: skip
        functions[name] = Function(*UNDECLARED[name])
    if not library.all:
        for name in functions.keys() - wanted:
            del functions[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("major", type=int, choices=sorted(WHEELS))
    parser.add_argument("work", type=Path)
    parser.add_argument("--symbols", type=Path, help="also write what torch wants")
    options = parser.parse_args()
    text, symbols = table(options.major, options.work)
    out = ROOT / f"src/live/standin/api/cuda{options.major}.tsv"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text)
    if options.symbols:
        options.symbols.parent.mkdir(parents=True, exist_ok=True)
        options.symbols.write_text(symbols)


if __name__ == "__main__":
    main()
