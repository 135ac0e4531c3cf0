// What `flopcast run` and `flopcast resolve` tell of a run: a summary, and files.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "flopcast/live.h"

namespace flopcast::cli {

/// Files that are wanted of a run; empty: not this one.
struct LiveFiles {
  std::filesystem::path html, json, recording, capture;
  std::vector<std::filesystem::path> trace_out;

  bool want_timeline() const { return !html.empty() || !trace_out.empty() || !recording.empty(); }
  /// Everything that can be told before hours of work: folders that cannot be made, disks that are full.
  std::optional<Diagnostic> problem() const;
};

/// Options for all but the capture.
void add_live_files(CLI::App& app, LiveFiles& files);
/// The summary on standard error, since standard output is the program's; then the files. @return exit code
int tell_run(Io& io, const LiveFiles& files, const LiveReport& report);
/// The files alone. @return exit code
int write_live_files(Io& io, const LiveFiles& files, const LiveReport& report);

}  // namespace flopcast::cli
