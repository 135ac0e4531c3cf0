#include "cli/trace/runs.h"

#include <system_error>

#include "cli/terminal/progress.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

std::string folder_name(const fs::path& path) {
  std::error_code ignored;
  const fs::path clean = fs::weakly_canonical(path, ignored);
  return clean.has_filename() ? clean.filename().string() : clean.parent_path().filename().string();
}

}  // namespace

Result<std::vector<Run>> runs_of(const fs::path& path, const std::string& prefix) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return std::vector<Run>{{path.filename().string(), {path}}};
  const auto runs = list_runs(path);
  if (!runs) return runs.error();
  // One run, or none: the reader takes the folder, and tells what else lies in it.
  if (runs->size() <= 1 && prefix.empty()) return std::vector<Run>{{folder_name(path), {path}}};
  std::vector<Run> list;
  for (const auto& [label, files] : *runs) {
    if (label.starts_with(prefix)) list.push_back({folder_name(path) + '/' + label, files});
  }
  if (!list.empty()) return list;
  return Diagnostic{ErrorCode::kUsage, path.string(), "no run here starts with '" + prefix + "'",
                    "leave --prefix away to see all"};
}

Result<std::vector<Run>> runs_of(const InputOptions& input) {
  if (input.paths.size() == 1) return runs_of(input.paths.front(), input.prefix);
  if (input.prefix.empty()) return std::vector<Run>{{"", input.paths}};
  return Diagnostic{ErrorCode::kUsage, "--prefix", "goes with a single folder",
                    "name one folder, or the files"};
}

Diagnostic several_runs(const InputOptions& input, const std::vector<Run>& runs,
                        std::string_view why) {
  std::string names;
  for (const Run& run : runs) names += "\n  " + fs::path(run.name).filename().string();
  return {ErrorCode::kUsage, input.paths.front().string(),
          "holds several runs, and " + std::string(why) + ":" + names, "choose one with --prefix"};
}

Result<TraceSet> read_run(Io& io, const Run& run, ReadOptions options) {
  Progress progress(io);
  options.progress = progress.callback();
  Result<TraceSet> set = read_traces(run.paths, options);
  if (!set) return set;
  // A file that was named tells its run's name itself: a pack, as the traces in it were called.
  std::error_code ignored;
  const fs::path& first = run.paths.front();
  const bool named_file = !fs::is_directory(first, ignored) && run.name == first.filename();
  if (!run.name.empty() && !named_file) set->label = run.name;
  for (const std::string& file : truncated_files(*set)) warn(io, "cut short: " + file);
  return set;
}

int for_each_run(Io& io, const InputOptions& input,
                 const std::function<int(const TraceSet&)>& use) {
  const Result<std::vector<Run>> runs = runs_of(input);
  if (!runs) return fail(io, runs.error());
  ReadOptions options;
  options.threads = input.threads;
  options.steps = input.steps;
  int first_code = kDone;
  const auto keep = [&first_code](int code) {
    first_code = first_code == kDone ? code : first_code;
  };
  for (const Run& run : *runs) {
    const Result<TraceSet> set = read_run(io, run, options);
    if (!set) {
      keep(fail(io, set.error()));
      continue;
    }
    for (const Diagnostic& bad : set->unreadable) {
      warn(io, bad.text());
      keep(static_cast<int>(ErrorCode::kBadInput));
    }
    keep(use(*set));
  }
  return first_code;
}

}  // namespace flopcast::cli
