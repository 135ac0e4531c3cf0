// Floor 5: what a live run needs of the machine: a Python, its PyTorch, the stand-ins for the libraries that this PyTorch
// was built for, memory. Nothing here imports PyTorch, so that one that cannot be loaded can be asked about too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// A Python and the PyTorch that it would import.
struct LivePython {
  std::string program;          ///< as asked for
  std::filesystem::path path;   ///< the interpreter's own
  std::string version;          ///< "3.11.2"
  std::filesystem::path torch;  ///< package folder; empty: there is none
  std::string torch_version;    ///< "2.15.0+cu132"
  std::string cuda;             ///< "13.2": that it was built for; empty: for none
  unsigned cuda_major() const;  ///< 13; 0 for none
};
/// Asks a Python. Errors: it cannot be started, or is none.
Result<LivePython> look_at_python(const std::string& program);

/// The plug-in for this PyTorch, which computes the values of small tensors; compiled against its headers once a
/// version, and kept in the user's cache. Errors: a PyTorch without CUDA, no compiler, a version that it cannot be
/// compiled for.
/// @param libraries as live_libraries()
/// @param compiles called before it is compiled, which takes half a minute
Result<std::filesystem::path> live_torch_plugin(const LivePython& python,
                                                const std::filesystem::path& libraries,
                                                const std::function<void()>& compiles = {});

/// The folder of the stand-ins for a CUDA major: beside this program in a build tree, under its prefix where it is
/// installed, or in $FLOPCAST_LIVE_LIBRARIES. Errors: they are not there; the majors that are.
Result<std::filesystem::path> live_libraries(unsigned cuda_major);
/// The program that makes ranks by forking; none if it does not lie where the stand-ins do.
std::optional<std::filesystem::path> live_fork_server(const std::filesystem::path& libraries);

/// A function of NVIDIA's that nobody stands in for.
struct LiveMissing {
  std::string library;  ///< that wants it: "libtorch_cuda.so"
  std::string symbol;   ///< "cudaMalloc@libcudart.so.13"
};
/// What the libraries of a PyTorch want of NVIDIA's and the stand-ins lack, each symbol once. Errors: a library that
/// cannot be read.
Result<std::vector<LiveMissing>> live_missing(const std::filesystem::path& torch,
                                              const std::filesystem::path& libraries);

/// Memory that a run needs for its processes, not for what they compute.
struct LiveMemory {
  std::int64_t needed = 0;     ///< bytes, for so many ranks
  std::int64_t available = 0;  ///< bytes that the machine, or this group of processes, has left
};
/// @param forked ranks share what they import
LiveMemory live_memory(std::uint32_t ranks, bool forked, bool with_torch);
/// That the machine has less than that.
std::optional<Diagnostic> memory_problem(std::uint32_t ranks, bool forked, bool with_torch);

/// That a launcher has started this program several times over.
struct LiveCopies {
  std::string variable;      ///< of its environment, which numbers this one: "SLURM_PROCID"
  std::uint64_t number = 0;  ///< of this one, from 0
  std::uint64_t all = 0;
};
/// None where it is the only one.
std::optional<LiveCopies> live_copies();

/// What keeps any live run from starting here: shared memory that has no name. None if nothing does.
std::optional<Diagnostic> live_obstacle();

}  // namespace flopcast
