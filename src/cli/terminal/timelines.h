// Timelines as files: --trace-out of several commands.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "flopcast/trace.h"

namespace flopcast::cli {

/// --trace-out FILE, as often as wanted. @param what "the replayed run"
void add_trace_out(CLI::App& command, const std::string& what,
                   std::vector<std::filesystem::path>& files);
/// Kineto JSON where the name ends in .json or .json.gz, Perfetto protobuf otherwise. @return exit
/// code
int write_timelines(Io& io, const std::vector<std::filesystem::path>& files, const TraceSet& set);

}  // namespace flopcast::cli
