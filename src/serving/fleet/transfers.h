// Keys and values of prompts on their way from the pool that computes prompts to the one that makes answers.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
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
  Time next() const;     ///< when the first arrives; Time::max(): none is on its way
  std::uint32_t take();  ///< the request that arrives then
  void drop(std::uint32_t request, Time now);  ///< it is no longer wanted

 private:
  void find_path(std::uint32_t request, std::size_t from, std::size_t to);
  void settle();

  const TransferPlan& plan_;
  std::uint32_t pieces_;  // flows that a request's would be, one by one
  FlowSimulator simulator_;
  std::vector<LinkUse> path_;
  Time latency_;
  std::vector<LinkId> links_;
  std::vector<std::uint32_t> request_of_;              // by flow
  std::unordered_map<std::uint32_t, FlowId> flow_of_;  // of those on their way
  std::set<std::pair<Time, FlowId>> arrivals_;         // of the same
  std::vector<Time> arrival_of_;                       // by flow
};

}  // namespace flopcast::serving
