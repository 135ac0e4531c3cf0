// A folder may hold several runs, each of several ranks: which files belong together.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/io.h"
#include "cli/terminal/options.h"
#include "flopcast/trace.h"
#include "flopcast/trace/summary.h"

namespace flopcast::cli {

struct Run {
  std::string name;  ///< empty: the name the reader gives it
  std::vector<std::filesystem::path> paths;
};

/// Every run of a folder, or of those whose names start with `prefix`; a file is a run by itself.
Result<std::vector<Run>> runs_of(const std::filesystem::path& path, const std::string& prefix);

/// What a command line names: every run of one folder; several paths are one run together.
Result<std::vector<Run>> runs_of(const InputOptions& input);

/// Why a command that writes one run does not take several. @param why "a pack holds one"
Diagnostic several_runs(const InputOptions& input, const std::vector<Run>& runs,
                        std::string_view why);

/// Reads one run, showing progress, and warns of files that could not be read.
Result<TraceSet> read_run(Io& io, const Run& run, ReadOptions options);

/// Reads the runs a command line names one after the other and hands each to `use`. A run that
/// cannot be read is named on stderr and does not lose the others. @return exit code, the first
/// that is not 0.
int for_each_run(Io& io, const InputOptions& input, const std::function<int(const TraceSet&)>& use);
/// The same of what is in them, without their rows.
int for_each_summary(Io& io, const InputOptions& input,
                     const std::function<int(const RunSummary&)>& use);

}  // namespace flopcast::cli
