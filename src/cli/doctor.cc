// flopcast doctor: what this program is and where it runs, to be pasted into a report of a problem.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text/format.h"
#include "cli/terminal/command.h"
#include "flopcast/version.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif
#ifdef NDEBUG
constexpr const char* kChecks = "assertions off";
#else
constexpr const char* kChecks = "assertions on";
#endif

std::string kernel_name() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string distribution() {
  std::ifstream file("/etc/os-release");
  std::string line;
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (std::getline(file, line)) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    std::erase(line, '"');
    return line;
  }
  return "unknown";
}

std::string memory() {
  const long page = ::sysconf(_SC_PAGESIZE);
  return fmt::format("{} ({} free now)", short_bytes(page * ::sysconf(_SC_PHYS_PAGES)),
                     short_bytes(page * ::sysconf(_SC_AVPHYS_PAGES)));
}

std::string disk() {
  std::error_code error;
  const fs::space_info space = fs::space(fs::current_path(error), error);
  if (error) return "unknown: " + error.message();
  return fmt::format("{} free here", short_bytes(static_cast<std::int64_t>(space.available)));
}

std::string in_path(const char* program) {
  const char* variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "";
  while (!path.empty()) {
    const std::size_t colon = path.find(':');
    const fs::path candidate = fs::path(path.substr(0, colon)) / program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
    path = colon == std::string_view::npos ? "" : path.substr(colon + 1);
  }
  return "not found";
}

int run_doctor(Io& io) {
  std::string text;
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("{:<10} {}\n", what, value);
  };
  line("flopcast", fmt::format("{} ({})", kVersion, git_revision()));
  line("built by", fmt::format("{}, {}", kCompiler, kChecks));
  line("system", fmt::format("{}, {}", distribution(), kernel_name()));
  line("cores", std::to_string(std::thread::hardware_concurrency()));
  line("memory", memory());
  line("disk", disk());
  line("python3", in_path("python3"));
  line("nvidia-smi", in_path("nvidia-smi") + " (not needed: forecasts run without a GPU)");
  text += "\nA trace that behaves oddly: flopcast trace validate PATH\n";
  return print(io, text, {});
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("doctor", "What this program is and where it runs");
  set_example(*sub, "flopcast doctor");
  sub->callback([&action] { action = run_doctor; });
}

}  // namespace flopcast::cli
