#include "serving/fleet/seats.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::serving {

void add_counts(ReplicaCounts& to, const ReplicaCounts& more) {
  to.iterations += more.iterations;
  to.prefill_tokens += more.prefill_tokens;
  to.decode_tokens += more.decode_tokens;
  to.preemptions += more.preemptions;
  to.prefix_tokens += more.prefix_tokens;
  to.leaps += more.leaps;
  to.busy = sum_on_clock(to.busy, more.busy);
}

Seats::Seats(const PoolPlan& plan, const std::optional<Autoscaling>& scaling, TokenGaps* gaps)
    : plan_(plan),
      scaling_(scaling),
      gaps_(gaps),
      seats_(plan.replicas),
      given_(plan.replicas),
      loads_(plan.replicas) {
  wanted_ = scaling ? scaling->least : plan.replicas;
  for (std::size_t i = 0; i < wanted_; ++i) begin_serving(seats_[i], Time{});
  open_first(wanted_);
  if (scaling) look_ = scaling->interval;
}

void Seats::begin_serving(Seat& seat, Time now) {
  seat.engine = plan_.make(gaps_);
  seat.phase = Seat::Phase::kServing;
  seat.ready = Time::max();
  seat.idle_since = now;
  seat.paid_since = std::min(seat.paid_since, now);
}

void Seats::count(std::size_t index, std::int64_t more) {
  given_[index] += more;
  outstanding_ += more;
  if (open(index)) loads_[index] = given_[index];
}

void Seats::take(std::size_t index, Time now) {
  count(index, -1);
  if (given_[index] == 0) seats_[index].idle_since = now;
}

void Seats::retire_engine(std::size_t index) {
  Seat& seat = seats_[index];
  if (!seat.engine) return;
  add_counts(seat.past, seat.engine->counts());
  const auto samples = seat.engine->samples();
  seat.past_samples.insert(seat.past_samples.end(), samples.begin(), samples.end());
  seat.engine.reset();
  count(index, -given_[index]);
}

void Seats::open_first(std::size_t wanted) {
  open_ = 0;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const bool open = seats_[i].phase == Seat::Phase::kServing && open_ < wanted;
    open_ += open;
    loads_[i] = open ? given_[i] : kClosed;
  }
}

void Seats::find_ready() {
  ready_ = Time::max();
  for (const Seat& seat : seats_) ready_ = std::min(ready_, seat.ready);
}

Time Seats::next(bool idle) const { return idle && !changed_ ? ready_ : std::min(look_, ready_); }

void Seats::advance(Time now, std::int64_t waiting) {
  for (Seat& seat : seats_) {
    if (seat.ready <= now) begin_serving(seat, now);
  }
  open_first(wanted_);
  if (look_ <= now) look_after(now, outstanding_ + waiting);
  find_ready();
}

void Seats::look_after(Time now, std::int64_t outstanding) {
  const double wanted =
      std::ceil(static_cast<double>(outstanding) / scaling_->requests_per_replica);
  wanted_ = static_cast<std::size_t>(std::clamp<double>(wanted, scaling_->least, scaling_->most));
  changed_ = false;
  std::size_t running = 0;
  for (const Seat& seat : seats_) {
    running += seat.phase == Seat::Phase::kServing || seat.phase == Seat::Phase::kStarting;
  }
  for (Seat& seat : seats_) {
    if (running >= wanted_) break;
    if (seat.phase != Seat::Phase::kStopped) continue;
    seat.phase = Seat::Phase::kStarting;
    seat.ready = now + scaling_->start_up;
    seat.paid_since = now;
    ++running;
    changed_ = true;
  }
  open_first(wanted_);
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    const bool spare = seat.phase == Seat::Phase::kServing && !open(i) && given_[i] == 0;
    if (!spare || now - seat.idle_since < scaling_->idle_before_stop) continue;
    retire_engine(i);
    seat.phase = Seat::Phase::kStopped;
    seat.paid.emplace_back(seat.paid_since, now);
    seat.paid_since = Time::max();
    changed_ = true;
  }
  look_ = now + scaling_->interval;
}

void Seats::kill(std::size_t index, Time now, Time back) {
  Seat& seat = seats_[index];
  if (seat.phase == Seat::Phase::kStopped) return;
  retire_engine(index);
  seat.phase = Seat::Phase::kDead;
  seat.ready = back;
  seat.idle_since = now;
  open_first(wanted_);
  find_ready();
}

double Seats::paid_seconds(Time begin, Time end) const {
  double seconds = 0;
  const auto add = [&](Time from, Time to) {
    seconds += std::max(std::min(to, end) - std::max(from, begin), Time{}).seconds();
  };
  for (const Seat& seat : seats_) {
    for (const auto& [from, to] : seat.paid) add(from, to);
    if (seat.paid_since != Time::max()) add(seat.paid_since, end);
  }
  return seconds;
}

ReplicaCounts Seats::counts(std::size_t index) const {
  ReplicaCounts all = seats_[index].past;
  if (seats_[index].engine) add_counts(all, seats_[index].engine->counts());
  return all;
}

std::vector<IterationSample> Seats::samples(std::size_t index) const {
  std::vector<IterationSample> all = seats_[index].past_samples;
  if (!seats_[index].engine) return all;
  const auto now = seats_[index].engine->samples();
  all.insert(all.end(), now.begin(), now.end());
  return all;
}

}  // namespace flopcast::serving
