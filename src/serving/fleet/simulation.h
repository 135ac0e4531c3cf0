// Discrete events of a fleet on one clock.
//
// What happens at one time happens in this order: replicas, by index; transfers that arrive; replicas that die, serve
// again, are started and stopped; requests that are sent. A router that decides at a time so knows all that ended by
// then, whichever way the clock got there.
#pragma once

#include <deque>
#include <vector>

#include "serving/fleet/clients.h"
#include "serving/fleet/earliest.h"
#include "serving/fleet/router.h"
#include "serving/fleet/seats.h"
#include "serving/fleet/transfers.h"

namespace flopcast::serving {

/// A fleet under the requests of a workload; used once.
class FleetSimulation {
 public:
  FleetSimulation(const FleetPlan& plan, const ServingWorkload& workload, const RequestList& list,
                  const FleetOptions& options);
  Result<FleetRun> run();

 private:
  enum class Stage : std::uint8_t { kUnsent, kQueued, kFirst, kMoving, kSecond, kAnswered, kLost };
  using Failure = std::optional<Diagnostic>;

  Failure loop();
  Time next_outside();
  Failure advance_replicas(Time until);
  void handle(std::size_t place, const ReplicaEvent& event);
  void prompt_done(std::uint32_t id, std::size_t seat, Time at);
  void finish(std::uint32_t id, Time at);
  Failure move_prompts(Time now);
  Failure lose_replicas(Time now);
  Failure lose(const ReplicaFault& fault, Time now);
  void settle(std::vector<bool> places, Time now);
  Seat& seat_at(std::size_t place) {
    return place < first_.size() ? first_[place] : (*second_)[place - first_.size()];
  }
  bool with_replica(std::uint32_t id) const {
    return stages_[id] == Stage::kFirst || stages_[id] == Stage::kSecond;
  }
  Failure serve_again(Time now);
  Failure send(Time now);
  Failure place(std::uint32_t id, Time now);
  Failure place_queued(Time now);
  bool open() const;
  Failure give(std::uint32_t id, bool second, std::size_t seat, Time at);
  Failure forget(std::uint32_t id, bool retried, Time now);
  Failure stuck() const;
  Failure too_long() const;
  FleetRun result();

  bool split() const { return plan_.decode.has_value(); }
  std::size_t place_of(bool second, std::size_t seat) const {
    return seat + (second ? first_.size() : 0);
  }
  RoutedRequest routed(std::uint32_t id) const;

  const FleetPlan& plan_;
  const RequestList& list_;
  const FleetOptions& options_;
  TokenGaps gaps_;
  Clients clients_;
  Seats first_;                  // all replicas; those that compute prompts
  std::optional<Seats> second_;  // those that make answers of prompts computed elsewhere
  RequestRouter router_, second_router_;
  std::optional<KvTransfers> transfers_;
  Earliest replicas_;                 // when each has something to say: first_, then second_
  std::vector<ReplicaFault> faults_;  // by time
  std::size_t fault_ = 0;             // the next
  std::vector<RequestOutcome> outcomes_;
  std::vector<Stage> stages_;
  std::vector<std::uint32_t> from_;   // split fleets: who computed the prompt
  std::deque<std::uint32_t> queued_;  // no replica was open
  std::vector<ReplicaEvent> events_;
  Failure failed_;        // met while events were handled
  std::size_t left_ = 0;  // requests neither answered nor lost
  Time begin_;            // of what counts
  bool in_step_ = false;  // what replicas say decides what comes next
};

}  // namespace flopcast::serving
