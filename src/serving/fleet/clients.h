// Who sends which request when: open loops by their list, closed loops by who is free.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "flopcast/serving/requests.h"

namespace flopcast::serving {

/// The clients of a workload whose requests were made by make_requests().
class Clients {
 public:
  Clients(const ServingWorkload& workload, const RequestList& list);

  bool closed() const { return closed_; }
  Time next()
      const;  ///< when the next request is sent, as far as that is known; Time::max(): it is not
  std::uint32_t take();  ///< the request sent then; it counts as sent
  /// A client has its answer, or was told that there is none. @return whether warm-up ended with it: what counts
  /// begins at `at`.
  bool freed(Time at);
  /// Whether the request is none of the warm-up.
  bool counted(std::uint32_t request) const { return request >= warm_up_; }

 private:
  void send_all(Time at);

  using Send = std::pair<std::int64_t, std::uint32_t>;  // ps, request
  const RequestList& list_;
  bool closed_;
  std::uint32_t users_ = 0, warm_up_ = 0;
  std::uint32_t given_ = 0;      // requests of the list that have a time to be sent
  std::uint32_t end_ = 0;        // of the phase: warm-up, or what counts
  std::uint32_t in_flight_ = 0;  // given and not yet freed
  std::priority_queue<Send, std::vector<Send>, std::greater<>> sends_;  // closed loops
};

}  // namespace flopcast::serving
