// The replicas of one pool: which there are, which may get requests, what they are paid for.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "serving/fleet/plan.h"

namespace flopcast::serving {

/// A replica's place.
struct Seat {
  enum class Phase : std::uint8_t { kStopped, kStarting, kServing, kDead };
  Phase phase = Phase::kStopped;
  std::unique_ptr<FleetEngine> engine;
  Time ready = Time::max();  ///< when it starts to serve
  Time idle_since;           ///< with none outstanding
  Time paid_since = Time::max();
  std::vector<std::pair<Time, Time>> paid;    ///< spans that ended
  ReplicaCounts past;                         ///< of engines it had before
  std::vector<IterationSample> past_samples;  ///< likewise
};

/// Autoscaling: as many replicas as `requests_per_replica` asks for are open, the first of those that serve. Others
/// get no request, and are stopped once they had none for a while; those that are missing are started.
class Seats {
 public:
  Seats(const PoolPlan& plan, const std::optional<Autoscaling>& scaling, TokenGaps* gaps);

  std::size_t size() const { return seats_.size(); }
  Seat& operator[](std::size_t index) { return seats_[index]; }
  const Seat& operator[](std::size_t index) const { return seats_[index]; }

  /// Requests that each was given and has not answered; kClosed where routers may not choose it.
  std::span<const std::int64_t> loads() const { return loads_; }
  static constexpr std::int64_t kClosed = std::numeric_limits<std::int64_t>::max();
  bool open(std::size_t index) const { return loads_[index] != kClosed; }
  bool any_open() const { return open_ > 0; }
  void give(std::size_t index) { count(index, 1); }          ///< a request
  void take(std::size_t index, Time now);                    ///< a request is answered, or gone
  std::int64_t outstanding() const { return outstanding_; }  ///< of all

  /// When a replica starts to serve, or is looked after, next. @param idle nothing else will happen in this
  /// fleet: looking after it again and again would change nothing
  Time next(bool idle) const;
  /// What is due by `now`. @param waiting requests that no replica was open for
  void advance(Time now, std::int64_t waiting);
  /// The replica dies; it is back then. Its engine is gone.
  void kill(std::size_t index, Time now, Time back);
  /// Seconds between these times that replicas were paid for: from when their start was ordered, dead or not.
  double paid_seconds(Time begin, Time end) const;
  /// The replica's whole account.
  ReplicaCounts counts(std::size_t index) const;
  std::vector<IterationSample> samples(std::size_t index) const;

 private:
  void count(std::size_t index, std::int64_t more);
  void begin_serving(Seat& seat, Time now);
  void retire_engine(std::size_t index);
  void find_ready();
  void look_after(Time now, std::int64_t outstanding);
  void open_first(std::size_t wanted);

  const PoolPlan& plan_;
  std::optional<Autoscaling> scaling_;
  TokenGaps* gaps_;
  std::vector<Seat> seats_;
  std::vector<std::int64_t> given_;  // outstanding of each
  std::vector<std::int64_t> loads_;
  std::int64_t outstanding_ = 0;
  std::size_t wanted_ = 0, open_ = 0;
  Time ready_ = Time::max();  // the least of all seats'
  Time look_ = Time::max();
  bool changed_ = true;  // by the last look
};

/// Adds what another replica did.
void add_counts(ReplicaCounts& to, const ReplicaCounts& more);

}  // namespace flopcast::serving
