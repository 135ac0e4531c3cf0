// The tasks of a run as a trace: what the profiler would have recorded on that cluster.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flopcast/live.h"
#include "flopcast/trace.h"
#include "live/session/session.h"

namespace flopcast::live {

class TimelineWriter {
 public:
  /// @param gpu name of the GPUs
  explicit TimelineWriter(std::string gpu, std::int32_t cores);
  /// @param group ranks that communicate: "0,1"
  void add(const ToldTask& told, const Processor& on, std::string_view name,
           std::string_view group);
  /// All that was added, as one trace a rank, with the steps that were found in them.
  TraceSet take(std::string label, const std::vector<LiveRank>& ranks);

 private:
  struct Row {
    Time start, end;
    std::uint32_t name = 0;
    std::uint32_t track = 0;  ///< of its rank
    Category category = Category::kRuntime;
    std::int32_t stream = kNoStream;
    std::int32_t device = -1;
    std::int64_t correlation = kNoId;
    TaskNote note;
  };
  struct Open {
    std::uint32_t name = 0;
    Time start;
  };
  struct Rank {
    std::vector<Row> rows;
    std::vector<std::pair<Processor::Kind, std::int64_t>> track_ids;
    std::map<std::uint32_t, std::vector<Open>> operators, marks;  ///< by track
  };

  std::uint32_t track_of(Rank& rank, const Processor& on) const;
  void add_gpu(Rank& rank, Row row, const ToldTask& told, std::string_view name);
  void add_range(Rank& rank, Row row, std::vector<Open>& open, std::string_view name, bool begins);
  std::uint32_t name_of_kernel(const ToldTask& told, std::string_view signature);
  void add_steps(Rank& rank, const std::vector<LiveStep>& steps);
  void write(Trace& trace, Rank& rank);
  void append(Trace& trace, const Row& row);
  std::uint32_t detail_of(Trace& trace, const Row& row) const;
  std::uint32_t collective_of(Trace& trace, const Row& row);

  std::string gpu_;
  std::int32_t cores_ = 0;
  TraceSet set_;
  std::map<std::int32_t, Rank> ranks_;
  std::unordered_map<std::uint32_t, std::uint32_t> kernel_names_;  ///< by name of the task
};

}  // namespace flopcast::live
