// Launches that wait because the queue of their stream is full: a driver holds about a thousand.
#include <algorithm>
#include <map>

#include "flopcast/replay/recording.h"

namespace flopcast::replaying {
namespace {

/// A launch that takes longer may have waited for space in its queue.
constexpr Time kHeldLaunch = Time::from_us(20);
/// It returns so soon after there is space.
constexpr Time kSoonAfterSpace = Time::from_us(40);
/// Fewer launches that are ahead of the GPU say nothing of a limit.
constexpr std::uint32_t kLeastDepth = 512;
/// So many launches must have waited at the same depth, nearly.
constexpr std::uint32_t kLeastEvidence = 8, kDepthSpread = 2;

/// A launch of one task, and how many of its stream's tasks, its own among them, had not ended when
/// it returned.
struct Queued {
  std::uint32_t call, stream, order, pending;
};

Queued queued(const RankModel& rank, std::uint32_t c) {
  const Call& call = rank.calls[c];
  const GpuTask& own = rank.gpu[call.gpu.front()];
  const auto& tasks = rank.streams[own.stream].tasks;
  const auto last = tasks.begin() + own.order + 1;
  const auto running =
      std::upper_bound(tasks.begin(), last, call.end,
                       [&](Time at, std::uint32_t t) { return at < rank.gpu[t].end; });
  return {c, own.stream, own.order, static_cast<std::uint32_t>(last - running)};
}

std::vector<Queued> queued_launches(const RankModel& rank) {
  std::vector<Queued> launches;
  for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
    if (rank.calls[c].gpu.size() == 1) launches.push_back(queued(rank, c));
  }
  return launches;
}

bool took_long(const Call& call) { return call.end - call.start > kHeldLaunch; }

/// Whether some launch took long behind a long queue: without one there is no depth to be found, and
/// the others need not be looked at.
bool any_held(const Recording& recording) {
  return std::any_of(recording.ranks.begin(), recording.ranks.end(), [](const RankModel& rank) {
    for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
      const Call& call = rank.calls[c];
      if (call.gpu.size() == 1 && took_long(call) && queued(rank, c).pending >= kLeastDepth)
        return true;
    }
    return false;
  });
}

/// The depth at which launches wait, and that none exceeds; 0 where there is none.
std::uint32_t queue_depth(const Recording& recording,
                          const std::vector<std::vector<Queued>>& launches) {
  std::map<std::uint32_t, std::uint32_t> held;  // launches that took long, by pending tasks
  std::uint32_t most = 0;
  for (std::size_t r = 0; r < launches.size(); ++r) {
    for (const Queued& q : launches[r]) {
      most = std::max(most, q.pending);
      if (q.pending >= kLeastDepth && took_long(recording.ranks[r].calls[q.call]))
        ++held[q.pending];
    }
  }
  const auto usual = std::max_element(
      held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual == held.end() || most > usual->first + kDepthSpread) return 0;
  std::uint32_t evidence = 0;
  for (const auto& [pending, count] : held) {
    if (pending + kDepthSpread >= usual->first) evidence += count;
  }
  return evidence >= kLeastEvidence ? usual->first : 0;
}

/// The waits of one rank for space in queues of `depth`.
class QueueWaits {
 public:
  QueueWaits(const RankModel& rank, std::uint32_t depth, SyncWaits& waits)
      : rank_(rank), depth_(depth), waits_(waits), known_(rank.calls.size(), false) {
    for (const SyncWait& wait : waits.waits) known_[wait.call] = true;
  }

  void add(const Queued& q) {
    if (known_[q.call] || q.order < depth_) return;
    const Call& call = rank_.calls[q.call];
    const std::uint32_t source = rank_.streams[q.stream].tasks[q.order - depth_];
    const Time space = rank_.gpu[source].end;
    const bool held = took_long(call) && space > call.start && space <= call.end &&
                      call.end - space <= kSoonAfterSpace;
    if (held) {
      waits_.waits.push_back({q.call, {}, {source}, true, false, call.end - space});
      return;
    }
    const auto& pieces = rank_.threads[call.thread].pieces;
    const std::uint32_t next = call.last_piece + 1;
    if (next < pieces.size() && space <= pieces[next].start)
      waits_.queue.push_back({source, call.thread, next});
  }

 private:
  const RankModel& rank_;
  std::uint32_t depth_;
  SyncWaits& waits_;
  std::vector<bool> known_;  // per call: waits for something already
};

}  // namespace

std::uint32_t find_launch_queue(Recording& recording) {
  if (!any_held(recording)) return 0;
  std::vector<std::vector<Queued>> launches;
  for (const RankModel& rank : recording.ranks) launches.push_back(queued_launches(rank));
  const std::uint32_t depth = queue_depth(recording, launches);
  if (depth == 0) return 0;
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
    SyncWaits& waits = recording.sync_waits[r];
    QueueWaits found(recording.ranks[r], depth, waits);
    for (const Queued& q : launches[r]) found.add(q);
    std::sort(waits.waits.begin(), waits.waits.end(),
              [](const SyncWait& a, const SyncWait& b) { return a.call < b.call; });
  }
  return depth;
}

}  // namespace flopcast::replaying
