// What a workload asks of any fleet: how long its requests are, and how much comes in how little time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flopcast/serving/search.h"
#include "serving/search/bounds.h"

namespace flopcast::serving {

/// Requests that arrive between two times, of those that are known before anything is run.
struct DemandWindow {
  double seconds = 0;  ///< between the first arrival and the last
  double prompts = 0;  ///< tokens, of all that arrive
  double answers = 0;  ///< tokens after the first, of answers up to `longest_answer` of the demand
  double sent = 0;     ///< requests
};

/// Of a workload. Prompts are counted without what a cache may hold.
class Demand {
 public:
  /// Errors: make_requests'; kUsage: none that count.
  static Result<Demand> make(const ServingWorkload& workload);

  const RequestList& list() const { return list_; }  ///< make_requests()
  std::int64_t requests() const { return static_cast<std::int64_t>(inputs_.size()); }  ///< counted
  std::int64_t longest() const { return longest_; }              ///< prompt and answer
  std::int64_t longest_input() const { return longest_input_; }  ///< of a prompt
  const MeanTokens& tokens() const { return tokens_; }
  double mean_input() const { return mean_input_; }
  double mean_output() const { return mean_output_; }
  /// By nearest rank; 0: the mean. Of prompts less what a cache may hold.
  double input(double percentile) const;
  /// Of requests with answers of two tokens or more; those of one token count as 0.
  double answered_input(double percentile) const;
  /// Of answers.
  double output(double percentile) const;

  /// Seconds from the first arrival to the last; 0 of closed loops.
  double span() const { return windows_.empty() ? 0 : windows_.front().seconds; }

  /// Replicas below which the limits cannot hold, by the work of those requests that have to be done in time.
  /// @param prompts,answers whether the replicas compute them
  unsigned least_replicas(const TokenWorks& works, std::span<const ServiceLimit> limits,
                          bool prompts, bool answers) const;

 private:
  double replicas_for(const DemandWindow& window, const TokenWorks& works,
                      std::span<const ServiceLimit> limits, bool prompts, bool answers) const;
  void add_windows(std::vector<ServingRequest>& known);

  RequestList list_;
  std::vector<double> inputs_, answered_inputs_, outputs_;  ///< sorted
  std::vector<DemandWindow> windows_;
  MeanTokens tokens_;
  double mean_input_ = 0, mean_output_ = 0;
  double longest_answer_ = 0;  ///< tokens after the first
  std::int64_t longest_ = 0, longest_input_ = 0;
};

}  // namespace flopcast::serving
