// Floor 2: max-min fair flow simulation in exact integers, with time travel.
//
// Time in ps, rates in 2^-10 byte/s, work = rate x ps in 128 bits. The rates are a function of the
// set of active flows alone (canonical water-filling, docs/theory/flows.md), so any order of calls
// that describes the same flows gives the same bytes out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/network.h"

namespace flopcast {

using FlowId = std::uint32_t;  ///< number of a flow, counted from 0 in the order of submit()

/// What is asked of the simulator.
struct FlowSpec {
  std::span<const LinkUse> path;  ///< copied; each link at most once; empty: only latency counts
  std::int64_t bytes = 0;         ///< to send
  Time latency;                   ///< from the last byte sent to completion
  Rate limit{0};                  ///< rate cap; 0: none
  std::uint32_t group = 0;        ///< fairness group: each of its n active flows counts as 1/n of a
                                  ///< flow, wherever they are (0: every flow is its own group)
  std::span<const FlowId> after;  ///< starts when all of these are complete (never, if one is
                                  ///< cancelled) ...
  Time delay;                     ///< ... plus this, and not before `start`
  bool background = false;        ///< never ends on its own: runs until cancelled
};

/// What becomes of a flow.
enum class FlowPhase : std::uint8_t { kWaiting, kActive, kDone, kCancelled };
/// Where a flow stands.
struct FlowStatus {
  FlowPhase phase = FlowPhase::kWaiting;  ///< see FlowPhase
  Time start;                             ///< Time::max() while it is not known
  Time end;    ///< completion or cancellation; while active: if rates stay; waiting: Time::max()
  Rate rate;   ///< at the time asked for
  Bytes sent;  ///< by then
  bool final = false;  ///< end lies at or before the horizon: nothing can change it
};

/// A completion whose time is no longer what it was last reported to be.
struct CompletionChange {
  FlowId flow = 0;     ///< whose
  Time before, after;  ///< Time::max(): not complete
};

/// The horizon, where time begins, is 0 at first. Capacities and limits above 2^53 (8.8 TB/s) count
/// as that. Calls with a flow id that submit() did not give are refused, or undefined for queries.
class FlowSimulator {
 public:
  /// How to solve; all give the same bytes. The slow ones are oracles for tests and benches.
  enum class Solver : std::uint8_t {
    kIncremental,  ///< re-solves what a change touches: flow by flow, or link by link where it is much
    kPools,        ///< link by link from the first event on, but for fairness groups
    kFull,         ///< everything at every event
  };
  /// How a simulator works; no effect on what it answers.
  struct Options {
    Solver solver = Solver::kIncremental;  ///< see Solver
    bool repair = true;  ///< deep rollbacks: cone-limited repair instead of undo and replay
  };

  /// links of these capacities, by LinkId
  explicit FlowSimulator(std::span<const Rate> capacities) : FlowSimulator(capacities, Options{}) {}
  /// the same, with options
  FlowSimulator(std::span<const Rate> capacities, const Options& options);
  FlowSimulator(const Topology& topology, const Options& options);  ///< the links of a topology
  FlowSimulator(FlowSimulator&&) noexcept;
  FlowSimulator& operator=(FlowSimulator&&) noexcept;
  ~FlowSimulator();

  /// Time travel: all three take any time at or after the horizon, the past included. What they
  /// change is worked out when something is asked next, for all of them together.
  /// @return a Diagnostic for times before the horizon, links or flows that do not exist, a link
  /// named twice, sizes, latencies, delays or limits below 0, weights out of range.
  Result<FlowId> submit(const FlowSpec& spec, Time start);
  /// The flow may have started, or ended, but not before the horizon.
  std::optional<Diagnostic> update_start(FlowId flow, Time start);
  /// Ends the flow at `at` if it is not done by then. A later call replaces the time; Time::max()
  /// takes it back.
  std::optional<Diagnostic> cancel(FlowId flow, Time at);

  /// Simulates to `until`; without it, until the last completion that comes by itself.
  /// @return the time reached.
  Time advance(Time until = Time::max());
  Time now() const;  ///< where advance() stopped

  FlowStatus query(FlowId flow) const;           ///< as of now()
  FlowStatus query(FlowId flow, Time at) const;  ///< at any time from the horizon to now()
  /// As submitted; empty for a flow that ended before the horizon.
  std::vector<LinkUse> path(FlowId flow) const;
  Rate link_rate(LinkId link) const;  ///< as of now()

  /// Promises that nothing before `time` will be changed any more; frees what only that needed.
  void set_horizon(Time time);
  Time horizon() const;  ///< the time of set_horizon

  /// Completions that became known or changed since the last call, by flow id. Not predictions.
  std::vector<CompletionChange> take_changes();

  /// Work done, for benches and tests that must not depend on the clock.
  struct Work {
    /// Events handled, solves of rates, flows in them, rates that changed.
    std::uint64_t events = 0, solves = 0, flows_solved = 0, rate_changes = 0;
    /// Late calls met by undoing, events undone for them, late calls met by repair, flows repaired.
    std::uint64_t rollbacks = 0, events_undone = 0, repairs = 0, flows_repaired = 0;
    std::size_t bytes_held = 0;  ///< memory in use
  };
  Work work() const;  ///< since it was made

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Max-min rates of a set of plain flows solved through the stable partition of flows and links
/// (colour refinement): flows of one class have one rate, so a symmetric million-flow all-to-all
/// solves as a handful of variables. Equal to the full solve, bit for bit.
struct FlowClasses {
  std::vector<std::uint32_t> flow_class;  ///< per flow
  std::vector<Rate> class_rate;           ///< per class
  std::uint32_t link_classes = 0;         ///< how many classes the links fall into
};
/// Paths in CSR form: flow f uses links[offsets[f]] .. links[offsets[f + 1] - 1].
FlowClasses solve_classes(std::span<const Rate> capacities, std::span<const std::uint32_t> offsets,
                          std::span<const LinkId> links);

}  // namespace flopcast
