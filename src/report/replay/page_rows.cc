#include "report/replay/page_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text/format.h"
#include "base/text/utf8.h"
#include "report/render/varints.h"

namespace flopcast::report {
namespace {

constexpr std::size_t kNameLength = 240;

std::int64_t ns(Time time) { return time.ps / 1000; }

bool is_drawn(Category category) {
  return is_gpu_work(category) || is_host_call(category) || category == Category::kCpuOp ||
         category == Category::kUserAnnotation;
}

RowClass host_call_class(std::string_view name) {
  if (is_sync(call_kind(name))) return RowClass::kSync;
  return is_submitting_call(name) ? RowClass::kLaunch : RowClass::kHostCall;
}

RowClass class_of(const TraceSet& set, const Events& events, std::size_t row) {
  const std::string_view name = set.strings[events.name[row]];
  switch (events.category[row]) {
    case Category::kKernel:
      return is_communication_kernel(name) ? RowClass::kCommunication : RowClass::kCompute;
    case Category::kMemcpy:
    case Category::kMemset:
      return RowClass::kCopy;
    case Category::kCpuOp:
      return RowClass::kOperator;
    case Category::kUserAnnotation:
      return RowClass::kAnnotation;
    default:
      return host_call_class(name);
  }
}

struct Lane {
  PageLane page;
  std::vector<std::uint32_t> rows;
};

std::string thread_title(const TraceSet& set, const Track& track) {
  std::string name(set.strings[track.thread_name]);
  const std::string_view tid = set.strings[track.tid];
  // Kineto writes "thread 4711 (python3)".
  if (name.find(tid) == std::string::npos) name += fmt::format(" {}", tid);
  return name.starts_with("thread") ? name : "thread " + name;
}

/// Streams by number, then threads, those with most rows first.
std::vector<Lane> lanes_of(const TraceSet& set, const Trace& trace) {
  const Events& events = trace.events;
  std::map<std::pair<std::int32_t, std::int32_t>, Lane> streams;
  std::map<std::uint32_t, Lane> threads;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (!is_drawn(events.category[row])) continue;
    if (is_gpu_work(events.category[row])) {
      streams[{events.device[row], events.stream[row]}].rows.push_back(row);
    } else {
      threads[events.track[row]].rows.push_back(row);
    }
  }
  std::vector<Lane> lanes;
  for (auto& [key, lane] : streams) {
    const bool several = streams.begin()->first.first != streams.rbegin()->first.first;
    lane.page = {several ? fmt::format("GPU {} stream {}", key.first, key.second)
                         : fmt::format("stream {}", key.second),
                 true, 0};
    lanes.push_back(std::move(lane));
  }
  const auto first_thread = static_cast<std::ptrdiff_t>(lanes.size());
  for (auto& [track, lane] : threads) {
    lane.page = {thread_title(set, trace.tracks[track]), false, 0};
    lanes.push_back(std::move(lane));
  }
  std::stable_sort(lanes.begin() + first_thread, lanes.end(),
                   [](const Lane& a, const Lane& b) { return a.rows.size() > b.rows.size(); });
  return lanes;
}

/// The duration below which rows must be left out for about `most` to remain; 0 if all may stay.
Time threshold(const std::vector<Lane>& lanes, const std::vector<Time>& start,
               const std::vector<Time>& end, std::size_t most) {
  std::vector<Time> durations;
  for (const Lane& lane : lanes) {
    for (const std::uint32_t row : lane.rows) durations.push_back(end[row] - start[row]);
  }
  if (durations.size() <= most) return {};
  // Merged runs take room too: half of it is theirs.
  const auto kept = durations.begin() + static_cast<std::ptrdiff_t>(most / 2);
  std::nth_element(durations.begin(), kept, durations.end(), std::greater<>());
  return *kept + Time{1};
}

class RankPacker {
 public:
  RankPacker(const TraceSet& set, const Replay& replay, std::size_t trace, Time origin,
             PageNames& names)
      : set_(set),
        events_(set.traces[trace].events),
        start0_(replay.recorded.start[trace]),
        end0_(replay.recorded.end[trace]),
        start1_(replay.replayed.start[trace]),
        end1_(replay.replayed.end[trace]),
        origin_(ns(origin)),
        names_(names) {
    out_.place.assign(events_.size(), kNoDetail);
    for (const CollectiveInstance& c : replay.collectives) {
      for (const CollectiveInstance::Member& m : c.members) {
        if (m.trace == trace) waits_[m.row] = {ns(m.recorded_wait), ns(m.replayed_wait)};
      }
    }
  }

  PageRank run(std::vector<Lane> lanes, std::size_t most) {
    out_.merged_below = threshold(lanes, start0_, end0_, most);
    for (Lane& lane : lanes) {
      start_lane();
      for (const std::uint32_t row : lane.rows) add(lane, row);
      finish_run(lane);
      out_.lanes.push_back(lane.page);
    }
    out_.rows = packed_.base64();
    return std::move(out_);
  }

 private:
  struct Row {
    std::int64_t start0, end0, start1, end1;
  };

  Row times(std::uint32_t row) const {
    return {ns(start0_[row]), ns(end0_[row]), ns(start1_[row]), ns(end1_[row])};
  }

  void start_lane() {
    last_start_ = origin_;
    last_shift_ = 0;
  }

  void add(Lane& lane, std::uint32_t row) {
    if (end0_[row] - start0_[row] < out_.merged_below) {
      if (lane.page.is_stream) join_run(lane, row);
      return;
    }
    finish_run(lane);
    const RowClass c = class_of(set_, events_, row);
    out_.place[row] = next_place_;
    put(lane, times(row), names_.number(events_.name[row]), c);
    if (c == RowClass::kCommunication) {
      const auto wait = waits_.find(row);
      packed_.add(wait == waits_.end()
                      ? 0
                      : static_cast<std::uint64_t>(std::max<std::int64_t>(0, wait->second.first)));
      packed_.add(wait == waits_.end()
                      ? 0
                      : static_cast<std::uint64_t>(std::max<std::int64_t>(0, wait->second.second)));
    }
  }

  void join_run(Lane& lane, std::uint32_t row) {
    const Row next = times(row);
    if (run_rows_ > 0 && next.start0 - run_.end0 >= ns(out_.merged_below)) finish_run(lane);
    if (run_rows_++ == 0) {
      run_ = next;
      return;
    }
    run_.end0 = std::max(run_.end0, next.end0);
    run_.start1 = std::min(run_.start1, next.start1);
    run_.end1 = std::max(run_.end1, next.end1);
  }

  void finish_run(Lane& lane) {
    if (run_rows_ == 0) return;
    put(lane, run_, names_.number(counted(run_rows_, "short row")), RowClass::kMerged);
    run_rows_ = 0;
  }

  void put(Lane& lane, const Row& row, std::uint64_t name, RowClass c) {
    const std::int64_t length0 = std::max<std::int64_t>(0, row.end0 - row.start0);
    const std::int64_t length1 = std::max<std::int64_t>(0, row.end1 - row.start1);
    const std::int64_t shift = row.start1 - row.start0;
    packed_.add_signed(row.start0 - last_start_);
    packed_.add(static_cast<std::uint64_t>(length0));
    packed_.add(name);
    packed_.add(static_cast<std::uint64_t>(c));
    packed_.add_signed(shift - last_shift_);
    packed_.add_signed(length1 - length0);
    last_start_ = row.start0;
    last_shift_ = shift;
    ++lane.page.rows;
    ++next_place_;
  }

  const TraceSet& set_;
  const Events& events_;
  const std::vector<Time>&start0_, &end0_, &start1_, &end1_;
  std::int64_t origin_;
  PageNames& names_;
  std::unordered_map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> waits_;
  Varints packed_;
  PageRank out_;
  std::int64_t last_start_ = 0, last_shift_ = 0;
  std::uint32_t next_place_ = 0;
  Row run_{};
  std::uint64_t run_rows_ = 0;
};

}  // namespace

std::uint64_t PageNames::number(std::uint32_t string_id) {
  const auto known = numbers_.find(string_id);
  if (known != numbers_.end()) return known->second;
  return numbers_[string_id] = number(shortened(strings_[string_id], kNameLength));
}

std::uint64_t PageNames::number(const std::string& text) {
  const auto [place, is_new] = texts_.try_emplace(text, list_.size());
  if (is_new) list_.push_back(text);
  return place->second;
}

PageRank page_rank(const TraceSet& set, const Replay& replay, std::size_t trace, Time origin,
                   std::size_t most, PageNames& names) {
  RankPacker packer(set, replay, trace, origin, names);
  return packer.run(lanes_of(set, set.traces[trace]), most);
}

}  // namespace flopcast::report
