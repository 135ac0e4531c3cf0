// The state of a flow simulation and what moves it: events forwards, the undo log backwards.
//
// A flow waits, then is active, then is done or cancelled. Everything that happens at one time
// happens together, then the rates are solved once (network/flow/region.h).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "flopcast/network/flows.h"
#include "network/flow/dependencies.h"
#include "network/flow/heap.h"
#include "network/flow/links.h"
#include "network/flow/pools.h"
#include "network/flow/record.h"
#include "network/flow/region.h"
#include "network/flow/undo_log.h"
#include "network/flow/water_fill_dense.h"
#include "network/rates/numbers.h"

namespace flopcast::network::flow {

class Repair;

/// Flows are numbered by the place they have while they can change; places are used again. FlowIds
/// are not.
class Engine {
 public:
  Engine(std::span<const Rate> capacities, const FlowSimulator::Options& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  Result<FlowId> submit(const FlowSpec& spec, Time start);
  std::optional<Diagnostic> update_start(FlowId flow, Time start);
  std::optional<Diagnostic> cancel(FlowId flow, Time at);
  Time advance(Time until);
  Time now() const { return {now_}; }
  FlowStatus query(FlowId flow, Time at);
  std::vector<LinkUse> used_links(FlowId flow) const;
  Rate link_rate(LinkId link);
  void set_horizon(Time time);
  Time horizon() const { return {horizon_}; }
  std::vector<CompletionChange> take_changes();
  FlowSimulator::Work work() const;

  // The view of a region solve: the state of now.
  /// A link that loses or gains a flow moves those it holds back, nearly always.
  static constexpr bool kLikelyChanged = true;
  std::uint32_t& flow_slot(std::uint32_t flow) { return flows_[flow].region; }
  std::uint32_t flow_slot(std::uint32_t flow) const { return flows_[flow].region; }
  std::uint32_t& link_slot(std::uint32_t link) { return links_[link].region; }
  std::span<const Hop> path(std::uint32_t flow) const {
    return links_.path(flows_[flow].path, flows_[flow].path_size);
  }
  Level level(std::uint32_t flow) const { return flows_[flow].level; }
  std::int64_t rate(std::uint32_t flow) const { return flows_[flow].rate; }
  std::uint32_t fraction(std::uint32_t flow) const { return flows_[flow].fraction; }
  std::int64_t capacity(std::uint32_t link) const { return links_[link].capacity; }
  std::int64_t slack(std::uint32_t link) const { return links_[link].capacity - links_[link].used; }
  std::uint32_t active(std::uint32_t link) const { return links_[link].active; }
  Level link_level(std::uint32_t link) const { return links_[link].level; }
  Level level_before(std::uint32_t link, std::uint32_t /*flow*/) const {
    return links_[link].level;
  }
  template <typename Visit>
  void for_each_member(std::uint32_t link, Visit visit) const {
    for (const Member& member : links_[link].active_members()) visit(member.flow, member.weight);
  }
  /// Then one fill of all flows is faster than one more of the region.
  bool too_large(std::size_t region_flows) const {
    return region_flows > kWorthSplitting && 3 * region_flows > active_flows_.size() &&
           kLinksPerFlow * active_flows_.size() > links_.size();
  }

 private:
  friend class Repair;

  static constexpr std::size_t kWorthSplitting = 64;
  static constexpr std::size_t kLinksPerFlow = 16;

  struct Noted {
    FlowId id;
    Ps before;
  };

  // network/flow/submit.cc
  std::optional<Diagnostic> check(const FlowSpec& spec, Time start);
  bool lay_path(std::span<const LinkUse> path, std::uint32_t first);
  Diagnostic path_fault(const FlowSpec& spec);
  std::uint32_t new_flow();
  void add_path(Flow& flow, const FlowSpec& spec, std::uint32_t first, std::uint32_t size);
  void add_dependencies(std::uint32_t flow, std::span<const FlowId> after);
  std::uint32_t group_link(std::uint32_t group);
  /// Replays what the change of a flow's plan at or after `time` invalidates.
  void edited(std::uint32_t flow, Ps time);

  // network/flow/events.cc
  /// Of what it waits for: the id.
  template <typename Visit>
  void for_each_before(std::uint32_t flow, Visit visit) const {
    const Plan& plan = plans_[flow];
    for (std::uint32_t i = 0; i < plan.after_size; ++i) visit(dependencies_[plan.after + i].before);
  }
  Ps ready_time(std::uint32_t flow) const;  ///< kNever while it waits for others
  Ps next_event(std::uint32_t flow) const;
  void schedule(std::uint32_t flow) { heap_.set(flow, next_event(flow)); }
  Ps next_time() const;
  void run_until(Ps limit);
  void fire_all(Ps time);
  void fire(std::uint32_t flow, Ps time);
  void start(std::uint32_t flow, Ps time);
  void stop(std::uint32_t flow, Ps time, ChangeKind kind);
  static constexpr Ps kNotNow = -1;
  /// @param now what can start at this time is due; kNotNow: all is scheduled.
  void release_dependents(std::uint32_t flow, Ps now);
  void prefetch(std::span<const std::uint32_t> flows) const;
  void solve(Ps time);
  void solve_flows(Ps time);
  /// All that happened is that flows start where nobody else is.
  bool all_start_alone() const { return !crowded_ && region_.empty(); }
  void regroup(Ps time);
  void start_alone(std::uint32_t flow, Level level, Ps time);
  bool solve_region(Ps time);
  void solve_all(Ps time);
  void commit(std::uint32_t flow, Level level, Ps time);
  void record(std::uint32_t flow, Ps time, ChangeKind kind);
  /// Keeps the work left at `time`, and what the links carry.
  void set_rate(Flow& flow, std::int64_t rate, Ps time);
  static void set_offset(Flow& flow, std::int64_t rate, Ps time);  ///< the first half of that
  void note(std::uint32_t flow);
  Ps completion(std::uint32_t flow) const;  ///< kNever: not complete
  Ps completion_of(const Outcome& outcome) const;
  Ps completion_of(FlowId id) const { return completion_of(outcomes_[id]); }
  Level activate(std::uint32_t flow);                      ///< @return see Links::enter
  void reactivate(std::uint32_t flow);                     ///< one that has left its links
  void deactivate(std::uint32_t flow, std::int64_t rate);  ///< @param rate until now, if on links
  Ps latest_completion() const;

  // network/flow/pool_history.cc
  void open_pools(Ps time);  ///< all flows have been solved
  void close_pools();        ///< before anything looks at flows or into the past
  void tell_flow_by_flow();
  void solve_pools(Ps time);

  // network/flow/query.cc
  struct Trajectory {
    std::int64_t rate;
    Work offset;
  };
  Trajectory trajectory(std::uint32_t flow) const;  ///< now
  Trajectory trajectory(std::uint32_t flow, Ps time) const;
  double sent(std::uint32_t flow, Ps time) const;  ///< bytes
  FlowStatus query_live(std::uint32_t flow, Ps time) const;

  // undo.cc
  void catch_up();  ///< makes edits of the past happen
  bool repair(Ps until);
  void undo(Ps time);
  void compact(std::uint64_t first, Ps time);
  void revert(const Change& change);
  void hold_dependents(std::uint32_t flow);
  void settle_undone();
  void collect_garbage();
  void prefetch_garbage(std::uint64_t first) const;
  void retire(std::uint32_t flow);

  FlowSimulator::Options options_;
  Links links_;
  std::size_t real_links_ = 0;
  std::vector<Flow> flows_;
  std::vector<Plan> plans_;
  std::vector<std::uint32_t> free_flows_;
  std::deque<Outcome> outcomes_;  // by id
  Dependencies dependencies_;
  std::vector<std::uint32_t> active_flows_;
  std::unordered_map<std::uint32_t, std::uint32_t> group_links_;
  std::vector<std::uint32_t> changed_groups_;  // links
  std::vector<std::uint32_t> due_;             // at the time being processed
  struct Starting {
    std::uint32_t flow;
    Level alone;  // see Links::enter
  };
  std::vector<Starting> starting_;         // at the time being processed
  bool crowded_ = false;                   // one of them met others on its links
  std::vector<Noted> noted_;               // completions that may have changed
  std::vector<std::uint32_t> edited_;      // flows whose plan changed in the past ...
  Ps edited_from_ = kNever;                // ... first here
  std::vector<std::uint32_t> undone_;      // flows
  std::vector<std::uint32_t> seen_links_;  // of a path being checked
  FlowHeap heap_;
  UndoLog log_;
  Region<Engine> region_{*this};
  DenseFill dense_fill_;
  Pools pools_{links_, flows_};
  Ring<PoolChange> pool_log_;         // what flows of pools did, since ...
  Ps pooled_since_ = 0;               // ... this time; starts and ends are in log_ ...
  std::uint64_t pooled_changes_ = 0;  // ... from here on
  FlowSimulator::Work work_;
  // All events up to processed_ have happened, but for what edits before it call for.
  Ps now_ = 0, processed_ = -1, horizon_ = 0;
  Ps longest_latency_ = 0, forgotten_completion_ = 0;
  // With groups: after regions that grew too large, some solves do not try one.
  std::uint32_t dense_run_ = 0, dense_left_ = 0;
  std::unique_ptr<Repair> repair_;
};

}  // namespace flopcast::network::flow
