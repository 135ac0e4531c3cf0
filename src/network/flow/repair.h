// Late events without replay: what an edit of the past touches is solved again, nothing else.
//
// The recorded run is canonical at all times: every link agrees with its flows (network/flow/region.h).
// A sweep over time, from the edit to now, keeps the set of flows that deviate from their recorded
// trajectory. A link that none of them is on carries what was recorded and needs no look. On the
// others, at every time when one of their flows changes, recorded or deviating, the region around
// them is solved, with recorded levels for all flows that do not deviate. A flow deviates from when
// its level, its start or its end is no longer the recorded one, or a link that held it back in the
// recorded run no longer does. The new trajectories then replace the recorded ones.
//
// Exact, because a region solve ends at the one canonical solution for the flows of that time.
// Everything is kept aside until the sweep has reached now: when it turns out to touch too much, it
// is dropped, and undo and replay does the work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow/engine.h"

namespace flopcast::network::flow {

class Repair {
 public:
  explicit Repair(Engine& engine) : engine_(engine) {}

  /// Makes the edits of engine.edited_ happen, the first at `from`, in a run recorded up to `until`.
  /// @param events recorded in that time. @return false: too many of them are concerned.
  bool run(Ps from, Ps until, std::uint64_t events);

  // The view of a region solve: the past at passed_. Flows and links are numbered as they are met.
  static constexpr bool kLikelyChanged = false;
  struct Hop {
    std::uint32_t link, weight;
  };
  std::uint32_t& flow_slot(std::uint32_t flow) { return flows_[flow].region; }
  std::uint32_t& link_slot(std::uint32_t link) { return links_[link].region; }
  std::span<const Hop> path(std::uint32_t flow);
  Level level(std::uint32_t flow) {
    return flows_[flow].deviates ? flows_[flow].level : recorded_level(flow);
  }
  std::int64_t rate(std::uint32_t flow) { return std::max<Level>(level(flow), 0); }
  std::uint32_t fraction(std::uint32_t /*flow*/) const { return kWhole; }
  std::int64_t capacity(std::uint32_t link) const {
    return engine_.links_[links_[link].link].capacity;
  }
  std::int64_t slack(std::uint32_t link);
  std::uint32_t active(std::uint32_t link);
  Level link_level(std::uint32_t link) {
    return links_[link].deviates ? links_[link].level : recorded_link_level(link);
  }
  Level level_before(std::uint32_t link, std::uint32_t flow) {
    return flows_[flow].deviates ? links_[link].level : recorded_link_level(link);
  }
  template <typename Visit>
  void for_each_member(std::uint32_t link, Visit visit) {
    for (std::uint32_t m = links_[link].members; m != kNone; m = members_[m].next) {
      const std::uint32_t flow = members_[m].flow;
      const bool starts = flows_[flow].region != kNone;  // no level yet, if it has none
      if (starts || level(flow) != kInactive) visit(flow, members_[m].weight);
    }
  }
  bool too_large(std::size_t /*region_flows*/) const { return false; }

 private:
  struct Recorded {  // a change of the recorded run
    Ps time;
    Level before;
    std::uint64_t number;
  };
  struct Flow {
    std::uint32_t flow;                     // of the engine
    std::uint32_t recorded, recorded_size;  // its changes from when it was met on, latest first
    std::uint32_t ahead;                    // of these, how many lie after passed_
    std::uint32_t path = kNone;             // in hops_
    std::uint32_t region = kNone;
    std::uint32_t stamp = 0;  // of its next event, if it deviates
    bool watched = false;     // its next recorded change is in the queue
    bool deviates = false;
    // If it deviates:
    std::uint32_t replaced = 0;  // of its recorded changes, how many no longer hold
    FlowPhase phase = FlowPhase::kWaiting;
    Level level = kInactive;
    Work offset = 0;
    Ps started = kNever, ended = kNever;
  };
  struct Link {
    std::uint32_t link;  // of the engine
    std::uint32_t members = kNone;
    std::uint32_t region = kNone;
    bool deviates = false;  // a flow that deviates is or was on it
    Level level = kUnbounded;
    Ps recorded_at = -2;  // when recorded_level holds
    Level recorded_level = kUnbounded;
  };
  struct Member {
    std::uint32_t flow, weight, next;
  };
  struct Event {
    Ps time;
    bool recorded;  // a recorded change; otherwise what a deviating flow does next
    std::uint32_t flow, stamp;
    // At one time the record goes first: it may say that what a start hangs on does not happen.
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : recorded < other.recorded;
    }
  };
  struct NewChange {
    Ps time;
    Level before;
    std::uint32_t flow;
    ChangeKind kind;
  };

  // repair_past.cc: the recorded run around passed_.
  std::uint32_t meet(std::uint32_t engine_flow);
  std::uint32_t load(std::uint32_t engine_link);
  void join(std::uint32_t link, std::uint32_t flow, std::uint32_t weight);
  Level recorded_level(std::uint32_t flow);
  Level recorded_link_level(std::uint32_t link);
  void watch(std::uint32_t flow);
  bool deviate(std::uint32_t flow, Ps from);
  void deviate_links(std::uint32_t flow);
  void push(const Event& event);
  Event pop();
  void forget_all();

  // repair.cc: the sweep.
  void begin(Ps from);
  void step();
  void pass_recorded(std::uint32_t flow);
  void look_at_recorded(std::uint32_t flow);
  void fire(std::uint32_t flow);
  void start(std::uint32_t flow);
  void stop(std::uint32_t flow, ChangeKind kind);
  void change(std::uint32_t flow, ChangeKind kind, Level level);
  void schedule(std::uint32_t flow);
  Ps ready_time(std::uint32_t engine_flow) const;
  void ended(std::uint32_t flow);
  void recorded_end(std::uint32_t flow);
  void reconsider_dependents(std::uint32_t flow, bool all);
  void solve();
  void settle(std::uint32_t flow, Level level);
  bool held_as_recorded(std::uint32_t flow);

  // repair_commit.cc: the new past replaces the recorded one.
  void commit();
  void replace_changes();
  void replace_state(const Flow& flow);
  void replace_membership(const Flow& flow);

  Engine& engine_;
  Region<Repair> region_{*this};
  Ps passed_ = 0;
  std::vector<Flow> flows_;
  std::vector<Link> links_;
  std::vector<Member> members_;
  std::vector<Hop> hops_;
  std::vector<Recorded> recorded_;
  std::vector<NewChange> changes_;
  std::vector<std::uint32_t> starting_;
  std::vector<std::uint32_t> met_, loaded_;  // by number of the engine; kNone: not
  std::vector<Event> queue_;                 // heap, earliest first
};

}  // namespace flopcast::network::flow
