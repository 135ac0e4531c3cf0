#include "live/engine/account/steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace flopcast::live {
namespace {

constexpr std::size_t kWord = 8;         // kernels that are looked for together
constexpr std::size_t kCandidates = 64;  // periods that are tried
constexpr std::size_t kFewSteps = 4;
constexpr const char* kStepMark = "ProfilerStep#";
constexpr const char* kOptimizerMark = "Optimizer.step#";

/// Distances between a word of the sequence and the same word before it, those that cover most first.
std::vector<std::size_t> likely_periods(const std::vector<std::uint32_t>& sequence) {
  const std::size_t word = std::min(kWord, sequence.size() / 4 + 1);
  std::unordered_map<std::uint64_t, std::size_t> last;
  std::map<std::size_t, std::size_t> votes;
  for (std::size_t i = 0; i + word <= sequence.size(); ++i) {
    std::uint64_t hash = 1469598103934665603U;
    for (std::size_t k = 0; k < word; ++k) hash = (hash ^ sequence[i + k]) * 1099511628211U;
    const auto [place, is_new] = last.try_emplace(hash, i);
    if (is_new) continue;
    ++votes[i - place->second];
    place->second = i;
  }
  std::vector<std::pair<std::size_t, std::size_t>> by_weight;
  for (const auto& [distance, count] : votes) by_weight.emplace_back(distance * count, distance);
  std::sort(by_weight.begin(), by_weight.end(), std::greater<>());
  std::vector<std::size_t> periods;
  for (const auto& [weight, distance] : by_weight) {
    if (periods.size() < kCandidates) periods.push_back(distance);
  }
  return periods;
}

/// The longest part in which every name is the one a period before it.
Repetition longest_with(const std::vector<std::uint32_t>& sequence, std::size_t period) {
  Repetition best{0, 0, period};
  std::size_t run = 0;
  for (std::size_t i = period; i < sequence.size(); ++i) {
    run = sequence[i] == sequence[i - period] ? run + 1 : 0;
    // A whole period has come again.
    if (run >= period && run + period > best.end - best.begin)
      best = {i + 1 - run - period, i + 1, period};
  }
  return best;
}

}  // namespace

Repetition find_repetition(const std::vector<std::uint32_t>& sequence) {
  Repetition best;
  for (const std::size_t period : likely_periods(sequence)) {
    const Repetition one = longest_with(sequence, period);
    const std::size_t length = one.end - one.begin, longest = best.end - best.begin;
    if (length > longest || (length == longest && length > 0 && one.period < best.period))
      best = one;
  }
  return best.end > best.begin ? best : Repetition();
}

void StepFinder::work(std::uint32_t name, Time start, Time end) {
  names_.push_back(name);
  starts_.push_back(start);
  end_ = std::max(end_, end);
}

std::vector<LiveStep> StepFinder::steps() const {
  std::vector<LiveStep> steps;
  const Repetition found = find_repetition(names_);
  // Layers repeat, too, and where steps differ (the first of them, and few besides) nothing repeats longer.
  if (found.period == 0 || 2 * (found.end - found.begin) < names_.size()) return steps;
  for (std::size_t i = found.begin; i + found.period <= found.end; i += found.period) {
    const std::size_t next = i + found.period;
    steps.push_back({starts_[i], next < starts_.size() ? starts_[next] : end_});
  }
  return steps;
}

void StepMarks::mark(std::string_view name, bool begins, Time at) {
  if (name.starts_with(kStepMark)) {
    if (begins) marked_.push_back({at, at});
    if (!begins && !marked_.empty()) marked_.back().end = at;
  } else if (name.starts_with(kOptimizerMark) && !begins) {
    optimizer_ends_.push_back(at);
  }
}

std::vector<LiveStep> StepMarks::by_optimizer() const {
  std::vector<LiveStep> steps;
  if (optimizer_ends_.size() <= kFewSteps) return steps;
  for (std::size_t i = 1; i < optimizer_ends_.size(); ++i)
    steps.push_back({optimizer_ends_[i - 1], optimizer_ends_[i]});
  return steps;
}

}  // namespace flopcast::live
