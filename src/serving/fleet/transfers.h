// Keys and values of prompts on their way from the pool that computes prompts to the one that makes answers.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "flopcast/network/flows.h"
#include "serving/fleet/plan.h"

namespace flopcast::serving {

/// Transfers share links with each other as the flow simulator has it. A prompt's is one flow: every chip of the
/// attention rank that makes the answer gets its part from those of the rank that computed the prompt that hold it,
/// all at once; with weights, since what one link carries for it is a multiple of what each of them sends.
class KvTransfers {
 public:
  explicit KvTransfers(const TransferPlan& plan);

  /// Begins to send the prompt of a request; calls never go back in time. Errors: those of the simulator.
  std::optional<Diagnostic> start(std::uint32_t request, std::size_t from, std::size_t to,
                                  std::int64_t tokens, Time now);
  /// When one is sent or arrives; Time::max(): none is on its way.
  Time next();
  /// A request that has arrived by `now`, the earliest first; nothing: none has. @pre now <= next()
  std::optional<std::uint32_t> take(Time now);
  void drop(std::uint32_t request, Time now);  ///< it is no longer wanted

 private:
  struct Moving {
    FlowId flow = 0;
    std::uint32_t request = 0;
    Time latency;  // from the last byte sent to arrival
  };
  void find_path(std::uint32_t request, std::size_t from, std::size_t to);
  void settle();

  const TransferPlan& plan_;
  std::uint32_t pieces_;  // flows that a request's would be, one by one
  FlowSimulator simulator_;
  std::vector<LinkUse> path_;
  Time latency_;
  std::vector<LinkId> links_;
  // The simulator never runs ahead of the fleet: what comes later would have to be taken back.
  Time now_;
  bool settled_ = true;
  Time sent_ = Time::max();                            // the earliest end of those that are sent
  std::vector<Moving> moving_;                         // of which bytes are left, by flow
  std::set<std::pair<Time, std::uint32_t>> arrivals_;  // of those that are sent: when, request
};

}  // namespace flopcast::serving
