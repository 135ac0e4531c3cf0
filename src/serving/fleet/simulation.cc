#include "serving/fleet/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/clock.h"
#include "base/text/format.h"
#include "serving/fleet/totals.h"

namespace flopcast::serving {
namespace {

std::vector<ReplicaFault> faults_by_time(std::vector<ReplicaFault> faults) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const ReplicaFault& a, const ReplicaFault& b) { return a.at < b.at; });
  return faults;
}

}  // namespace

FleetSimulation::FleetSimulation(const FleetPlan& plan, const ServingWorkload& workload,
                                 const RequestList& list, const FleetOptions& options)
    : plan_(plan),
      list_(list),
      options_(options),
      clients_(workload, list),
      first_(plan.pool, plan.autoscaling, options.inter_token ? &gaps_ : nullptr),
      router_(plan.router),
      // Nobody else has a prompt that was computed for this one: prefixes do not matter there.
      second_router_(plan.router == Router::kRoundRobin ? plan.router : Router::kLeastLoaded),
      replicas_(plan.replicas()),
      faults_(faults_by_time(plan.faults)),
      outcomes_(list.requests.size()),
      stages_(list.requests.size(), Stage::kUnsent),
      left_(list.requests.size()),
      in_step_(clients_.closed() || plan.decode.has_value() || plan.in_step) {
  if (plan.decode) {
    second_.emplace(*plan.decode, std::nullopt, options.inter_token ? &gaps_ : nullptr);
    transfers_.emplace(plan.transfers);
    from_.resize(list.requests.size());
  }
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const ServingRequest& request = list.requests[i];
    outcomes_[i] = {Time::max(), Time::max(),   Time::max(),
                    Time::max(), request.input, request.output};
    outcomes_[i].counted = clients_.counted(static_cast<std::uint32_t>(i));
  }
}

Result<FleetRun> FleetSimulation::run() {
  if (Failure failed = loop()) return *failed;
  return result();
}

FleetSimulation::Failure FleetSimulation::loop() {
  while (left_ > 0) {
    const Time outside = next_outside();
    const Time replicas = replicas_.time();
    // Where nothing that a replica says brings a new request about, it may run ahead to the next one.
    const Time until = in_step_ || outside == Time::max() ? std::min(outside, replicas) : outside;
    if (until == Time::max()) return stuck();
    if (until > options_.longest) {
      if (Failure failed = advance_replicas(options_.longest)) return failed;
      return settle(std::vector<bool>(plan_.replicas(), true), options_.longest), std::nullopt;
    }
    if (!fits_clock(until)) return too_long();
    if (Failure failed = advance_replicas(until)) return failed;
    if (next_outside() > until) continue;
    if (Failure failed = move_prompts(until)) return failed;
    if (Failure failed = lose_replicas(until)) return failed;
    if (Failure failed = serve_again(until)) return failed;
    if (Failure failed = send(until)) return failed;
  }
  return std::nullopt;
}

Time FleetSimulation::next_outside() {
  Time next = clients_.next();
  if (transfers_) next = std::min(next, transfers_->next());
  if (fault_ < faults_.size()) next = std::min(next, faults_[fault_].at);
  const bool idle = next == Time::max() && replicas_.time() == Time::max();
  next = std::min(next, first_.next(idle));
  if (second_) next = std::min(next, second_->next(idle));
  return next;
}

FleetSimulation::Failure FleetSimulation::advance_replicas(Time until) {
  while (replicas_.time() <= until && replicas_.time() != Time::max()) {
    const std::size_t place = replicas_.place();
    const bool second = place >= first_.size();
    Seat& seat = second ? (*second_)[place - first_.size()] : first_[place];
    events_.clear();
    seat.engine->advance(until, events_);
    const Time next = seat.engine->next();
    if (next <= until) {
      return Diagnostic{ErrorCode::kNoAnswer, fmt::format("replica {}", place),
                        "time stands still in it", "report this: it is an error of the simulator"};
    }
    replicas_.set(place, next);
    for (const ReplicaEvent& event : events_) handle(place, event);
    if (failed_) return failed_;
  }
  return std::nullopt;
}

void FleetSimulation::handle(std::size_t place, const ReplicaEvent& event) {
  RequestOutcome& outcome = outcomes_[event.id];
  const bool second = place >= first_.size();
  switch (event.kind) {
    case ReplicaEventKind::kScheduled:
      if (!second) outcome.scheduled = event.at;
      break;
    case ReplicaEventKind::kFirstToken:
      if (!split()) outcome.first_token = event.at + plan_.pool.back;
      if (second && options_.inter_token) {
        gaps_.add(event.at + plan_.decode->back - outcome.first_token);
      }
      break;
    case ReplicaEventKind::kPreempted:
      ++outcome.preemptions;
      break;
    case ReplicaEventKind::kDone:
      if (split() && !second) {
        prompt_done(event.id, place, event.at);
      } else {
        (second ? *second_ : first_).take(second ? place - first_.size() : place, event.at);
        finish(event.id, event.at + (second ? plan_.decode->back : plan_.pool.back));
      }
      break;
  }
}

/// The pool that computes prompts is done with a request.
void FleetSimulation::prompt_done(std::uint32_t id, std::size_t seat, Time at) {
  first_.take(seat, at);
  if (outcomes_[id].output <= 1) {
    outcomes_[id].first_token = at + plan_.pool.back;
    return finish(id, at + plan_.pool.back);
  }
  const auto to = second_router_.choose(*second_, routed(id));
  if (!to) {  // nobody makes answers now: the prompt is computed again when somebody does
    stages_[id] = Stage::kQueued;
    queued_.push_back(id);
    return;
  }
  from_[id] = static_cast<std::uint32_t>(seat);
  outcomes_[id].replica = static_cast<std::uint32_t>(place_of(true, *to));
  stages_[id] = Stage::kMoving;
  second_->give(*to);
  if (auto wrong = transfers_->start(id, seat, *to, outcomes_[id].input, at)) failed_ = wrong;
}

void FleetSimulation::finish(std::uint32_t id, Time at) {
  outcomes_[id].done = at;
  stages_[id] = Stage::kAnswered;
  --left_;
  if (clients_.freed(at)) gaps_.clear();
}

FleetSimulation::Failure FleetSimulation::move_prompts(Time now) {
  while (transfers_ && transfers_->next() <= now) {
    const auto id = transfers_->take(now);
    if (!id) continue;
    RequestOutcome& outcome = outcomes_[*id];
    outcome.first_token = now + plan_.decode->back;
    if (Failure failed = give(*id, true, outcome.replica - first_.size(), now)) return failed;
  }
  return std::nullopt;
}

/// These replicas are over: iterations of a leap that ended by `now` are told, since taking a request out ends it.
void FleetSimulation::settle(std::vector<bool> places, Time now) {
  for (std::uint32_t id = 0; id < outcomes_.size(); ++id) {
    const std::size_t place = outcomes_[id].replica;
    if (!with_replica(id) || !places[place]) continue;
    places[place] = false;
    FleetEngine& engine = *seat_at(place).engine;
    engine.advance(now, events_);
    engine.cancel(id);
  }
}

FleetSimulation::Failure FleetSimulation::lose_replicas(Time now) {
  for (; fault_ < faults_.size() && faults_[fault_].at <= now; ++fault_) {
    if (Failure failed = lose(faults_[fault_], now)) return failed;
  }
  return std::nullopt;
}

FleetSimulation::Failure FleetSimulation::lose(const ReplicaFault& fault, Time now) {
  std::vector<bool> dying(plan_.replicas());
  dying[fault.replica] = true;
  settle(dying, now);
  const bool second = fault.replica >= first_.size();
  (second ? *second_ : first_)
      .kill(second ? fault.replica - first_.size() : fault.replica, now, fault.back);
  replicas_.set(fault.replica, Time::max());
  for (std::uint32_t id = 0; id < outcomes_.size(); ++id) {
    const bool moving = stages_[id] == Stage::kMoving;
    const bool here = (with_replica(id) || moving) && outcomes_[id].replica == fault.replica;
    const bool source = moving && from_[id] == fault.replica;
    if (!here && !source) continue;
    if (moving) transfers_->drop(id, now);
    if (source) second_->take(outcomes_[id].replica - first_.size(), now);
    if (Failure failed = forget(id, fault.retried, now)) return failed;
  }
  return std::nullopt;
}

/// A request whose replica is gone.
FleetSimulation::Failure FleetSimulation::forget(std::uint32_t id, bool retried, Time now) {
  RequestOutcome& outcome = outcomes_[id];
  outcome.scheduled = outcome.first_token = Time::max();
  if (retried) {
    ++outcome.retries;
    return place(id, now);
  }
  stages_[id] = Stage::kLost;
  --left_;
  if (clients_.freed(now)) gaps_.clear();
  return std::nullopt;
}

FleetSimulation::Failure FleetSimulation::serve_again(Time now) {
  if (first_.next(false) <= now) first_.advance(now, static_cast<std::int64_t>(queued_.size()));
  if (second_ && second_->next(false) <= now) second_->advance(now, 0);
  return place_queued(now);
}

FleetSimulation::Failure FleetSimulation::send(Time now) {
  while (clients_.next() <= now) {
    const std::uint32_t id = clients_.take();
    outcomes_[id].sent = now;
    if (Failure failed = place(id, now)) return failed;
  }
  return std::nullopt;
}

RoutedRequest FleetSimulation::routed(std::uint32_t id) const {
  const ServingRequest& request = list_.requests[id];
  return {request.input,
          std::span(list_.prefixes)
              .subspan(request.prefix_begin, request.prefix_end - request.prefix_begin),
          list_.prefix_block, request.session};
}

bool FleetSimulation::open() const {
  return first_.any_open() && (!second_ || second_->any_open());
}

/// Gives a request to whom the router says, or lets it wait until somebody is there.
FleetSimulation::Failure FleetSimulation::place(std::uint32_t id, Time now) {
  if (!open()) {
    stages_[id] = Stage::kQueued;
    queued_.push_back(id);
    return std::nullopt;
  }
  const std::size_t seat = *router_.choose(first_, routed(id));
  first_.give(seat);
  // Who splits requests is a server by itself: it reads them as the others do.
  const Time router = split() ? plan_.decode->front : Time{};
  return give(id, false, seat, now + router + plan_.pool.front);
}

FleetSimulation::Failure FleetSimulation::place_queued(Time now) {
  while (!queued_.empty() && open()) {
    const std::uint32_t id = queued_.front();
    queued_.pop_front();
    if (Failure failed = place(id, now)) return failed;
  }
  return std::nullopt;
}

FleetSimulation::Failure FleetSimulation::give(std::uint32_t id, bool second, std::size_t seat,
                                               Time at) {
  const RoutedRequest known = routed(id);
  ReplicaRequest request;
  request.id = id;
  request.input = known.input;
  request.output = split() && !second ? 1 : outcomes_[id].output;
  request.ready = second ? known.input : 0;
  request.prefix = known.prefix;
  request.prefix_block = known.prefix_block;
  Seat& to = second ? (*second_)[seat] : first_[seat];
  if (auto refused = to.engine->submit(request, at)) return refused;
  const std::size_t place = place_of(second, seat);
  outcomes_[id].replica = static_cast<std::uint32_t>(place);
  stages_[id] = second ? Stage::kSecond : Stage::kFirst;
  replicas_.set(place, to.engine->next());
  return std::nullopt;
}

FleetSimulation::Failure FleetSimulation::too_long() const {
  return beyond_clock("fleet",
                      fmt::format("the run, with {} unanswered", counted(left_, "request")),
                      "ask for fewer requests, or a faster fleet");
}

/// Nothing will happen any more. Requests that no replica is there for stay unanswered.
FleetSimulation::Failure FleetSimulation::stuck() const {
  if (!queued_.empty()) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "fleet",
                    fmt::format("{} requests are never answered", left_),
                    "give replicas more room for keys and values"};
}

FleetRun FleetSimulation::result() {
  FleetRun run;
  run.requests = std::move(outcomes_);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i] == Stage::kLost && run.requests[i].counted) ++run.lost;
  }
  add_totals(run, gaps_);
  for (const Seats* seats : {&first_, second_ ? &*second_ : nullptr}) {
    if (seats == nullptr) continue;
    run.replica_seconds += seats->paid_seconds(run.begin, run.end);
    for (std::size_t i = 0; i < seats->size(); ++i) {
      add_counts(run.counts, seats->counts(i));
      if (options_.record_samples) run.samples.push_back(seats->samples(i));
    }
  }
  return run;
}

}  // namespace flopcast::serving
