// What is left of rows that nobody keeps.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flopcast/trace/summary.h"

namespace flopcast::trace {

/// A row among those of its trace: what tells the order of Events. Times in ticks since any origin.
struct RowPlace {
  std::int64_t start = 0, duration = 0, correlation = 0, external_id = 0;
  std::uint64_t order = 0;  ///< in the file

  std::int64_t end() const { return start + duration; }
  auto operator<=>(const RowPlace& o) const {
    return std::tuple(start, -duration, correlation, external_id, order) <=>
           std::tuple(o.start, -o.duration, o.correlation, o.external_id, o.order);
  }
};

/// Sums of the rows of one rank; those of parts of them add up in any order.
struct RowSummary {
  /// From the first start to the last end.
  struct Extent {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();

    bool empty() const { return first > last; }
    void add(std::int64_t from, std::int64_t to) {
      first = std::min(first, from);
      last = std::max(last, to);
    }
  };
  struct Mark {
    RowPlace at;
    std::string name;
  };
  struct Group {
    std::int32_t size = 0;
    std::uint64_t rows = 0;
    RowPlace last;
  };
  using GroupNames = std::tuple<std::string, std::string, std::string>;

  Extent all, activity;
  std::uint64_t counts[kCategoryCount] = {};
  std::uint64_t gpu_rows = 0, communication_rows = 0;
  bool shapes = false, event_records = false, communication = false, collectives = false,
       launch_shapes = false;
  std::set<std::pair<std::string, std::string>> threads;    // pid, tid
  std::set<std::pair<std::int32_t, std::int32_t>> streams;  // of a device
  std::map<GroupNames, Group> groups;
  std::vector<Mark> marks;

  void merge(const RowSummary& other);
  /// Writes it to a summary. @param tick of the rows' times
  void tell(Time tick, TraceSummary& out) const;
};

/// Adds up rows that share columns, tracks and texts.
class RowCounter {
 public:
  /// @param trace its times are not used
  RowCounter(const Trace& trace, const StringTable& strings)
      : trace_(trace), strings_(strings), talks_(strings.size(), -1), busy_(trace.tracks.size()) {}

  void add(std::size_t row, std::int64_t start, std::int64_t duration, std::uint64_t order);
  RowSummary take();

 private:
  void add_gpu_row(std::size_t row);
  void add_collective(const CollectiveDetail& detail, const RowPlace& at);
  bool is_communication(std::uint32_t name);

  const Trace& trace_;
  const StringTable& strings_;
  std::vector<signed char> talks_;  // by text: is_communication_kernel(), -1 where nobody asked
  std::vector<bool> busy_;          // tracks with host calls or operators
  RowSummary sums_;
};

}  // namespace flopcast::trace
