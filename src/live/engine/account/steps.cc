#include "live/engine/account/steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace flopcast {

std::string_view name(LiveStepsBy by) {
  constexpr std::string_view kNames[] = {"none", "optimizer", "marks", "repetition"};
  return kNames[static_cast<std::size_t>(by)];
}

namespace live {
namespace {

constexpr std::size_t kWord = 8;         // kernels that are looked for together
constexpr std::size_t kCandidates = 64;  // periods that are tried
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

/// Share of its work in which a step is like another.
constexpr double kAlike = 0.9;
/// Kinds of steps that are told apart, and steps that make up one together.
constexpr std::size_t kMostKinds = 64;

/// How many in a row make up what comes again and again: two networks that train each other have a step each. 1 where
/// nothing but single steps comes again.
std::size_t parts_of_step(const std::vector<std::size_t>& kinds) {
  for (std::size_t together = 1; 2 * together <= kinds.size(); ++together) {
    std::size_t same = 0, all = 0;
    for (std::size_t i = together; i < kinds.size(); ++i, ++all)
      same += kinds[i] == kinds[i - together] ? 1 : 0;
    if (static_cast<double>(same) >= kAlike * static_cast<double>(all)) return together;
  }
  return 1;
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

void StepFinder::work(std::uint32_t name, std::uint32_t kind, Time start, Time end,
                      GrowingTask launcher) {
  names_.push_back(name);
  kinds_.push_back(kind);
  starts_.push_back(start);
  ends_.push_back(ends_.empty() ? end : std::max(ends_.back(), end));
  launchers_.push_back(launcher);
}

std::vector<LiveStep> StepFinder::by_repetition() const {
  const std::vector<LiveStep> steps = periods_of(names_);
  return steps.empty() ? periods_of(kinds_) : steps;
}

std::vector<LiveStep> StepFinder::periods_of(const std::vector<std::uint32_t>& sequence) const {
  std::vector<LiveStep> steps;
  const Repetition found = find_repetition(sequence);
  // Layers repeat, too, and where steps differ (the first of them, and few besides) nothing repeats longer.
  if (found.period == 0 || 2 * (found.end - found.begin) < names_.size()) return steps;
  for (std::size_t i = found.begin; i + found.period <= found.end; i += found.period) {
    const std::size_t next = i + found.period;
    steps.push_back({starts_[i], next < starts_.size() ? starts_[next] : ends_.back()});
  }
  return steps;
}

std::size_t StepFinder::first_after(GrowingTask call, std::size_t from) const {
  while (from < launchers_.size() && launchers_[from] < call) ++from;
  return from;
}

std::vector<LiveStep> StepFinder::between(const std::vector<GrowingTask>& calls) const {
  std::vector<LiveStep> steps;
  std::size_t begin = calls.empty() ? 0 : first_after(calls.front(), 0);
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const std::size_t end = first_after(calls[i], begin);
    const bool goes_on = i + 1 < calls.size() && end < starts_.size();
    if (end > begin) steps.push_back({starts_[begin], goes_on ? starts_[end] : ends_[end - 1]});
    begin = end;
  }
  return steps;
}

/// What was launched from the end of an optimizer's step to the end of the next.
struct StepFinder::Part {
  std::size_t begin = 0, optimizer = 0, end = 0;  ///< from one to the next
  std::size_t own = 0;                            ///< where the step begins
  std::size_t kind = 0;  ///< of one kind are those that have the same before the optimizer
  bool cut = false;      ///< other work lies before the step
  std::size_t before() const { return optimizer - own; }
};

std::vector<StepFinder::Part> StepFinder::parts(
    const std::vector<OptimizerStep>& optimizers) const {
  std::vector<Part> parts;
  std::size_t at = 0;
  for (const OptimizerStep& step : optimizers) {
    Part part;
    part.begin = part.own = at;
    part.optimizer = first_after(step.begin, at);
    part.end = at = first_after(step.end, part.optimizer);
    parts.push_back(part);
  }
  return parts;
}

/// Whether a part has the same before its optimizer as another, whatever lies before that.
bool StepFinder::ends_like(const Part& whole, const Part& end) const {
  const std::size_t size = end.before();
  if (size == 0 || size > whole.before()) return size == whole.before();
  std::size_t same = 0;
  for (std::size_t i = 1; i <= size; ++i)
    same += names_[whole.optimizer - i] == names_[end.optimizer - i] ? 1 : 0;
  return static_cast<double>(same) >= kAlike * static_cast<double>(size);
}

/// From the shortest to the longest: what ends like a shorter one is of its kind, with other work before it.
void StepFinder::find_begins(std::vector<Part>& parts) const {
  std::vector<Part*> by_size;
  for (Part& part : parts) by_size.push_back(&part);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const Part* a, const Part* b) { return a->before() < b->before(); });
  std::vector<const Part*> kinds;
  for (Part* const part : by_size) {
    const auto like = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Part* kind) { return ends_like(*part, *kind); });
    part->kind = static_cast<std::size_t>(like - kinds.begin());
    if (like == kinds.end()) {
      if (kinds.size() < kMostKinds) kinds.push_back(part);
      continue;
    }
    // A few more are the step's own.
    const std::size_t size = (*like)->before();
    part->cut = static_cast<double>(size) < kAlike * static_cast<double>(part->before());
    if (part->cut) part->own = part->optimizer - size;
  }
}

std::vector<LiveStep> StepFinder::by_optimizer(const std::vector<OptimizerStep>& optimizers) const {
  std::vector<Part> all = parts(optimizers);
  find_begins(all);
  std::vector<std::size_t> kinds;
  for (std::size_t i = 1; i < all.size(); ++i) kinds.push_back(all[i].kind);
  const std::size_t together = parts_of_step(kinds);
  std::vector<LiveStep> steps;
  for (std::size_t i = 0; i + together <= all.size(); i += together) {
    const Part &first = all[i], &last = all[i + together - 1];
    // Nothing tells where the very first begins, unless others are like it.
    const bool unknown =
        i == 0 && !first.cut && (together == all.size() || first.kind != all[together].kind);
    if (unknown || first.own >= last.end) continue;
    const std::size_t next = i + together;
    const bool goes_on = next < all.size() && !all[next].cut && all[next].own < starts_.size();
    steps.push_back({starts_[first.own], goes_on ? starts_[all[next].own] : ends_[last.end - 1]});
  }
  return steps;
}

void StepMarks::mark(std::string_view name, bool begins, GrowingTask call, std::uint32_t thread) {
  if (name.starts_with(kStepMark)) {
    if (!begins || marked_.empty()) marked_.push_back(call);
  } else if (name.starts_with(kOptimizerMark) && begins) {
    if (depth_++ > 0) return;
    const bool others = std::any_of(launched_.begin(), launched_.end(),
                                    [thread](std::uint32_t one) { return one != thread; });
    optimizers_.push_back({{call, kNoGrowingTask}, others});
    launched_.clear();
  } else if (name.starts_with(kOptimizerMark) && depth_ > 0) {
    if (--depth_ == 0) optimizers_.back().step.end = call;
  }
}

void StepMarks::launch(std::uint32_t thread) {
  if (depth_ == 0 && std::find(launched_.begin(), launched_.end(), thread) == launched_.end())
    launched_.push_back(thread);
}

std::vector<OptimizerStep> StepMarks::optimizers() const {
  // Where backward passes run in the thread that calls them, threads tell nothing.
  const bool threads_tell = std::any_of(optimizers_.begin(), optimizers_.end(),
                                        [](const Optimizer& one) { return one.after_backward; });
  std::vector<OptimizerStep> steps;
  for (const Optimizer& one : optimizers_) {
    if (one.step.end == kNoGrowingTask) break;  // the program ended in it
    if (!steps.empty() && threads_tell && !one.after_backward) {
      steps.back().end = one.step.end;
    } else {
      steps.push_back(one.step);
    }
  }
  return steps;
}

}  // namespace live
}  // namespace flopcast
