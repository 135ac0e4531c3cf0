// A replica under users that never leave, in means.
//
// Of b requests in their answers each makes a token in every iteration (drafts: `accepted` of them). In the steps that
// one answer takes, b prompts come in; so an iteration has p = b x input / steps tokens of prompts in the mean. They
// come a prompt at a time: a share of iterations has as much as a prompt (or the budget) and the rest has none.
// Little's law closes the circle: users = b + rate x TTFT.
#pragma once

#include "flopcast/serving/search.h"
#include "serving/search/bounds.h"

namespace flopcast::serving {

template <typename Prices>
class SteadySolver {
 public:
  SteadySolver(const Prices& prices, const ServingMemory& memory, const EngineSettings& settings,
               const ServingLayout& layout, double input, double output)
      : prices_(prices),
        memory_(memory),
        settings_(settings),
        layout_(layout),
        input_(input),
        output_(output) {}

  SteadyState at(double users) const {
    if (output_ <= 1) return prompts_only(users);
    const double most = most_answering();
    double low = 0, high = std::min(users, most);
    const double wanted_at_most = high + point(high).rate * point(high).ttft;
    if (wanted_at_most > users) {
      for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        const Point found = point(middle);
        (middle + found.rate * found.ttft > users ? high : low) = middle;
      }
    }
    return told(point(high), high, users);
  }

 private:
  struct Point {
    double tpot = 0, ttft = 0, rate = 0;
  };

  double streams() const { return static_cast<double>(layout_.dp) * layout_.pp; }
  double steps() const { return (output_ - 1) / std::max(1.0, settings_.speculation.accepted); }

  /// Requests that can be in their answers: of blocks, settings, and the budget that prompts leave.
  double most_answering() const {
    const double kept = settings_.capacity == CapacityPolicy::kNoEvict &&
                                settings_.engine == ServingEngine::kTensorRtLlm
                            ? input_ + output_
                            : input_ + output_ / 2;
    const double held = most_decodes(memory_, settings_, kept) * layout_.dp;
    if (!mixes(settings_)) return held;
    const double budget = static_cast<double>(settings_.batch_tokens);
    return std::min(held, streams() * budget / (1 + input_ / steps()));
  }

  /// Seconds of an iteration of one batch with so many answers and tokens of prompts.
  double stage(double decodes, double prefill, double prompts) const {
    MeanLoad load;
    load.decodes = decodes;
    load.context = input_ + output_ / 2;
    load.prefill = prefill;
    load.prompts = prompts;
    load.pairs = input_ + 1;
    return seconds_of(prices_, layout_.dp, load);
  }

  Point point(double answering) const {
    const double decodes = answering / streams();
    const double budget = static_cast<double>(settings_.batch_tokens);
    const double mean_prefill = decodes * input_ / steps();
    const double chunk = std::max(std::min(input_, budget), mean_prefill);
    const double share = std::min(1.0, mean_prefill / chunk);
    const double prompts = std::max(1.0, chunk / input_);
    const double plain = stage(decodes, 0, 1);
    const double with_prompts =
        mixes(settings_) ? stage(decodes, chunk, prompts) : plain + stage(0, chunk, prompts);
    const double iteration = (1 - share) * plain + share * with_prompts;
    Point found;
    const double step = layout_.pp * iteration;
    found.tpot = step * steps() / (output_ - 1);
    found.rate = answering / (steps() * step);
    const double chunks = std::max(1.0, std::ceil(input_ / budget));
    const double own = mixes(settings_) ? with_prompts : stage(0, chunk, prompts);
    found.ttft =
        prices_.front().seconds() + prices_.back().seconds() + step / 2 + layout_.pp * chunks * own;
    return found;
  }

  SteadyState told(const Point& found, double answering, double users) const {
    SteadyState state;
    state.tpot = {found.tpot};
    state.requests_per_s = found.rate;
    state.output_tokens_per_s = found.rate * output_;
    const double served = answering + found.rate * found.ttft;
    state.users = std::min(users, served);
    state.queued = users - state.users;
    state.ttft = {(users - answering) / found.rate};  // Little's law: waiting included
    if (state.queued <= 0) state.ttft = {found.ttft};
    return state;
  }

  /// Answers of one token: prompts that follow each other.
  SteadyState prompts_only(double users) const {
    const double budget = static_cast<double>(settings_.batch_tokens);
    const double at_once = std::max(1.0, std::min(std::floor(budget / input_), users));
    const double chunks = std::max(1.0, std::ceil(input_ / budget));
    const double one = chunks * stage(0, at_once * std::min(input_, budget), at_once);
    SteadyState state;
    const double alone = prices_.front().seconds() + prices_.back().seconds() + layout_.pp * one;
    state.requests_per_s = std::min(users / alone, at_once * layout_.dp / one);
    state.output_tokens_per_s = state.requests_per_s * output_;
    state.ttft = {users / state.requests_per_s};
    state.users = std::min(users, state.requests_per_s * alone);
    state.queued = users - state.users;
    return state;
  }

  const Prices& prices_;
  const ServingMemory& memory_;
  const EngineSettings& settings_;
  const ServingLayout& layout_;
  double input_, output_;
};

}  // namespace flopcast::serving
