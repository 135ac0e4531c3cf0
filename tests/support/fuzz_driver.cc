// Stands in for libFuzzer where a fuzz target is built without it: runs the target over every file
// named on the command line, recursing into folders, and over the empty input. Past findings and
// seeds thus run in every build of the tests.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

bool run_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // An exact-size heap copy, so that AddressSanitizer sees a read past the end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  std::fprintf(stderr, "running %s (%zu bytes)\n", path.c_str(), exact.size());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerTestOneInput(nullptr, 0);
  std::size_t inputs = 1;
  bool readable = true;
  for (int i = 1; i < argc; ++i) {
    const fs::path root(argv[i]);
    if (!fs::is_directory(root)) {
      readable = run_file(root) && readable;
      ++inputs;
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      readable = run_file(entry.path()) && readable;
      ++inputs;
    }
  }
  std::fprintf(stderr, "%zu inputs, no finding\n", inputs);
  return readable ? 0 : 1;
}
