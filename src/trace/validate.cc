// Checks across the rows of one rank. Nothing is repaired here: each oddity is counted, with its
// first example, and whoever builds a graph decides what to do about it.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/kineto/reader.h"

namespace flopcast::trace {
namespace {

using ByCorrelation = std::vector<std::pair<std::int64_t, std::uint32_t>>;  // (correlation, row)

std::string describe(const Trace& trace, const StringTable& strings, std::size_t row) {
  const Events& events = trace.events;
  return trace.path + ": \"" + std::string(strings[events.name[row]].substr(0, 80)) + "\" " +
         std::to_string(events.start[row].ps / 1000) + " ns after the first row";
}

/// Host calls that put work on a GPU, by name: only needed where no GPU row tells.
bool is_launch_name(std::string_view name) {
  for (const std::string_view part : {"LaunchKernel", "GraphLaunch", "LaunchCooperativeKernel",
                                      "MemcpyAsync", "MemsetAsync", "hipMemcpyWithStream"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

template <typename Pick>
ByCorrelation rows_by_correlation(const Events& events, Pick pick) {
  ByCorrelation out;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (pick(events.category[row]) && events.correlation[row] != kNoId) {
      out.emplace_back(events.correlation[row], row);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Checks {
 public:
  Checks(Trace& trace, const StringTable& strings) : trace_(trace), strings_(strings) {}

  void launches() {
    const Events& events = trace_.events;
    const auto host = rows_by_correlation(events, is_host_call);
    const auto gpu = rows_by_correlation(events, is_gpu_work);
    for (std::uint32_t row = 0; row < events.size(); ++row) {
      if (is_gpu_work(events.category[row]) && events.correlation[row] == kNoId) {
        count("gpu_row_without_launch", row);
      }
    }
    auto h = host.begin();
    auto g = gpu.begin();
    while (h != host.end() || g != gpu.end()) {
      const std::int64_t correlation = g == gpu.end()    ? h->first
                                       : h == host.end() ? g->first
                                                         : std::min(h->first, g->first);
      const auto ends = [correlation](const auto& pair) { return pair.first != correlation; };
      const auto host_end = std::find_if(h, host.end(), ends);
      const auto gpu_end = std::find_if(g, gpu.end(), ends);
      one_correlation(h, host_end, g, gpu_end);
      h = host_end;
      g = gpu_end;
    }
  }

  // Rows of a host thread nest. A row that outlives the one it began in is told, unless it is by no
  // more than the clock can resolve.
  void nesting() {
    const Events& events = trace_.events;
    std::vector<std::vector<Time>> open(
        trace_.tracks.size());  // ends of the rows around, per track
    for (std::uint32_t row = 0; row < events.size(); ++row) {
      if (!runs_on_host_thread(events.category[row])) continue;
      std::vector<Time>& around = open[events.track[row]];
      while (!around.empty() && around.back() <= events.start[row]) around.pop_back();
      const Time end = events.end(row);
      if (!around.empty() && end > around.back() + trace_.clock_step) {
        count("child_outlasts_parent", row);
      }
      around.push_back(around.empty() ? end : std::min(end, around.back()));
    }
  }

  void streams() {
    const Events& events = trace_.events;
    std::unordered_map<std::uint64_t, Time> busy_until;
    for (std::uint32_t row = 0; row < events.size(); ++row) {
      if (!is_gpu_work(events.category[row]) || events.stream[row] == kNoStream) continue;
      const std::uint64_t stream = std::uint64_t{static_cast<std::uint32_t>(events.device[row])}
                                       << 32 |
                                   static_cast<std::uint32_t>(events.stream[row]);
      const auto [known, first] = busy_until.try_emplace(stream, events.end(row));
      if (first) continue;
      if (events.start[row] + trace_.clock_step < known->second) {
        count("kernels_overlap_in_stream", row);
      }
      known->second = std::max(known->second, events.end(row));
    }
  }

 private:
  using Iterator = ByCorrelation::const_iterator;

  static bool runs_on_host_thread(Category category) {
    return category == Category::kCpuOp || is_host_call(category) ||
           category == Category::kUserAnnotation || category == Category::kPythonFunction;
  }

  // All host and all GPU rows of one correlation.
  void one_correlation(Iterator h, Iterator host_end, Iterator g, Iterator gpu_end) {
    const Events& events = trace_.events;
    if (h == host_end) {
      for (; g != gpu_end; ++g) count("gpu_row_without_launch", g->second);
      return;
    }
    for (auto again = h + 1; again != host_end; ++again) {
      count("duplicate_runtime_correlation", again->second);
    }
    if (g == gpu_end) {
      if (is_launch_name(strings_[events.name[h->second]])) {
        count("launch_without_gpu_row", h->second);
      }
      return;
    }
    if (gpu_end - g > 1) count("several_gpu_rows_per_launch", h->second);
    for (; g != gpu_end; ++g) {
      if (events.start[g->second] < events.start[h->second]) {
        count("gpu_starts_before_launch", g->second);
      }
    }
  }

  void count(const char* kind, std::uint32_t row) {
    trace_.anomalies.add(kind, [&] { return describe(trace_, strings_, row); });
  }

  Trace& trace_;
  const StringTable& strings_;
};

}  // namespace

void check_trace(Trace& trace, const StringTable& strings) {
  Checks checks(trace, strings);
  checks.launches();
  checks.nesting();
  checks.streams();
}

}  // namespace flopcast::trace
