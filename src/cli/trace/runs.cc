#include "cli/trace/runs.h"

#include <system_error>

#include "cli/terminal/progress.h"
#include "flopcast/live.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

std::string folder_name(const fs::path& path) {
  std::error_code ignored;
  const fs::path clean = fs::weakly_canonical(path, ignored);
  return clean.has_filename() ? clean.filename().string() : clean.parent_path().filename().string();
}

/// What was read of a run under the name it goes by; tells files that were cut short.
template <typename Set>
Result<Set> named(Io& io, const Run& run, Result<Set> set) {
  if (!set) return set;
  // A file that was named tells its run's name itself: a pack, as the traces in it were called.
  std::error_code ignored;
  const fs::path& first = run.paths.front();
  const bool named_file = !fs::is_directory(first, ignored) && run.name == first.filename();
  if (!run.name.empty() && !named_file) set->label = run.name;
  for (const std::string& file : truncated_files(*set)) warn(io, "cut short: " + file);
  return set;
}

/// What a profiler would have recorded of a captured run.
Result<TraceSet> recorded(const fs::path& capture, const ReadOptions& options) {
  if (options.steps) {
    return usage_error("--steps", "chooses steps of recordings, and a captured run is one whole",
                       "write a recording first: flopcast resolve FILE --recording DIR");
  }
  const Result<LiveReport> report = resolve_live({capture, "", "", true}, Catalog::builtin());
  if (!report) return report.error();
  return report->timeline(std::nullopt);
}

/// Reads the runs that a command line names, and hands each to `use`.
template <typename Use, typename Read>
int for_each(Io& io, const InputOptions& input, const Use& use, const Read& read) {
  const Result<std::vector<Run>> runs = runs_of(input);
  if (!runs) return fail(io, runs.error());
  int first_code = kDone;
  const auto keep = [&first_code](int code) {
    first_code = first_code == kDone ? code : first_code;
  };
  for (const Run& run : *runs) {
    const auto set = read(run);
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
  if (run.paths.size() == 1 && is_captured_run(run.paths.front()))
    return named(io, run, recorded(run.paths.front(), options));
  Progress progress(io);
  options.progress = progress.callback();
  return named(io, run, read_traces(run.paths, options));
}

int for_each_run(Io& io, const InputOptions& input,
                 const std::function<int(const TraceSet&)>& use) {
  ReadOptions options;
  options.threads = input.threads;
  options.steps = input.steps;
  options.keep_arguments = input.keep_arguments;
  return for_each(io, input, use, [&](const Run& run) { return read_run(io, run, options); });
}

int for_each_summary(Io& io, const InputOptions& input,
                     const std::function<int(const RunSummary&)>& use) {
  SummaryOptions options;
  options.threads = input.threads;
  options.steps = input.steps;
  return for_each(io, input, use, [&](const Run& run) {
    Progress progress(io);
    options.progress = progress.callback();
    return named(io, run, summarise_traces(run.paths, options));
  });
}

}  // namespace flopcast::cli
