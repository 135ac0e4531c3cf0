#include "report/replay/page_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text/format.h"
#include "base/text/utf8.h"
#include "report/render/varints.h"
#include "report/replay/summary.h"

namespace flopcast::report {
namespace {

constexpr std::size_t kNameLength = 240;
constexpr std::size_t kMostPieces = 60'000;  // of the critical path

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
std::vector<Lane> lanes_of(const TraceSet& set, const Trace& trace, const PageRuns& runs) {
  const Events& events = trace.events;
  std::map<std::pair<std::int32_t, std::int32_t>, Lane> streams;
  std::map<std::uint32_t, Lane> threads;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (!is_drawn(events.category[row]) || (runs.is_kept && !runs.is_kept(row))) continue;
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
Time threshold(const std::vector<Lane>& lanes, const PageRuns& runs, std::size_t most) {
  std::vector<Time> durations;
  for (const Lane& lane : lanes) {
    for (const std::uint32_t row : lane.rows) {
      durations.push_back((*runs.end[0])[row] - (*runs.start[0])[row]);
    }
  }
  if (durations.size() <= most) return {};
  // Merged runs take room too: half of it is theirs.
  const auto kept = durations.begin() + static_cast<std::ptrdiff_t>(most / 2);
  std::nth_element(durations.begin(), kept, durations.end(), std::greater<>());
  return *kept + Time{1};
}

class RankPacker {
 public:
  RankPacker(const TraceSet& set, std::size_t trace, const PageRuns& runs, PageNames& names)
      : set_(set), events_(set.traces[trace].events), runs_(runs), names_(names) {
    out_.place.assign(events_.size(), kNoDetail);
  }

  PageRank run(std::vector<Lane> lanes, std::size_t most) {
    out_.merged_below = threshold(lanes, runs_, most);
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

  /// Since the page's origin.
  Row times(std::uint32_t row) const {
    const auto at = [&](const std::vector<Time>& times, std::size_t run) {
      return ns(times[row]) - ns(runs_.origin[run]);
    };
    return {at(*runs_.start[0], 0), at(*runs_.end[0], 0), at(*runs_.start[1], 1),
            at(*runs_.end[1], 1)};
  }

  void start_lane() {
    last_start_ = 0;
    last_shift_ = 0;
  }

  void add(Lane& lane, std::uint32_t row) {
    if ((*runs_.end[0])[row] - (*runs_.start[0])[row] < out_.merged_below) {
      if (lane.page.is_stream) join_run(lane, row);
      return;
    }
    finish_run(lane);
    const RowClass c = class_of(set_, events_, row);
    out_.place[row] = next_place_;
    put(lane, times(row), names_.number(events_.name[row]), c);
    if (c != RowClass::kCommunication) return;
    const auto wait = runs_.waits.find(row);
    for (const Time time : wait == runs_.waits.end()
                               ? std::array<Time, 2>{}
                               : std::array{wait->second.first, wait->second.second}) {
      packed_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns(time))));
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
  const PageRuns& runs_;
  PageNames& names_;
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

PageRuns page_runs(const Replay& replay, std::size_t trace, Time origin) {
  PageRuns runs;
  runs.start = {&replay.recorded.start[trace], &replay.replayed.start[trace]};
  runs.end = {&replay.recorded.end[trace], &replay.replayed.end[trace]};
  runs.origin = {origin, origin};
  for (const CollectiveInstance& c : replay.collectives) {
    for (const CollectiveInstance::Member& m : c.members) {
      if (m.trace == trace) runs.waits[m.row] = {m.recorded_wait, m.replayed_wait};
    }
  }
  return runs;
}

PageRank page_rank(const TraceSet& set, std::size_t trace, const PageRuns& runs, std::size_t most,
                   PageNames& names) {
  RankPacker packer(set, trace, runs, names);
  return packer.run(lanes_of(set, set.traces[trace], runs), most);
}

void write_lanes(JsonWriter& w, const PageRank& page) {
  w.begin_array("lanes", JsonWriter::Layout::kLine);
  for (const PageLane& lane : page.lanes) {
    w.begin_object();
    w.text("name", lane.name);
    w.boolean("stream", lane.is_stream);
    w.count("rows", lane.rows);
    w.end_object();
  }
  w.end_array();
}

void write_path_pieces(JsonWriter& w, const TraceSet& set, const std::vector<PathPiece>& pieces,
                       const std::function<PagePlace(const PathPiece&)>& place_of, Time origin) {
  const bool coarse = pieces.size() > kMostPieces;
  std::vector<std::string> classes;
  Varints packed;
  std::int64_t last_end = ns(origin);
  for (const PathPiece& piece : pieces) {
    const PagePlace place = piece.row == kNoDetail ? PagePlace{} : place_of(piece);
    if (coarse && place.row == kNoDetail) continue;
    const std::string name = path_class(set, piece);
    const auto known = std::find(classes.begin(), classes.end(), name);
    const std::int64_t length = std::max<std::int64_t>(0, ns(piece.end - piece.start));
    packed.add(place.rank);
    packed.add(place.row == kNoDetail ? 0 : place.row + 1);
    packed.add(static_cast<std::uint64_t>(known - classes.begin()));
    packed.add_signed(ns(piece.start) - last_end);
    packed.add(static_cast<std::uint64_t>(length));
    last_end = ns(piece.start) + length;
    if (known == classes.end()) classes.push_back(name);
  }
  w.begin_object("path");
  w.begin_array("classes", JsonWriter::Layout::kLine);
  for (const std::string& name : classes) w.text({}, name);
  w.end_array();
  w.text("pieces", packed.base64());
  w.end_object();
}

}  // namespace flopcast::report
