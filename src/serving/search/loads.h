// Batches as closed forms know them: means, alike on all attention ranks.
//
// What follows takes any prices with the members of IterationModel that it uses; tests bring their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "flopcast/serving/iteration.h"

namespace flopcast::serving {

/// What one attention rank has in an iteration, in means.
struct MeanLoad {
  double decodes = 0;  ///< requests past their prompt
  double context = 0;  ///< tokens that each of them reads
  double prefill = 0;  ///< tokens of prompts
  double prompts = 1;  ///< chunks they come in
  double pairs = 0;    ///< of a prompt's token, twice the keys it sees
  double before = 0;   ///< tokens before a chunk
};

inline std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

/// As an iteration's price asks for it; counts are rounded.
inline RankLoad rank_load(const MeanLoad& mean, std::int64_t cap) {
  RankLoad load;
  load.decodes = whole(mean.decodes);
  const double decodes = static_cast<double>(load.decodes);
  load.context = whole(decodes * mean.context);
  if (cap > 0) {
    const double seen = std::min(mean.context, static_cast<double>(cap));
    load.capped_context = whole(decodes * seen);
    load.uncapped = mean.context < static_cast<double>(cap) ? load.decodes : 0;
  }
  load.prefill_tokens = whole(mean.prefill);
  if (load.prefill_tokens == 0) return load;
  load.prefills = std::max<std::int64_t>(1, whole(mean.prompts));
  load.prefill_pairs = whole(mean.prefill * mean.pairs);
  load.prefill_context = whole(static_cast<double>(load.prefills) * mean.before);
  load.sampled = load.prefills;
  return load;
}

/// Seconds of an iteration whose ranks are all loaded so; between counts of decodes it is interpolated.
template <typename Prices>
double seconds_of(const Prices& prices, unsigned ranks, const MeanLoad& mean) {
  MeanLoad low = mean, high = mean;
  low.decodes = std::floor(mean.decodes);
  high.decodes = std::ceil(mean.decodes);
  const auto price = [&](const MeanLoad& load) {
    const std::vector<RankLoad> loads(ranks, rank_load(load, prices.context_cap()));
    return prices.time(loads).seconds();
  };
  const double part = mean.decodes - low.decodes;
  if (part == 0) return price(mean);
  const bool idle = low.decodes == 0 && mean.prefill == 0;
  return (1 - part) * (idle ? price(high) : price(low)) + part * price(high);
}

/// The same where the first rank alone has something to do.
template <typename Prices>
double seconds_alone(const Prices& prices, unsigned ranks, const MeanLoad& mean) {
  std::vector<RankLoad> loads(ranks);
  loads.front() = rank_load(mean, prices.context_cap());
  return prices.time(loads).seconds();
}

}  // namespace flopcast::serving
