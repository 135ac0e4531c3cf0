// The program of all fuzz targets: `flopcast_fuzz NAME [file or folder]...`, or the name in FLOPCAST_FUZZ_TARGET.
//
// With libFuzzer, what follows NAME is libFuzzer's. Without it, the target runs over the empty input and every file named
// on the command line, recursing into folders: past findings and seeds thus run in every build of the tests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/fuzz_target.h"

namespace flopcast::test {
namespace {

namespace fs = std::filesystem;

const FuzzTarget* all_targets =
    nullptr;  // no constructor: it must be there before the first target is
FuzzFunction chosen = nullptr;

/// What follows the last src/, as one word.
std::string name_of(const FuzzTarget& target) {
  const std::string path = std::string("/") + target.source_file;
  const std::string src = "/src/";
  const std::size_t room = path.rfind(src);
  std::string name = room == std::string::npos ? path : path.substr(room + src.size());
  name.resize(name.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// Chooses the target that the environment names, or the first argument, which is taken away: processes that libFuzzer
/// starts are not told it again.
void choose(int& argc, char** argv) {
  constexpr const char* kVariable = "FLOPCAST_FUZZ_TARGET";
  const char* set = std::getenv(kVariable);
  const std::string name = set != nullptr ? set : argc > 1 ? argv[1] : "";
  std::vector<std::string> known;
  for (const FuzzTarget* target = all_targets; target != nullptr; target = target->next) {
    known.push_back(name_of(*target));
    if (known.back() == name) chosen = target->one_input;
  }
  if (chosen == nullptr) {
    std::sort(known.begin(), known.end());
    std::fprintf(stderr, "no fuzz target '%s'; there are:\n", name.c_str());
    for (const std::string& one : known) std::fprintf(stderr, "  %s\n", one.c_str());
    std::exit(2);
  }
  if (set != nullptr) return;
  setenv(kVariable, name.c_str(), 1);
  std::copy(argv + 2, argv + argc, argv + 1);
  argv[--argc] = nullptr;
}

[[maybe_unused]] bool run_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // An exact-size heap copy, so that AddressSanitizer sees a read past the end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  std::fprintf(stderr, "running %s (%zu bytes)\n", path.c_str(), exact.size());
  chosen(exact.data(), exact.size());
  return true;
}

}  // namespace

FuzzTarget::FuzzTarget(const char* file, FuzzFunction function)
    : source_file(file), one_input(function), next(all_targets) {
  all_targets = this;
}

}  // namespace flopcast::test

#ifdef FLOPCAST_LIBFUZZER

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  flopcast::test::choose(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return flopcast::test::chosen(data, size);
}

#else

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace flopcast::test;
  choose(argc, argv);
  chosen(nullptr, 0);
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

#endif
