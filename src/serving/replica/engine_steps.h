// Engine: iterations begun, run and ended. Part of engine.h.
//
// With overlap the host plans an iteration while the one before runs: it has seen the requests that came before that one
// began, and does not know yet whose answers end with it. vLLM: vllm/v1/engine/core.py, step_with_batch_queue; SGLang:
// managers/scheduler.py, event_loop_overlap; TensorRT-LLM: _torch/pyexecutor/py_executor.py, _executor_loop_overlap.
#pragma once

#include "serving/replica/engine.h"

namespace flopcast::serving {

template <class Pricing>
Time Engine<Pricing>::begin_of(std::size_t lane) const {
  if (ready_[lane] == Time::max()) return Time::max();
  Time first = Time::max();
  for (const Rank& rank : ranks_) {
    if (!rank.lanes[lane].running.empty() || !rank.waiting.empty()) {
      first = Time::min();
    } else if (!rank.arrivals.empty()) {
      first = std::min(first, table_[rank.arrivals.front()].at);
    }
  }
  return first == Time::max() ? first : std::max({first, ready_[lane], stage_free_.front()});
}

template <class Pricing>
Time Engine<Pricing>::next() const {
  Time first = Time::max();
  for (std::size_t lane = 0; lane < flights_.size(); ++lane)
    first = std::min(first, flights_[lane].busy ? flights_[lane].end : begin_of(lane));
  return first;
}

template <class Pricing>
void Engine<Pricing>::advance(Time until, std::vector<ReplicaEvent>& events) {
  if (until != Time::max()) now_ = std::max(now_, until);
  for (;;) {
    // What ends comes before what begins at the same time.
    std::size_t chosen = 0;
    Time at = Time::max();
    bool begins = false;
    for (std::size_t lane = 0; lane < flights_.size(); ++lane) {
      const bool busy = flights_[lane].busy;
      const Time time = busy ? flights_[lane].end : begin_of(lane);
      if (time < at || (time == at && begins && busy)) at = time, chosen = lane, begins = !busy;
    }
    if (at > until || at == Time::max()) return;
    now_ = std::max(now_, at);
    if (!begins) {
      complete(chosen, events);
    } else if (!start(chosen, at, events)) {
      ready_[chosen] = Time::max();
    }
  }
}

template <class Pricing>
void Engine<Pricing>::make_plans(std::size_t lane, Time horizon) {
  for (Rank& rank : ranks_) rank.see(horizon);
  if (terms_.rank.settings.balance_ranks && ranks_.size() > 1) balance(ranks_, lane);
  for (Rank& rank : ranks_) plan(rank, rank.lanes[lane]);
}

template <class Pricing>
bool Engine<Pricing>::empty_plans(std::size_t lane) const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const Rank& rank) { return rank.lanes[lane].empty(); });
}

template <class Pricing>
bool Engine<Pricing>::start(std::size_t lane, Time begin, std::vector<ReplicaEvent>& events) {
  const bool goes_on = begin == last_end_, ahead = goes_on && overlap();
  if (!ahead) release_late();
  since_seen_ = goes_on && decoded_ ? since_seen_ + 1 : receive_interval();
  if (since_seen_ >= receive_interval()) seen_ = ahead ? last_begin_ : begin, since_seen_ = 0;
  make_plans(lane, seen_);
  if (ahead) release_late();
  if (ahead && empty_plans(lane)) {
    seen_ = begin;
    make_plans(lane, seen_);
  }
  for (Rank& rank : ranks_) {
    for (const PlanNote& note : rank.notes) {
      events.push_back(
          {begin, note.id,
           note.preempted ? ReplicaEventKind::kPreempted : ReplicaEventKind::kScheduled});
      counts_.preemptions += note.preempted ? 1 : 0;
    }
    rank.notes.clear();
  }
  if (empty_plans(lane)) return false;
  price(lane, begin);
  if (options_.record_samples) sample(lane);
  return true;
}

/// Iterations of the plans just made that would be planned alike, by all but arrivals.
template <class Pricing>
std::int64_t Engine<Pricing>::alike(std::size_t lane) {
  std::int64_t steps = kForEver;
  std::int64_t from = -1;
  for (Rank& rank : ranks_) {
    Lane& batch = rank.lanes[lane];
    if (!batch.chunks.empty() || rank.alike == 0) return 1;
    if (rank.alike < kForEver) steps = std::min(steps, rank.alike + 1);
    if (batch.decodes.size() == 0) continue;
    // Drafts come in a rhythm of steps; ranks out of step have no common sum.
    if (!progress().plain() && from >= 0 && from != batch.decodes.steps()) return 1;
    from = batch.decodes.steps();
    steps = std::min(steps, batch.decodes.to_next_mark(table_));
    if (steps > 1) steps = std::min(steps, batch.decodes.steps_within(rank.pool.free()));
  }
  return std::max<std::int64_t>(steps, 1);
}

template <class Pricing>
void Engine<Pricing>::price(std::size_t lane, Time begin) {
  Flight& flight = flights_[lane];
  flight = {.busy = true, .begin = begin, .end = {}, .first = {}, .growth = {}};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Lane& batch = ranks_[r].lanes[lane];
    loads_[r] = batch.load();
    if (loads_[r].decodes > 0) flight.from = batch.decodes.steps();
  }
  const std::int64_t steps = options_.leap && flights_.size() == 1 ? alike(lane) : 1;
  if (steps > 1) {
    const LinearRun run = pricing_->run(loads_);
    flight.first = run.first;
    flight.growth = run.growth;
    const std::int64_t made = progress().tokens(flight.from);
    flight.steps =
        std::min(steps, progress().within(made + std::max<std::int64_t>(run.steps, 1) - 1) -
                            flight.from + 1);
  } else {
    flight.first = pricing_->time(loads_);
  }
  flight.end = flight.begins(flight.steps, progress());
  last_begin_ = begin;
  if (flights_.size() > 1) {
    // Through the stages: each takes the batch when it has it and is done with the one before.
    Time at = begin;
    for (Time& free : stage_free_)
      at = free = std::min(sum_on_clock(std::max(at, free), flight.first), kBeyond);
    flight.end = at;
  }
  if (flight.steps > 1)
    for (const Rank& rank : ranks_)
      if (!rank.arrivals.empty()) cut(rank, table_[rank.arrivals.front()].at, 1);
}

/// The run under way ends before the first iteration, from `least`, in which a request that comes at `at` could be
/// planned.
template <class Pricing>
void Engine<Pricing>::cut(const Rank& rank, Time at, std::int64_t least) {
  Flight& flight = flights_.front();
  if (flight.steps == 1 || rank.closed) return;
  // Iteration i sees what came before it, or, planned ahead, before the one before it.
  std::int64_t first = at <= flight.begin ? 0 : flight.first_from(at, progress());
  if (overlap()) ++first;
  first = std::max(first, least);
  const std::int64_t interval = receive_interval();
  first += (interval - (since_seen_ + first) % interval) % interval;
  if (first >= flight.steps) return;
  flight.steps = first;
  flight.end = flight.begins(first, progress());
}

/// Of a run, iteration `begun` has begun: when were requests received last?
template <class Pricing>
void Engine<Pricing>::skip_receipts(const Flight& flight, std::int64_t begun) {
  const std::int64_t interval = receive_interval();
  const std::int64_t last = (since_seen_ + begun) / interval * interval - since_seen_;
  if (last >= 1) seen_ = flight.begins(overlap() ? last - 1 : last, progress());
  since_seen_ = (since_seen_ + begun) % interval;
  last_begin_ = flight.begins(begun, progress());
}

/// Of the run under way only the iteration under way is left; those before it have ended.
template <class Pricing>
void Engine<Pricing>::split() {
  Flight& flight = flights_.front();
  if (!flight.busy || flight.steps == 1) return;
  const std::int64_t passed = flight.passed(now_, progress());
  const Time begin = flight.begins(passed, progress());
  const Time end = flight.begins(passed + 1, progress());
  if (passed > 0) {
    skip_receipts(flight, passed);
    counts_.iterations += passed;
    counts_.busy += begin - flight.begin;
    for (Rank& rank : ranks_) {
      Lane& lane = rank.lanes.front();
      Decodes& decodes = lane.decodes;
      count(lane, flight, passed);
      plans_alike(rank, passed);
      if (!lane.decode) continue;
      decodes.pass(passed, rank.pool);
      rank.pool.take(decodes.pending());
      decodes.settle();
    }
  }
  flight.from += passed;
  flight.begin = begin;
  flight.end = end;
  flight.steps = 1;
  if (!options_.record_samples) return;
  samples_.back().end = end;
  samples_.back().iterations = passed + 1;
}

template <class Pricing>
void Engine<Pricing>::release_late() {
  for (Rank& rank : ranks_) rank.release_late();
}

template <class Pricing>
void Engine<Pricing>::count(Lane& lane, const Flight& flight, std::int64_t steps) {
  for (const Chunk& chunk : lane.chunks) counts_.prefill_tokens += chunk.tokens;
  if (!lane.decode) return;
  counts_.decode_tokens += lane.decodes.size() * lane.decodes.gain(steps);
  if (options_.gaps != nullptr) count_gaps(lane, flight, steps);
}

/// Of the first `steps` iterations of a flight that has the lane's decodes.
template <class Pricing>
void Engine<Pricing>::count_gaps(Lane& lane, const Flight& flight, std::int64_t steps) {
  const auto ends = [&](std::int64_t i) {
    return flight.steps == 1 ? flight.end : flight.begins(i + 1, progress());
  };
  std::int64_t old = lane.decodes.size();
  for (const Lane::Fresh& fresh : lane.fresh) {
    old -= fresh.count;
    if (fresh.at != Time::min()) options_.gaps->add(ends(0) - fresh.at, fresh.count);
  }
  lane.fresh.clear();
  if (old > 0) options_.gaps->add(ends(0) - lane.last_tokens, old);
  const std::int64_t size = lane.decodes.size();
  if (progress().plain()) {
    options_.gaps->add_run(flight.first + flight.growth, flight.growth, steps - 1, size);
  } else {
    for (std::int64_t i = 1; i < steps; ++i) options_.gaps->add(ends(i) - ends(i - 1), size);
  }
  lane.last_tokens = ends(steps - 1);
}

template <class Pricing>
void Engine<Pricing>::complete(std::size_t index, std::vector<ReplicaEvent>& events) {
  Flight& flight = flights_[index];
  const Time at = flight.end;
  const std::int64_t steps = flight.steps;
  flight.busy = false;
  counts_.iterations += steps;
  // In a pipeline batches overlap: a stage's time is what the replica is busy with one.
  counts_.busy += flights_.size() > 1 ? flight.first : at - flight.begin;
  if (steps > 1) {
    ++counts_.leaps;
    skip_receipts(flight, steps - 1);
  }
  decoded_ = true;
  for (Rank& rank : ranks_) {
    Lane& lane = rank.lanes[index];
    count(lane, flight, steps);
    if (!lane.chunks.empty()) decoded_ = false;
    if (steps > 1) plans_alike(rank, steps - 1);
    counts_.prefix_tokens += std::exchange(rank.found, 0);
    if (lane.decode) {
      lane.decodes.pass(steps, rank.pool);
      for (auto told = lane.decodes.take_mark(table_); told.slot != kNoSlot;
           told = lane.decodes.take_mark(table_)) {
        const RequestState& state = table_[told.slot];
        events.push_back(
            {at, state.id, told.ended ? ReplicaEventKind::kDone : ReplicaEventKind::kFirstToken});
        if (!told.ended) continue;
        counts_.decode_tokens -= state.made - state.output;
        rank.retire(lane, told.slot);
      }
    }
    end_chunks(rank, lane, at, events);
  }
  last_end_ = at;
  for (std::size_t lane = 0; lane < ready_.size(); ++lane)
    if (lane == index || ready_[lane] == Time::max()) ready_[lane] = at;
  if (!overlap() || begin_of(index) > at) release_late();
}

template <class Pricing>
void Engine<Pricing>::end_chunks(Rank& rank, Lane& lane, Time at,
                                 std::vector<ReplicaEvent>& events) {
  for (const Chunk& chunk : lane.chunks) {
    if (chunk.slot == kNoSlot || !chunk.last) continue;
    RequestState& state = table_[chunk.slot];
    if (++state.made == 1) {
      events.push_back({at, state.id, ReplicaEventKind::kFirstToken});
    } else if (options_.gaps != nullptr && state.last_token != Time::min()) {
      options_.gaps->add(at - state.last_token);  // it was preempted in between
    }
    state.last_token = at;
    if (state.made < state.output) {
      rank.start_decoding(lane, chunk.slot);
      continue;
    }
    events.push_back({at, state.id, ReplicaEventKind::kDone});
    rank.retire(lane, chunk.slot);
  }
  lane.chunks.clear();
  lane.decode = false;
}

template <class Pricing>
void Engine<Pricing>::sample(std::size_t lane) {
  const Flight& flight = flights_[lane];
  IterationSample sample{.begin = flight.begin, .end = flight.end, .iterations = flight.steps};
  for (const Rank& rank : ranks_) {
    const RankLoad load = rank.lanes[lane].load();
    sample.decodes += load.decodes;
    sample.prefill_tokens += load.prefill_tokens;
    sample.waiting += static_cast<std::int64_t>(rank.arrivals.size() + rank.waiting.size());
    sample.blocks_used += rank.pool.used();
  }
  samples_.push_back(sample);
}

}  // namespace flopcast::serving
