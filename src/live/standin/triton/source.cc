#include "live/standin/triton/source.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace flopcast::live::triton {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->is_directory(ignored)) found.push_back(at->path());
  }
  return found;
}

/// As Triton and PyTorch look for them.
std::vector<fs::path> caches() {
  std::vector<fs::path> all;
  if (const std::string own = variable("TRITON_CACHE_DIR"); !own.empty()) all.emplace_back(own);
  for (const char* const home : {"TRITON_HOME", "HOME"}) {
    if (const std::string at = variable(home); !at.empty())
      all.push_back(fs::path(at) / ".triton" / "cache");
  }
  std::vector<fs::path> inductor;
  if (const std::string own = variable("TORCHINDUCTOR_CACHE_DIR"); !own.empty()) {
    inductor.emplace_back(own);
  } else {
    std::error_code ignored;
    const fs::path temporary = fs::temp_directory_path(ignored);
    for (const fs::path& folder : folders_in(temporary)) {
      const bool mine = folder.filename().string().starts_with("torchinductor_");
      if (mine && ::access(folder.c_str(), R_OK) == 0) inductor.push_back(folder);
    }
  }
  for (const fs::path& folder : inductor) {
    const std::vector<fs::path> devices = folders_in(folder / "triton");
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

std::shared_ptr<const Kernel> read(const fs::path& binary) {
  fs::path beside = binary;
  const auto text = contents(beside.replace_extension(".ttir"));
  if (!text) return nullptr;
  std::optional<Program> program = parse_program(*text);
  if (!program) return nullptr;
  auto made = std::make_shared<Kernel>();
  made->program = std::move(*program);
  for (const std::string_view one : {"tt.ptr_to_int", "tt.int_to_ptr", "!tt.ptr<!tt.ptr"})
    made->tells_addresses = made->tells_addresses || text->find(one) != text->npos;
  if (const auto facts = contents(beside.replace_extension(".json"))) {
    constexpr std::string_view kBlocks = "\"num_ctas\":";
    const std::size_t at = facts->find(kBlocks);
    if (at != facts->npos)
      made->blocks = std::max(1, std::atoi(facts->c_str() + at + kBlocks.size()));
  }
  return made;
}

/// Whether the file has these bytes; a cubin tells its length, the file may have more.
bool is(const fs::path& path, std::string_view binary) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) < binary.size() || ignored) return false;
  const auto bytes = contents(path);
  return bytes && std::string_view(*bytes).substr(0, binary.size()) == binary;
}

}  // namespace

std::shared_ptr<const Kernel> find_kernel(const std::string& name, std::string_view binary,
                                          const std::filesystem::path& file) {
  if (!file.empty()) {
    if (auto found = read(file)) return found;
  }
  if (binary.empty() || name.find('/') != name.npos) return nullptr;
  for (const fs::path& cache : caches()) {
    for (const fs::path& folder : folders_in(cache)) {
      const fs::path path = folder / (name + ".cubin");
      if (!is(path, binary)) continue;
      if (auto found = read(path)) return found;
    }
  }
  return nullptr;
}

}  // namespace flopcast::live::triton
