// The tasks of a run as a trace: what the profiler would have recorded on that cluster. What tasks wait for is in it as
// profilers have it (launches, events, streams, collectives), so that `flopcast replay` finds the run's own graph again.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flopcast/live.h"
#include "flopcast/trace.h"
#include "live/engine/account/row_file.h"
#include "live/engine/session/session.h"

namespace flopcast::live {

class TimelineWriter {
 public:
  /// @param gpu name of the GPUs
  /// @param world ranks of a run of which not all are there; 0: those that do anything
  TimelineWriter(std::string gpu, std::int32_t cores, std::uint32_t world = 0);
  /// @param group ranks that communicate: "0,1"
  void add(const ToldTask& told, const Processor& on, std::string_view name,
           std::string_view group);
  /// All that was added, as one trace a rank, with the steps that were found in them.
  /// @param only this rank's; none: all
  Result<TraceSet> traces(const std::string& label, const std::vector<LiveRank>& ranks,
                          std::optional<std::int32_t> only = std::nullopt) const;
  std::size_t rows() const;       ///< of all ranks
  std::size_t rows_held() const;  ///< of those, that take memory

 private:
  struct Row {
    Time start, end;
    std::uint32_t name = 0;
    std::uint32_t track = 0;  ///< of its rank
    Category category = Category::kRuntime;
    std::int32_t stream = kNoStream;
    std::int32_t device = -1;
    std::int64_t correlation = kNoId;
    std::uint32_t signature = 0;  ///< of operators
    TaskNote note;
  };
  struct Open {
    std::uint32_t name = 0;
    Time start;
  };
  struct Rank {
    RowList<Row> rows;
    std::vector<std::pair<Processor::Kind, std::int64_t>> track_ids;
    std::map<std::uint32_t, std::vector<Open>> operators, marks;  ///< by track
    bool marked = false;                                          ///< its script marks steps
  };
  class TraceMaker;

  static std::uint32_t track_of(Rank& rank, Processor::Kind kind, std::int64_t id);
  void add_call(Rank& rank, Row row, const ToldTask& told, std::string_view name, std::int64_t on);
  void add_sync(Rank& rank, Row row, const ToldTask& told, std::int64_t on);
  void add_gpu(Rank& rank, Row row, const ToldTask& told, std::string_view name);
  void add_range(Rank& rank, Row row, std::vector<Open>& open, std::string_view name, bool begins);
  std::uint32_t name_of_kernel(const ToldTask& told, std::string_view signature);

  std::string gpu_;
  std::int32_t cores_ = 0;
  std::uint32_t world_ = 0;
  StringTable names_;  ///< of rows
  BlockFile file_;
  std::map<std::int32_t, Rank> ranks_;
  std::unordered_map<std::uint32_t, std::uint32_t> kernel_names_;  ///< by name of the task
  std::unordered_map<std::uint64_t, std::uint64_t>
      communicators_;  ///< in order of their first calls
};

}  // namespace flopcast::live
