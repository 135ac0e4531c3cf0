#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "flopcast/replay/host_edges.h"

namespace flopcast::replaying {
namespace {

/// A call that took longer than this has waited for something.
constexpr Time kWaited = Time::from_us(20);
/// A wait ends this soon after what it waited for.
constexpr Time kSoonAfter = Time::from_us(40);
/// Pageable host-to-device copies up to this size are staged and do not wait (CUDA driver API, API
/// synchronization behavior: 64 KB).
constexpr std::int64_t kStagedBytes = 65536;

class SyncFinder {
 public:
  SyncFinder(const TraceSet& set, const RankModel& rank)
      : set_(set), rank_(rank), ev_(rank.trace->events) {
    // GPU times were moved to make launches plausible; a sync may be off by as much the other way.
    slack_ = std::max(Time::from_us(2), rank.gpu_offset);
    put_.resize(rank.streams.size());
    for (std::uint32_t s = 0; s < rank.streams.size(); ++s) {
      Time at = Time::min();  // a stream works in the order in which it was given work
      for (const std::uint32_t t : rank.streams[s].tasks) {
        at = std::max(at, put_at(rank, t));
        put_[s].push_back({at, t});
      }
    }
    for (std::uint32_t r = 0; r < ev_.size(); ++r) {
      if (ev_.category[r] == Category::kSync && ev_.correlation[r] > 0)
        sync_row_[ev_.correlation[r]] = r;
    }
    // Only sync rows name calls.
    for (std::uint32_t c = 0; c < rank.calls.size() && !sync_row_.empty(); ++c) {
      if (ev_.correlation[rank.calls[c].row] > 0) call_of_[ev_.correlation[rank.calls[c].row]] = c;
    }
  }

  SyncWaits run() {
    std::vector<std::uint32_t> last_launch(rank_.threads.size(), kNoIndex);
    std::vector<std::uint32_t> last_record(rank_.threads.size(), kNoIndex);
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      const Call& call = rank_.calls[c];
      switch (call.kind) {
        case CallKind::kDeviceSync:
          device(c);
          break;
        case CallKind::kStreamSync:
          stream(c, last_launch[call.thread]);
          break;
        case CallKind::kEventSync:
          event(c, last_record[call.thread]);
          break;
        case CallKind::kCopy:
          copy(c);
          break;
        case CallKind::kRecord:
          last_record[call.thread] = c;
          break;
        default:
          break;
      }
      if (!call.gpu.empty()) last_launch[call.thread] = c;
    }
    return std::move(result_);
  }

 private:
  std::uint32_t last_put(std::uint32_t stream, Time before) const {
    const auto& list = put_[stream];
    const auto it = std::lower_bound(list.begin(), list.end(), before,
                                     [](const auto& p, Time t) { return p.first < t; });
    return it == list.begin() ? kNoIndex : std::prev(it)->second;
  }
  Time end_of(std::uint32_t task) const { return rank_.gpu[task].end; }

  bool possible(std::uint32_t task, const Call& call) const {
    return end_of(task) <= call.end + slack_;
  }

  void add(std::uint32_t c, std::vector<std::uint32_t> streams, std::vector<std::uint32_t> tasks) {
    const Call& call = rank_.calls[c];
    SyncWait wait{c, std::move(streams), std::move(tasks), false, false, {}};
    Time last = Time::min();
    for (const std::uint32_t s : wait.streams) {
      if (const std::uint32_t t = last_put(s, call.start); t != kNoIndex)
        last = std::max(last, end_of(t));
    }
    for (const std::uint32_t t : wait.tasks) last = std::max(last, end_of(t));
    wait.blocked = last > call.start;
    wait.after = last == Time::min() ? Time{} : call.end - last;
    const std::string_view name = set_.strings[ev_.name[call.row]];
    wait.host_remainder = name.ends_with("Free");
    result_.waits.push_back(std::move(wait));
  }

  void contradict(std::uint32_t c, std::uint32_t task) {
    const Call& call = rank_.calls[c];
    result_.contradicted.add(fmt::format(
        "rank {}: {} at {:.6f} s returns {:.1f} us before {} on stream {} ends", rank_.rank,
        set_.strings[ev_.name[call.row]], call.start.seconds(), (end_of(task) - call.end).us(),
        set_.strings[ev_.name[rank_.gpu[task].row]].substr(0, 60),
        rank_.streams[rank_.gpu[task].stream].id));
  }

  void device(std::uint32_t c) {
    std::vector<std::uint32_t> streams;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      const std::uint32_t t = last_put(s, rank_.calls[c].start);
      if (t != kNoIndex && !possible(t, rank_.calls[c])) {
        contradict(c, t);
      } else {
        streams.push_back(s);
      }
    }
    if (!streams.empty()) add(c, std::move(streams), {});
  }

  void stream(std::uint32_t c, std::uint32_t last_launch) {
    const Call& call = rank_.calls[c];
    std::uint32_t stream = stream_from_row(c);
    if (stream == kNoIndex && last_launch != kNoIndex) {
      // The stream this thread works on: a sync follows the copy or kernel it is for.
      stream = rank_.gpu[rank_.calls[last_launch].gpu.back()].stream;
      const std::uint32_t t = last_put(stream, call.start);
      const bool explains = end_of(t) >= call.end - kSoonAfter;
      if (!possible(t, call)) {
        contradict(c, t);
        stream = kNoIndex;
      } else if (call.end - call.start > kWaited && !explains) {
        const std::uint32_t other = ended_with(call);
        if (other != kNoIndex) stream = other;
      }
    } else if (stream == kNoIndex && call.end - call.start > kWaited) {
      stream = ended_with(call);
    }
    if (stream != kNoIndex) {
      add(c, {stream}, {});
    } else if (call.end - call.start > kWaited) {
      ++result_.without_source;
    }
  }

  std::uint32_t stream_from_row(std::uint32_t c) const {
    const auto it = sync_row_.find(ev_.correlation[rank_.calls[c].row]);
    if (it == sync_row_.end()) return kNoIndex;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      if (rank_.streams[s].id == ev_.stream[it->second]) return s;
    }
    return kNoIndex;
  }

  /// The stream whose last work ended just before the call did.
  std::uint32_t ended_with(const Call& call) const {
    std::uint32_t best = kNoIndex;
    Time best_end = Time::min();
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      const std::uint32_t t = last_put(s, call.start);
      if (t == kNoIndex || !possible(t, call) || end_of(t) < call.end - kSoonAfter) continue;
      if (end_of(t) > best_end) {
        best = s;
        best_end = end_of(t);
      }
    }
    return best;
  }

  void event(std::uint32_t c, std::uint32_t last_record) {
    const Call& call = rank_.calls[c];
    std::uint32_t task = event_from_row(c);
    if (task == kNoIndex && last_record != kNoIndex) task = launched_before(last_record);
    if (task != kNoIndex && !possible(task, call)) {
      contradict(c, task);
      task = kNoIndex;
    }
    const bool waited = call.end - call.start > kWaited;
    if (waited && (task == kNoIndex || end_of(task) < call.end - kSoonAfter)) {
      const std::uint32_t other = task_ended_with(call);
      if (other != kNoIndex) task = other;
    }
    if (task != kNoIndex) {
      add(c, {}, {task});
    } else if (waited) {
      ++result_.without_source;
    }
  }

  std::uint32_t event_from_row(std::uint32_t c) const {
    const auto it = sync_row_.find(ev_.correlation[rank_.calls[c].row]);
    if (it == sync_row_.end() || ev_.detail[it->second] == kNoDetail) return kNoIndex;
    const SyncDetail& detail = rank_.trace->syncs[ev_.detail[it->second]];
    const auto record = call_of_.find(detail.record_correlation);
    if (record == call_of_.end()) return kNoIndex;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      if (rank_.streams[s].id == detail.wait_on_stream)
        return last_put(s, rank_.calls[record->second].start);
    }
    return launched_before(record->second);
  }

  /// The last task launched by a call's thread before it.
  std::uint32_t launched_before(std::uint32_t c) const {
    const auto& calls = rank_.threads[rank_.calls[c].thread].calls;
    const auto at = std::lower_bound(calls.begin(), calls.end(), c);
    for (auto it = at; it != calls.begin();) {
      const Call& call = rank_.calls[*--it];
      if (!call.gpu.empty()) return call.gpu.back();
    }
    return kNoIndex;
  }

  /// Any task put before the call that ended just before the call did.
  std::uint32_t task_ended_with(const Call& call) const {
    std::uint32_t best = kNoIndex;
    for (const Stream& stream : rank_.streams) {
      auto it = std::upper_bound(stream.tasks.begin(), stream.tasks.end(), call.end + slack_,
                                 [&](Time t, std::uint32_t task) { return t < end_of(task); });
      if (it == stream.tasks.begin()) continue;
      const std::uint32_t t = *--it;
      const std::uint32_t launcher = rank_.gpu[t].call;
      const bool put_before = launcher == kNoIndex || rank_.calls[launcher].start < call.start;
      if (put_before && end_of(t) >= call.end - kSoonAfter &&
          (best == kNoIndex || end_of(t) > end_of(best)))
        best = t;
    }
    return best;
  }

  /// Copies that hold the host until they are done: from or to pageable memory, and the blocking
  /// calls.
  void copy(std::uint32_t c) {
    const Call& call = rank_.calls[c];
    if (call.gpu.empty()) return;
    const std::uint32_t t = call.gpu.back();
    const std::string_view row = set_.strings[ev_.name[rank_.gpu[t].row]];
    const std::string_view name = set_.strings[ev_.name[call.row]];
    const bool to_host = row.find("Device -> Pageable") != std::string_view::npos;
    const bool from_host = row.find("Pageable -> Device") != std::string_view::npos &&
                           bytes(rank_.gpu[t].row) > kStagedBytes;
    const bool blocking = to_host || from_host || name.find("Async") == std::string_view::npos;
    if (!blocking || rank_.gpu[t].start >= call.end) return;
    // A host-to-device call returns when the last piece is on its way, a little before it arrives.
    const Time early = from_host ? Time::from_us(200) : slack_;
    if (end_of(t) > call.end + early) {
      if (to_host) contradict(c, t);
      return;
    }
    add(c, {}, {t});
  }

  std::int64_t bytes(std::uint32_t row) const {
    const std::uint32_t i = ev_.detail[row];
    return i == kNoDetail ? 0 : rank_.trace->copies[i].bytes;
  }

  const TraceSet& set_;
  const RankModel& rank_;
  const Events& ev_;
  Time slack_;
  std::vector<std::vector<std::pair<Time, std::uint32_t>>> put_;  // per stream: (call start, task)
  std::unordered_map<std::int64_t, std::uint32_t> sync_row_, call_of_;
  SyncWaits result_;
};

}  // namespace

SyncWaits find_sync_waits(const TraceSet& set, const RankModel& rank) {
  return SyncFinder(set, rank).run();
}

}  // namespace flopcast::replaying
