// What no schedule can surpass: least times of a request that is alone, least work of a token.
//
// A token's least work is found on a grid of batches: for weights a of answers' tokens and b of prompts' tokens no
// batch on the grid takes less than a x answers + b x prompts. Between the points of the grid an iteration may be a
// little cheaper; kBelow allows for that, and for prices that are no convex function of the batch.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "flopcast/serving.h"
#include "flopcast/serving/memory.h"
#include "serving/search/loads.h"

namespace flopcast::serving {

inline constexpr double kBelow = 0.95;

/// Seconds of a replica (of one stage of it) that tokens cost at least.
struct TokenWork {
  double answer = 0, prompt = 0;
};
/// Any of them holds: the largest sum counts.
using TokenWorks = std::array<TokenWork, 5>;

/// What batches of a workload look like: means over tokens, not over requests.
struct MeanTokens {
  double context = 0;  ///< tokens that an answer's token reads
  double pairs = 0;    ///< twice the keys that a prompt's token sees
};

inline bool mixes(const EngineSettings& settings) {
  return settings.engine != ServingEngine::kSglang || settings.mixed_chunks;
}

/// Requests of one rank that may answer at once, each with at least so many tokens kept.
inline double most_decodes(const ServingMemory& memory, const EngineSettings& settings,
                           double kept) {
  const double room = static_cast<double>(memory.tokens) / std::max(1.0, kept);
  return std::max(1.0, std::floor(std::min(room, static_cast<double>(settings.max_requests))));
}

/// Seconds until a prompt of so many tokens is computed in an empty engine, clients' way in and out included.
template <typename Prices>
double least_ttft(const Prices& prices, const EngineSettings& settings, const ServingLayout& layout,
                  double input) {
  const double fixed = prices.front().seconds() + prices.back().seconds();
  const double budget = std::max(1.0, static_cast<double>(settings.batch_tokens));
  const double fewest = settings.chunked_prefill ? std::ceil(input / budget) : 1;
  // A pipeline may like more chunks than it needs.
  const double most = fewest + (settings.chunked_prefill && layout.pp > 1 ? 4.0 * layout.pp : 0);
  double least = std::numeric_limits<double>::infinity();
  for (double chunks = fewest; chunks <= most; ++chunks) {
    MeanLoad load;
    load.prefill = std::max(1.0, std::floor(input / chunks));
    load.pairs = input + 1;
    const double stage = seconds_alone(prices, layout.dp, load);
    least = std::min(least, (chunks + layout.pp - 1) * stage);
  }
  return fixed + kBelow * least;
}

/// Seconds a token of an answer takes where the request is alone.
template <typename Prices>
double least_tpot(const Prices& prices, const EngineSettings& settings, const ServingLayout& layout,
                  double input) {
  MeanLoad load;
  load.decodes = 1;
  load.context = input + 1;
  const double step = layout.pp * seconds_alone(prices, layout.dp, load);
  const Speculation& drafts = settings.speculation;
  if (drafts.kind == Speculation::Kind::kNone) return kBelow * step;
  // Of an answer's steps the last may bring more than the mean.
  return kBelow * step / (drafts.drafts + 1.0);
}

/// Points of a grid: 0 where allowed, then powers of two, then `most`.
inline std::vector<double> grid_to(double most, bool with_zero) {
  std::vector<double> points;
  if (with_zero) points.push_back(0);
  for (double point = 1; point < most; point *= 2) points.push_back(point);
  points.push_back(most);
  return points;
}

/// One batch of the grid: its tokens (of all ranks) and its seconds.
struct GridBatch {
  double answers = 0, prompts = 0, seconds = 0;
};
template <typename Prices>
std::vector<GridBatch> grid_batches(const Prices& prices, const ServingMemory& memory,
                                    const EngineSettings& settings, const ServingLayout& layout,
                                    const MeanTokens& tokens) {
  std::vector<GridBatch> batches;
  const double accepted = std::max(1.0, settings.speculation.accepted);
  const double budget = static_cast<double>(settings.batch_tokens);
  // Where prompts are computed by themselves nothing is gained by both at once.
  const bool mixed = mixes(settings);
  for (const double decodes : grid_to(most_decodes(memory, settings, tokens.context), true)) {
    for (const double prefill : grid_to(budget, true)) {
      if (decodes + prefill == 0 || (!mixed && decodes > 0 && prefill > 0)) continue;
      if (decodes > 0 && prefill > 0 && prefill + decodes > 2 * budget) continue;
      MeanLoad load;
      load.decodes = decodes;
      load.context = tokens.context;
      load.prefill = prefill;
      load.pairs = tokens.pairs;
      batches.push_back({decodes * layout.dp * accepted, prefill * layout.dp,
                         seconds_of(prices, layout.dp, load)});
    }
  }
  return batches;
}

/// The most that a token of prompts costs at least, if one of answers costs `answer`; both ways.
inline double least_prompt(const std::vector<GridBatch>& batches, double answer) {
  double least = std::numeric_limits<double>::infinity();
  for (const GridBatch& batch : batches) {
    if (batch.prompts == 0) continue;
    least = std::min(least, (batch.seconds - answer * batch.answers) / batch.prompts);
  }
  return std::max(0.0, least);
}
inline double least_answer(const std::vector<GridBatch>& batches) {
  double least = std::numeric_limits<double>::infinity();
  for (const GridBatch& batch : batches) {
    if (batch.prompts > 0 || batch.answers == 0) continue;
    least = std::min(least, batch.seconds / batch.answers);
  }
  return least;
}

template <typename Prices>
TokenWorks least_works(const Prices& prices, const ServingMemory& memory,
                       const EngineSettings& settings, const ServingLayout& layout,
                       const MeanTokens& tokens) {
  const auto batches = grid_batches(prices, memory, settings, layout, tokens);
  const double answer = least_answer(batches);
  TokenWorks works;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const double part =
        mixes(settings) ? static_cast<double>(i) / static_cast<double>(works.size() - 1) : 1;
    works[i].answer = kBelow * part * answer;
    works[i].prompt = kBelow * least_prompt(batches, mixes(settings) ? part * answer : 0);
  }
  return works;
}

/// Of so many tokens.
inline double work_of(const TokenWorks& works, double answers, double prompts) {
  double most = 0;
  for (const TokenWork& work : works) {
    most = std::max(most, answers * work.answer + prompts * work.prompt);
  }
  return most;
}

}  // namespace flopcast::serving
