// What tests of the engine share: prices that are linear by construction, and a client that sends and listens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "flopcast/serving/iteration.h"
#include "serving/replica/engine.h"

namespace flopcast::serving::testing {

/// Iterations as long as the slowest rank: a sum of what it computes, in whole picoseconds.
struct LinearPricing {
  std::int64_t base = 1'000'000, decode = 10'000, context = 10, capped = 3, prefill = 5'000,
               pairs = 1, row = 700;
  std::int64_t longest_run = std::int64_t{1} << 40;  ///< steps a run holds at most

  std::int64_t of(const RankLoad& load) const {
    return base + decode * load.decodes + context * load.context + capped * load.capped_context +
           prefill * load.prefill_tokens + pairs * load.prefill_pairs + row * load.sampled;
  }
  std::int64_t growth(const RankLoad& load) const {
    return context * load.decodes + capped * load.uncapped;
  }
  Time time(std::span<const RankLoad> ranks) const {
    std::int64_t most = 0;
    for (const RankLoad& load : ranks) most = std::max(most, of(load));
    return {most};
  }
  /// Holds until another rank is the slowest.
  LinearRun run(std::span<const RankLoad> ranks) const {
    LinearRun run{time(ranks), {}, longest_run};
    for (const RankLoad& load : ranks)
      if (of(load) == run.first.ps) run.growth.ps = std::max(run.growth.ps, growth(load));
    for (const RankLoad& load : ranks) {
      const std::int64_t faster = growth(load) - run.growth.ps;
      if (faster > 0) run.steps = std::min(run.steps, (run.first.ps - of(load)) / faster + 1);
    }
    run.steps = std::max<std::int64_t>(run.steps, 1);
    return run;
  }
};

/// The first line in which two texts differ, after the six before it; empty: they are the same.
inline std::string difference(const std::vector<std::string>& one,
                              const std::vector<std::string>& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string left = i < one.size() ? one[i] : "nothing";
    const std::string right = i < other.size() ? other[i] : "nothing";
    if (left == right) continue;
    std::string text;
    for (std::size_t j = i < 6 ? 0 : i - 6; j < i; ++j) text += one[j] + "\n";
    return fmt::format("{}line {}: {} and {}\n", text, i, left, right);
  }
  return {};
}

/// "12000 first 3"
inline std::string shown(const ReplicaEvent& event) {
  constexpr const char* kNames[] = {"scheduled", "first", "done", "preempted"};
  return fmt::format("{} {} {}", event.at.ps, kNames[static_cast<int>(event.kind)], event.id);
}

/// Terms of a rank with so many blocks.
inline EngineTerms terms_of(const EngineSettings& settings, std::int64_t blocks, unsigned ranks = 1,
                            std::int64_t cap = 0, unsigned lanes = 1) {
  return {rank_terms(settings, blocks, cap, lanes, ranks), 0};
}

/// Small settings without graphs, caches or overlap.
inline EngineSettings plain_settings(ServingEngine engine) {
  EngineSettings settings;
  settings.engine = engine;
  settings.batch_tokens = 64;
  settings.prefill_tokens = 128;
  settings.max_requests = 8;
  settings.block = 4;
  settings.prefix_cache = false;
  settings.overlap = false;
  return settings;
}

/// A request of a timeline.
struct Sent {
  std::int64_t at = 0, input = 1, output = 1, ready = 0;
  std::vector<std::uint64_t> prefix = {};  ///< of 4 tokens each
  unsigned rank = ~0U;
};

/// What a timeline came to.
struct Timeline {
  std::vector<std::string> events;  ///< "12 first 0"
  ReplicaCounts counts;
  TokenGaps gaps;
};

/// Every iteration takes 10 ps. Requests are numbered in their order.
inline Timeline timeline(const EngineTerms& terms, const std::vector<Sent>& sent) {
  const LinearPricing pricing{10, 0, 0, 0, 0, 0, 0};
  Timeline timeline;
  Engine<LinearPricing> engine(pricing, terms, {.leap = true, .gaps = &timeline.gaps});
  std::vector<ReplicaEvent> events;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Sent& one = sent[i];
    engine.submit({.id = static_cast<std::uint32_t>(i),
                   .input = one.input,
                   .output = one.output,
                   .ready = one.ready,
                   .prefix = one.prefix,
                   .prefix_block = 4,
                   .rank = one.rank},
                  {one.at});
  }
  engine.advance(Time::max(), events);
  timeline.counts = engine.counts();
  for (const ReplicaEvent& event : events) timeline.events.push_back(shown(event));
  return timeline;
}

}  // namespace flopcast::serving::testing
