// flopcast run --doctor: what a live run would find here, and what to do about what is not there.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text/format.h"
#include "cli/run/program.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSymbols = 12;

/// Lines of what is there, and in order what is wrong with it.
struct Findings {
  std::string text;
  std::vector<Diagnostic> problems;

  void line(const char* what, const std::string& value) {
    text += fmt::format("{:<14} {}\n", what, value);
  }
};

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return "unknown";
  return limit.rlim_max == RLIM_INFINITY ? "no limit" : grouped(limit.rlim_max);
}

std::string on_path(std::initializer_list<const char*> programs) {
  for (const char* program : programs) {
    std::string_view path = std::getenv("PATH") ? std::getenv("PATH") : "";
    while (!path.empty()) {
      const std::size_t colon = std::min(path.find(':'), path.size());
      const fs::path candidate = fs::path(path.substr(0, colon)) / program;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
      path.remove_prefix(std::min(colon + 1, path.size()));
    }
  }
  return "not found";
}

void look_at_symbols(Findings& found, const LivePython& python, const fs::path& libraries) {
  const Result<std::vector<LiveMissing>> missing = live_missing(python.torch, libraries);
  if (!missing) {
    found.problems.push_back(missing.error());
    return;
  }
  found.line("symbols", missing->empty()
                            ? "all that this PyTorch wants of NVIDIA's libraries are there"
                            : counted(missing->size(), "symbol") + " lacking:");
  for (std::size_t i = 0; i < std::min(missing->size(), kMostSymbols); ++i)
    found.line("", fmt::format("{} of {}", (*missing)[i].symbol, (*missing)[i].library));
  if (missing->empty()) return;
  found.problems.push_back(
      {ErrorCode::kBadInput, fmt::format("PyTorch {}", python.torch_version),
       fmt::format("wants {}, for which nothing stands in", missing->front().symbol),
       "use a version that docs/validation/live.md lists, or report it"});
}

void look_at_libraries(Findings& found, const LivePython* python, unsigned major) {
  const Result<fs::path> libraries = live_libraries(major);
  if (!libraries) {
    found.problems.push_back(libraries.error());
    return;
  }
  found.line("stand-ins", fmt::format("CUDA {}: {}", major, libraries->string()));
  const auto server = live_fork_server(*libraries);
  found.line("fork server", server ? server->string() : "not there: every rank is started alone");
  if (python && !python->torch.empty() && python->cuda_major() > 0)
    look_at_symbols(found, *python, *libraries);
}

void look_at_machine(Findings& found) {
  const auto obstacle = live_obstacle();
  if (obstacle) found.problems.push_back(*obstacle);
  found.line("shared memory", obstacle ? "cannot be made" : "can be made");
  std::error_code error;
  const fs::space_info shm = fs::space("/dev/shm", error);
  found.line("/dev/shm", error
                             ? "not there: PyTorch's DataLoader workers want it"
                             : fmt::format("{} free, for DataLoader workers",
                                           short_bytes(static_cast<std::int64_t>(shm.available))));
  const LiveMemory memory = live_memory(1, true, true), two = live_memory(2, true, true);
  found.line(
      "memory",
      fmt::format("{} free: about {} ranks of PyTorch", short_bytes(memory.available),
                  std::max<std::int64_t>(
                      0, (memory.available - memory.needed) / (two.needed - memory.needed) + 1)));
  found.line("processes", limit_text(RLIMIT_NPROC));
  found.line("open files", limit_text(RLIMIT_NOFILE));
  found.line("compiler",
             on_path({"g++", "clang++", "c++"}) + ", for what is built against PyTorch's headers");
}

}  // namespace

int run_live_doctor(Io& io, const LiveProgram& program) {
  Findings found;
  const Result<LivePython> python = look_at_python(program.python);
  unsigned major = program.cuda;
  if (python) {
    found.line("python", fmt::format("{} ({})", python->path.string(), python->version));
    found.line("torch", python->torch.empty()
                            ? "not installed: pip install torch"
                            : fmt::format("{}, {}", python->torch_version, python->torch.string()));
    if (!python->torch.empty())
      found.line("cuda",
                 python->cuda.empty() ? "none: this PyTorch was built without" : python->cuda);
    if (major == 0) major = python->cuda_major();
  } else {
    found.problems.push_back(python.error());
  }
  look_at_libraries(found, python ? &*python : nullptr, major > 0 ? major : 13);
  look_at_machine(found);
  const int code = print(io, found.text, {});
  for (const Diagnostic& problem : found.problems) fail(io, problem);
  return found.problems.empty() ? code : static_cast<int>(found.problems.front().code);
}

}  // namespace flopcast::cli
