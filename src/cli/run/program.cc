#include "cli/run/program.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/text/format.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "cli/terminal/options.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kNewestCuda = 13;

/// Whether a script names PyTorch, or what cannot be had without.
bool names_torch(const std::string& script) {
  std::ifstream file(script);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str().find("torch") != std::string::npos;
}

/// A launcher that is a Python itself is asked for its PyTorch.
std::string python_of(const LiveProgram& program) {
  const std::string first = program.launches && !program.words.empty()
                                ? fs::path(program.words.front()).filename().string()
                                : std::string();
  return first.starts_with("python") ? program.words.front() : program.python;
}

std::optional<Diagnostic> check_words(const LiveProgram& program) {
  if (program.words.empty()) {
    return usage_error("flopcast run", "has nothing to run",
                       "name a script, or a launcher behind `--`");
  }
  if (program.launches) return std::nullopt;
  std::error_code ignored;
  const fs::path script = program.words.front();
  if (fs::is_regular_file(script, ignored)) return std::nullopt;
  return usage_error(
      script.string(),
      fs::exists(script, ignored) ? "is no file that Python could run" : "is not there",
      "name a script of Python; other programs go behind `--`");
}

std::optional<Diagnostic> check_torch(const LivePython& python) {
  const std::string who = fmt::format("{} ({})", python.program, python.version);
  if (python.torch.empty()) {
    return Diagnostic{ErrorCode::kBadInput, who, "has no PyTorch, and the script imports it",
                      "pip install torch, or name another Python with --python"};
  }
  if (python.cuda_major() > 0) return std::nullopt;
  return Diagnostic{
      ErrorCode::kBadInput, who,
      fmt::format("has PyTorch {}, which was built without CUDA", python.torch_version),
      "install one with CUDA; it needs no GPU: pip install --force-reinstall torch"};
}

/// Ranks can stand for others where Flopcast makes them, and PyTorch tells who is in which group.
std::optional<Diagnostic> check_fold(const LiveProgram& program, const LiveRequest& request,
                                     bool torch) {
  if (program.launches) {
    return usage_error("--fold", "is not for programs that a launcher starts: it starts every rank",
                       "leave the launcher out: flopcast run --fold auto --ranks N SCRIPT");
  }
  if (request.fork_server.empty() || !torch) {
    return usage_error(
        "--fold", "is for scripts of PyTorch that run as several ranks of one fork server",
        "leave --no-fork-server out; a script that imports no torch needs no --fold");
  }
  return std::nullopt;
}

/// Words with commas between them.
std::optional<Diagnostic> check_values(std::string_view words) {
  const auto is_number_after = [](std::string_view word, std::string_view name) {
    return word.starts_with(name) &&
           parse_number<double>(word.substr(name.size())).value_or(-1) >= 0;
  };
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    const bool known = word == "neutral" || word == "strict" || word == "uniform" ||
                       word == "tainted:nan" || word == "tainted:zero" ||
                       is_number_after(word, "tainted:") || is_number_after(word, "zipf:") ||
                       is_number_after(word, "execute:");
    if (known) continue;
    return usage_error(
        "--values", fmt::format("knows no '{}'", word),
        "neutral, strict, uniform, tainted:nan, tainted:zero, tainted:NUMBER, zipf:S, "
        "execute:N, with commas between them");
  }
  return std::nullopt;
}

/// A file that calibrate host has written, by its ending.
bool names_table(const std::string& host) { return host.ends_with(".toml"); }

/// As --host says it; a file of it is one of --fit.
std::optional<Diagnostic> set_host(const std::string& host, LiveRequest& request) {
  if (host == "modelled" || names_table(host)) return std::nullopt;
  const auto factor = host == "measured"              ? 1.0
                      : host.starts_with("measured:") ? parse_number<double>(host.substr(9))
                                                      : std::optional<double>();
  if (!factor || *factor <= 0) {
    return usage_error(
        "--host",
        fmt::format("expected modelled, measured:FACTOR or a FILE.toml, found '{}'", excerpt(host)),
        "measured:0.5 is a host twice as fast as this one; flopcast calibrate host writes files");
  }
  request.host_factor = *factor;
  return std::nullopt;
}

}  // namespace

Result<LiveRequest> live_request(const LiveProgram& program,
                                 const std::function<void()>& compiles) {
  if (auto problem = check_words(program)) return *problem;
  LiveRequest request;
  if (auto problem = set_host(program.host, request)) return *problem;
  if (auto problem = check_values(program.values)) return *problem;
  std::vector<std::string> fits = program.fits;
  if (names_table(program.host)) fits.push_back(program.host);
  request.cluster = program.cluster;
  if (auto problem = take_fits(request.cluster, fits)) return *problem;
  const Result<Cluster> cluster = Catalog::builtin().cluster(request.cluster);
  if (!cluster) return cluster.error();
  request.operators = program.operators;
  request.launches = program.launches;
  request.ranks = program.ranks;
  request.nodes = program.nodes;
  const std::string asked = python_of(program);
  const Result<LivePython> python = look_at_python(asked);
  if (!python && !program.launches) return python.error();
  const bool torch = !program.launches && names_torch(program.words.front());
  if (torch) {
    if (auto problem = check_torch(*python)) return *problem;
  }
  const unsigned built_for = python ? python->cuda_major() : 0;
  const Result<fs::path> libraries = live_libraries(program.cuda > 0 ? program.cuda
                                                    : built_for > 0  ? built_for
                                                                     : kNewestCuda);
  if (!libraries) return libraries.error();
  request.libraries = *libraries;
  if (built_for > 0) {
    const Result<fs::path> plugin = live_torch_plugin(*python, *libraries, compiles);
    if (!plugin) return plugin.error();
    request.torch_plugin = *plugin;
  }
  if (!program.launches) request.command.push_back(asked);
  request.command.insert(request.command.end(), program.words.begin(), program.words.end());
  const std::uint32_t ranks =
      request.ranks > 0 ? request.ranks : static_cast<std::uint32_t>(cluster->chips());
  const auto server = live_fork_server(*libraries);
  if (!program.launches && !program.no_fork_server && server && ranks > 1) {
    request.fork_server = *server;
    if (torch) request.imports = {"torch"};
  }
  request.fold = program.fold;
  if (request.fold != Fold::kOff) {
    if (auto problem = check_fold(program, request, torch)) return *problem;
  } else {
    const std::uint32_t here = (ranks + program.hosts - 1) / program.hosts;
    if (auto problem = memory_problem(here, !request.fork_server.empty(), torch)) return *problem;
  }
  request.environment = {{"FLOPCAST_LIVE_VALUES", program.values}};
  return request;
}

Result<std::int64_t> start_of(const std::string& text) {
  if (text.empty()) return std::int64_t{0};
  if (const auto seconds = parse_number<double>(text); seconds && *seconds > 0 && *seconds < 9e9)
    return static_cast<std::int64_t>(std::llround(*seconds * 1e9));
  std::tm date{};
  std::istringstream in(text);
  char between = 0;
  in >> date.tm_year >> between >> date.tm_mon >> between >> date.tm_mday;
  const auto problem = usage_error("--start", fmt::format("'{}' is no time", text),
                                   "write 2026-01-31T12:00:00, or seconds since 1970");
  if (!in) return problem;
  if (in >> between >> date.tm_hour >> between >> date.tm_min) in >> between >> date.tm_sec;
  const std::chrono::year_month_day day(
      std::chrono::year(date.tm_year),
      std::chrono::month(static_cast<unsigned>(std::abs(date.tm_mon))),
      std::chrono::day(static_cast<unsigned>(std::abs(date.tm_mday))));
  if (!day.ok()) return problem;
  const auto time = std::chrono::sys_days(day) + std::chrono::hours(date.tm_hour) +
                    std::chrono::minutes(date.tm_min) + std::chrono::seconds(date.tm_sec);
  const std::int64_t ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  return ns > 0 ? Result<std::int64_t>(ns) : Result<std::int64_t>(problem);
}

}  // namespace flopcast::cli
