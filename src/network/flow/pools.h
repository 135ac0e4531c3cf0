// Dense traffic: active flows by the link that holds them back.
//
// The flows of a link's pool all have the link's level, so that a change of it is one change for
// all of them: of the link's level and of its drift, by which the offsets of its flows move
// together. Which of them ends first does not change. An event is solved link by link, lowest level
// first: a link whose room or flows have changed finds its level from the flows that other links
// hold back, and takes over those that are above it. When no link is left, every flow is at the
// lowest level of its links, and these are the canonical levels (docs/theory/flows.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow/heap.h"
#include "network/flow/links.h"
#include "network/flow/record.h"
#include "network/flow/undo_log.h"
#include "network/flow/water_fill_dense.h"

namespace flopcast::network::flow {

/// What an event did to pools: a link's level, or a flow that another link holds back since.
struct PoolChange {
  Ps time;
  Level level;         ///< of a link, before
  std::uint32_t what;  ///< link or flow
  std::uint32_t from;  ///< of a flow: link whose pool it was in; of a link: kNone
};

/// Plain flows only: none of a fairness group. While open, level, rate and offset of an active flow
/// are those of its pool: what the flow says is settled by settle() or close().
class Pools {
 public:
  Pools(const Links& links, std::vector<Flow>& flows) : links_(links), flows_(flows) {}

  bool is_open() const { return open_; }
  bool are_settled() const { return touched_.empty(); }  ///< nothing to solve
  /// The active flows, as solved by `fill`.
  void open(std::span<const std::uint32_t> active, const DenseFill& fill);
  /// Afterwards its flows say what they do; links are the caller's to update.
  void close(std::span<const std::uint32_t> active);

  // One event: flows that stop, flows that start, then solve().
  void stop(std::uint32_t flow);   ///< settled before; it has left its links
  void start(std::uint32_t flow);  ///< it has entered its links
  /// @return false: not solved, too much has moved; adopt() a solution then.
  bool solve();
  void adopt(std::span<const std::uint32_t> active, const DenseFill& fill);
  /// After solve() or adopt(): the new rates hold from `time` on.
  void finish(Ps time, Ring<PoolChange>& log);

  /// When the first flow ends, and which.
  Ps next_time() const { return next_.empty() ? kNever : next_.top_time(); }
  std::uint32_t next_flow() const { return pools_[next_.top()].first; }

  void settle(std::uint32_t flow);
  std::int64_t rate(std::uint32_t flow) const { return rooms_[seats_[flow].pool].level; }
  Work offset(std::uint32_t flow) const {
    return flows_[flow].offset + pools_[seats_[flow].pool].drift;
  }
  Level link_level(std::uint32_t link) const { return rooms_[link].level; }
  std::int64_t used(std::uint32_t link) const;

  std::uint64_t rates_changed() const { return rates_changed_; }  ///< by the last finish()
  std::size_t bytes() const;

  // Backwards, once closed, to what each event changed: network/flow/pool_history.cc.
  std::uint32_t pool_of(std::uint32_t flow) const { return seats_[flow].pool; }
  std::span<const std::uint32_t> pool(std::uint32_t link) const { return pools_[link].flows; }
  void set_level(std::uint32_t link, Level level) { rooms_[link].level = level; }
  void seat(std::uint32_t flow, std::uint32_t pool);
  void unseat(std::uint32_t flow);

 private:
  static constexpr std::uint32_t kStarted = kNone - 1;

  struct Room {                // what a change of a pool touches of other links
    Work avail = 0;            // capacity, less what flows of other pools take
    std::uint64_t weight = 0;  // of its pool
    std::uint64_t all = 0;     // the same of all pools
    Level level = kUnbounded;  // of the link, and of its pool if there is one
    Level bound = kInactive;   // no flow of another pool is above
    bool waiting = false;      // in the queue
    bool touched = false;      // by this event
  };
  /// With how much weight flows of a pool cross another link. What joins or leaves the pool is put
  /// at the end of its list, and summed up before the list is gone over again.
  struct Crossing {
    std::uint32_t link;
    std::int64_t weight;
  };
  struct Pool {
    std::vector<std::uint32_t> flows;
    std::vector<Crossing> crossings;
    std::size_t summed_up = 0;  // of these
    bool left = false;          // flows have left since
    Work drift = 0;
    Level before = kUnbounded;    // level before this event, if it was touched
    std::uint32_t first = kNone;  // of its flows, the one to end first
    bool first_known = true;
  };
  struct Seat {
    std::uint32_t pool = kNone, slot = kNone;
    std::uint32_t from = kNone;  // pool before this event, if it moved; kStarted
  };
  struct Entry {  // of the queue: links by the level they had when they entered it
    Level level;
    std::uint32_t link;
    bool operator>(const Entry& other) const {
      return level != other.level ? level > other.level : link > other.link;
    }
  };
  struct Foreign {  // a flow of another pool
    Level level;
    std::uint32_t weight, flow;
  };

  std::span<const Hop> path(std::uint32_t flow) const {
    return links_.path(flows_[flow].path, flows_[flow].path_size);
  }
  Level level(std::uint32_t flow) const { return rooms_[seats_[flow].pool].level; }
  void grow();
  void join(std::uint32_t flow, std::uint32_t pool);
  void leave(std::uint32_t flow);
  void cross(std::uint32_t flow, std::uint32_t pool, int times);
  void sum_up(Pool& pool);
  std::uint32_t holding_link(std::uint32_t flow, const DenseFill& fill) const;
  void touch(std::uint32_t link);
  void wait(std::uint32_t link);
  void note_move(std::uint32_t flow);
  void examine(std::uint32_t link);
  void list_foreign(std::uint32_t link);
  void examine_foreign(std::uint32_t link);
  void change_level(std::uint32_t link, Level level);
  void take_over(std::uint32_t flow, std::uint32_t link);
  void take_room(std::uint32_t link, Work more, Level level);
  void measure_rooms(std::span<const std::uint32_t> active);
  void settle_moved(Ps time, Ring<PoolChange>& log);
  void settle_levels(Ps time, Ring<PoolChange>& log);
  void find_first(Pool& pool);
  void offer_first(std::uint32_t flow);
  void schedule(std::uint32_t link);

  const Links& links_;
  std::vector<Flow>& flows_;
  std::vector<Room> rooms_;  // by link
  std::vector<Pool> pools_;  // by link
  std::vector<Seat> seats_;  // by flow
  std::vector<Entry> queue_;
  std::vector<std::uint32_t> touched_;  // links
  std::vector<std::uint32_t> moved_, started_;
  std::vector<Foreign> foreign_;
  std::vector<std::uint32_t> entry_of_;  // by link, while crossings are summed up
  FlowHeap next_;                        // ends by link
  std::uint64_t rates_changed_ = 0;
  bool open_ = false;
};

}  // namespace flopcast::network::flow
