// Floor 1: what is in a run, without its rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast {

/// Ranks that talk to each other, as rows of collectives name them.
struct GroupSummary {
  std::string name;         ///< Process Group Name
  std::string description;  ///< Process Group Description
  std::string ranks;        ///< "[0, 1]"
  std::int32_t size = 0;    ///< as its last row says; 0 where unknown
  std::uint64_t rows = 0;   ///< that name it, waits not counted
};

/// One step of a rank.
struct StepLength {
  std::string name;  ///< "ProfilerStep#12"
  Time length;       ///< on the host
};

/// One rank's recording, summed up.
struct TraceSummary : TraceFacts {
  Time span;                             ///< from the first start to the last end of a row
  std::uint64_t gpu_rows = 0;            ///< kernels, copies and sets
  std::uint64_t communication_rows = 0;  ///< of them: is_communication_kernel()
  std::uint64_t threads = 0;             ///< with host calls or operators
  std::uint64_t streams = 0;             ///< with GPU rows
  std::vector<StepLength> steps;         ///< those of find_steps(), in time order
  std::vector<GroupSummary> groups;      ///< ordered by name, description and ranks
  bool has_steps = false;                ///< rows mark them: `steps` is not the whole window
  bool has_shapes = false;               ///< of operators' inputs
  bool has_event_records = false;        ///< calls that record an event
  bool has_communication = false;        ///< kernels that is_communication_kernel() knows
  bool has_collectives = false;          ///< arguments of collectives
  bool has_launch_shapes = false;        ///< blocks of kernels
};

/// All ranks of one run, summed up.
struct RunSummary {
  std::string label;                   ///< of the TraceSet
  std::vector<TraceSummary> traces;    ///< ordered by rank
  Anomalies anomalies;                 ///< across files
  std::vector<Diagnostic> unreadable;  ///< files that were named or found but could not be read
  std::uint64_t most_rows = 0;         ///< rows of one file that were in memory at once, at most
};

/// How files are read to be summed up.
struct SummaryOptions {
  unsigned threads = 0;                ///< 0: all cores
  std::optional<StepRange> steps;      ///< as of ReadOptions
  std::uint32_t rows_at_once = 65536;  ///< of a JSON file; of a pack, a block of it
  /// bytes of files, now and then, from one thread at a time
  std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)> progress;
};

/// Sums up a run as read_traces() reads it by default, and forgets rows as they come: memory grows neither with
/// files nor with their number. All rows of a file are in memory only where a part of them says nothing: where
/// `steps` asks for a window of a JSON file, where rows begin and end apart (ph B and E) or lie 53 days apart, and
/// from pipes.
/// @param paths, prefix as of read_traces()
Result<RunSummary> summarise_traces(const std::vector<std::filesystem::path>& paths,
                                    const SummaryOptions& options = {},
                                    const std::string& prefix = "");

/// The same of a run that was read.
RunSummary summary_of(const TraceSet& set);

/// truncated_files() of a run that was summed up.
std::vector<std::string> truncated_files(const RunSummary& run);

}  // namespace flopcast
