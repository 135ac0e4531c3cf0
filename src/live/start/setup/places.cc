// Where the stand-ins lie, and what they lack.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "flopcast/live/setup.h"
#include "live/start/setup/elf.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

namespace fs = std::filesystem;

constexpr const char* kCore = "libflopcast_live.so";

constexpr const char* kNamed = "FLOPCAST_LIVE_LIBRARIES";

/// This program, where it really lies.
fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

/// Folders that may hold cuda13/, cuda12/ and serve.py, the likeliest first.
std::vector<fs::path> likely_folders() {
  if (const char* named = std::getenv(kNamed)) return {fs::path(named)};
  std::error_code ignored;
  const fs::path own = own_program().parent_path(), prefix = own.parent_path();
  std::vector<fs::path> folders = {own / "live",                   // a build tree
                                   prefix / "flopcast" / "live"};  // pip install --target
  for (const char* lib : {"lib", "lib64"}) {
    const fs::path under = prefix / lib;
    folders.push_back(under / "flopcast" / "live");
    // A wheel keeps them in its package. Debian's folder has the architecture in between.
    for (const fs::directory_entry& entry : fs::directory_iterator(under, ignored)) {
      const fs::path& path = entry.path();
      if (path.filename().string().starts_with("python")) {
        for (const char* packages : {"site-packages", "dist-packages"})
          folders.push_back(path / packages / "flopcast" / "live");
      }
      if (path.filename().string().find("-linux-") != std::string::npos)
        folders.push_back(path / "flopcast" / "live");
    }
  }
  return folders;
}

Diagnostic no_libraries() {
  if (const char* named = std::getenv(kNamed)) {
    return {ErrorCode::kBadInput, named, "the libraries that stand in for NVIDIA's are not there",
            fmt::format("{} names a folder that holds cuda13/: live/ of a build tree, "
                        "lib/flopcast/live of an installation",
                        kNamed)};
  }
  return {ErrorCode::kBadInput, own_program().string(),
          "the libraries that stand in for NVIDIA's are neither beside it nor under its prefix",
          fmt::format("cmake --install and pip install bring them along; or name their folder, "
                      "live/ of a build tree, with {}",
                      kNamed)};
}

std::string folder_name(unsigned major) { return fmt::format("cuda{}", major); }

/// Whether a symbol without a version is one of NVIDIA's, by how they name them.
bool is_of_nvidia(std::string_view name) {
  for (const std::string_view prefix :
       {"nccl", "cusparseLt", "cuFile", "nvshmem", "nvml", "cuda"}) {
    if (name.starts_with(prefix)) return true;
  }
  // The driver: cuMemAlloc.
  return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

/// Versions of the C and C++ libraries: the core has some of their functions, too, and others have the rest.
bool is_of_system(std::string_view version) {
  for (const std::string_view prefix : {"GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_"}) {
    if (version.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

Result<fs::path> live_libraries(unsigned cuda_major) {
  const std::vector<fs::path> folders = likely_folders();
  std::error_code ignored;
  std::set<std::string> there;
  for (const fs::path& folder : folders) {
    const fs::path libraries = folder / folder_name(cuda_major);
    if (fs::exists(libraries / kCore, ignored)) return libraries;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("cuda") && fs::exists(entry.path() / kCore, ignored))
        there.insert(name.substr(4));
    }
  }
  if (there.empty()) return no_libraries();
  std::string majors;
  for (const std::string& major : there) majors += (majors.empty() ? "" : ", ") + major;
  return usage_error(
      fmt::format("CUDA {}", cuda_major),
      fmt::format("nothing stands in for its libraries, only for those of CUDA {}", majors),
      fmt::format("install a PyTorch that was built for CUDA {}", *there.rbegin()));
}

std::optional<fs::path> live_fork_server(const fs::path& libraries) {
  const fs::path server = libraries.parent_path() / "serve.py";
  std::error_code ignored;
  return fs::exists(server, ignored) ? std::optional(server) : std::nullopt;
}

Result<std::vector<LiveMissing>> live_missing(const fs::path& torch, const fs::path& libraries) {
  const auto core = dynamic_symbols(libraries / kCore);
  if (!core) return core.error();
  std::set<std::string> defined, nodes;
  for (const DynamicSymbol& symbol : *core) {
    if (!symbol.defined) continue;
    defined.insert(symbol.name + '@' + symbol.version);
    if (!symbol.version.empty() && !is_of_system(symbol.version)) nodes.insert(symbol.version);
  }
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(torch / "lib", ignored)) {
    if (entry.path().filename().string().find(".so") != std::string::npos)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::pair<fs::path, DynamicSymbol>> wanted;
  for (const fs::path& file : files) {
    auto symbols = dynamic_symbols(file);
    if (!symbols) return symbols.error();
    for (DynamicSymbol& symbol : *symbols) {
      const bool ours =
          symbol.version.empty() ? is_of_nvidia(symbol.name) : nodes.contains(symbol.version);
      if (!ours) continue;
      if (symbol.defined) defined.insert(symbol.name + '@' + symbol.version);  // PyTorch brings it
      if (!symbol.defined && !symbol.weak) wanted.emplace_back(file, std::move(symbol));
    }
  }
  std::vector<LiveMissing> missing;
  for (const auto& [file, symbol] : wanted) {
    const std::string full = symbol.name + '@' + symbol.version;
    if (!defined.insert(full).second) continue;
    missing.push_back({file.filename().string(), symbol.version.empty() ? symbol.name : full});
  }
  return missing;
}

}  // namespace flopcast
