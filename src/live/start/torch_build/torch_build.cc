#include "live/start/torch_build/torch_build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/files/read_file.h"
#include "base/numeric/hash.h"
#include "live/start/torch_build/program.h"

namespace flopcast::live {
namespace {

namespace fs = std::filesystem;

/// Of the plug-in: values computed by the CPU are exact with any optimisation, and half a minute is long enough.
constexpr std::array kFlags = {"-std=c++20", "-O1", "-DNDEBUG", "-fPIC", "-shared", "-w"};

std::string without_end_of_line(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

/// All that a compilation depends on, by name.
Result<std::vector<fs::path>> sources_in(const fs::path& sources) {
  std::vector<fs::path> all;
  std::error_code error;
  for (const auto& file : fs::recursive_directory_iterator(sources / "live/standin/torch", error)) {
    if (file.path().extension() == ".cc" || file.path().extension() == ".h")
      all.push_back(fs::relative(file.path(), sources));
  }
  if (all.empty()) {
    return Diagnostic{ErrorCode::kBadInput, (sources / "live/standin/torch").string(),
                      "the sources of the plug-in for PyTorch are not there",
                      "build or install Flopcast again"};
  }
  all.insert(all.end(), {"live/standin/values/plugin.h", "live/standin/operators/operator.h"});
  std::sort(all.begin(), all.end());
  return all;
}

Result<std::uint64_t> hash_of(const TorchPackage& torch, const fs::path& sources,
                              const std::vector<fs::path>& files) {
  Hash hash;
  for (const char* flag : kFlags) hash.add(flag);
  std::vector<fs::path> all = {torch.folder / "version.py"};
  for (const fs::path& file : files) all.push_back(sources / file);
  for (const fs::path& file : all) {
    const Result<std::string> text = read_file(file);
    if (!text) return text.error();
    hash.add(*text);
  }
  return hash.value();
}

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "flopcast/torch";
  if (const std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".cache/flopcast/torch";
  return fs::temp_directory_path() / fmt::format("flopcast-{}/torch", ::getuid());
}

/// A compiler that runs; empty if there is none.
std::string find_compiler() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("CXX"); named && *named) candidates.emplace_back(named);
  candidates.insert(candidates.end(), {"c++", "g++", "clang++"});
  for (const std::string& candidate : candidates) {
    const Result<Printed> version = run_program({candidate, "--version"});
    if (version && version->status == 0) return candidate;
  }
  return {};
}

/// The line that says what is wrong, of all that a compiler says.
std::string first_error(const std::string& said) {
  const std::size_t error = said.find("error:");
  if (error == said.npos) return without_end_of_line(said.substr(0, said.find('\n')));
  const std::size_t begin = said.rfind('\n', error);
  const std::size_t first = begin == said.npos ? 0 : begin + 1;
  return said.substr(first, said.find('\n', error) - first);
}

/// PyTorch says by a symbol (of c10::Error) which of the two strings of the C++ library it uses: wheels up to 2.6 the old one.
bool has_new_strings(const TorchPackage& torch) {
  const Result<std::string> library = read_file(torch.folder / "lib/libc10.so");
  return !library || library->find("c105ErrorC2ENS_14SourceLocationESs") == std::string::npos;
}

Diagnostic not_writable(const fs::path& file, const std::error_code& error) {
  return {ErrorCode::kBadInput, file.string(),
          fmt::format("cannot be written: {}", error.message()),
          "make room there, or name another folder by XDG_CACHE_HOME"};
}

std::optional<Diagnostic> compile(const TorchPackage& torch, const fs::path& sources,
                                  const std::vector<fs::path>& files, const fs::path& to) {
  const std::string compiler = find_compiler();
  if (compiler.empty()) {
    return Diagnostic{ErrorCode::kBadInput, "plug-in for PyTorch",
                      "no C++ compiler is on PATH (c++, g++, clang++), and CXX names none",
                      "install one: apt install g++"};
  }
  // All of it as one source: most of the time goes into PyTorch's headers.
  const fs::path unit = to.string() + ".cc";
  {
    std::ofstream out(unit);
    for (const fs::path& file : files) {
      if (file.extension() == ".cc") out << "#include \"" << file.generic_string() << "\"\n";
    }
    if (!out.flush()) return not_writable(unit, std::error_code(errno, std::generic_category()));
  }
  const fs::path include = torch.folder / "include";
  std::vector<std::string> words = {compiler};
  words.insert(words.end(), kFlags.begin(), kFlags.end());
  words.push_back(fmt::format("-D_GLIBCXX_USE_CXX11_ABI={}", has_new_strings(torch) ? 1 : 0));
  words.insert(words.end(),
               {"-I", sources.string(), "-isystem", include.string(), "-isystem",
                (include / "torch/csrc/api/include").string(), unit.string(), "-o", to.string(),
                "-L", (torch.folder / "lib").string(), "-ltorch_cpu", "-lc10"});
  const Result<Printed> done = run_program(words);
  std::error_code ignored;
  fs::remove(unit, ignored);
  if (!done) return done.error();
  if (done->status == 0) return std::nullopt;
  fs::remove(to, ignored);
  return Diagnostic{
      ErrorCode::kBadInput, "plug-in for PyTorch " + torch.version,
      fmt::format("{} cannot compile it: {}", compiler, first_error(done->errors)),
      "it is made for PyTorch 2.6 to 2.15 and compilers with C++20; CXX names another one"};
}

}  // namespace

Result<fs::path> torch_plugin(const TorchPackage& torch, const fs::path& sources,
                              const std::function<void()>& compiles) {
  if (torch.cuda == 0) {
    return Diagnostic{ErrorCode::kBadInput, torch.folder.string(),
                      fmt::format("PyTorch {} was built without CUDA", torch.version),
                      "install one with it: pip install --no-deps torch"};
  }
  const Result<std::vector<fs::path>> files = sources_in(sources);
  if (!files) return files.error();
  const Result<std::uint64_t> hash = hash_of(torch, sources, *files);
  if (!hash) return hash.error();
  const fs::path folder = cache_folder();
  const fs::path plugin = folder / fmt::format("torch-{}-{:016x}.so", torch.version, *hash);
  std::error_code error;
  if (fs::exists(plugin, error)) return plugin;
  fs::create_directories(folder, error);
  const fs::path made = folder / fmt::format(".{}.{}", plugin.filename().string(), ::getpid());
  if (compiles) compiles();
  if (auto problem = compile(torch, sources, *files, made)) return *problem;
  // In one step: who comes at the same time finds all of it or nothing.
  fs::rename(made, plugin, error);
  if (error) return not_writable(plugin, error);
  return plugin;
}

}  // namespace flopcast::live
