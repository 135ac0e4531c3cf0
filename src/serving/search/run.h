// The search itself, over anything that tells what a configuration needs and runs it.
//
// Fleets are gone through by their chips, fewest first. All fleets of so many chips are run, or ruled out by a bound,
// before one of more chips is looked at: nothing is taken to be monotone in the count of replicas, since a router may
// spread the same requests worse over more of them. What is run does not depend on the order in which threads finish.
//
// A Scorer has
//   std::size_t size() const                       configurations
//   Assessment assess(std::size_t i) const         whether it can run, and bounds
//   FleetBound bound(i, n, m) const                of n replicas (and m of the decode pool)
//   Result<FleetScore> run(i, n, m) const          what it comes to; of one that misses the limits its beginning may do
//   Result<FleetScore> run_whole(i, n, m) const    the same, run to its end
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "flopcast/serving/fleet.h"

namespace flopcast::serving {

enum class Verdict : std::uint8_t { kPossible, kImpossible, kTooLarge };
/// What is known of a configuration before anything is run.
struct Assessment {
  Verdict verdict = Verdict::kPossible;
  unsigned chips = 1;                    ///< of a replica of the pool
  unsigned decode_chips = 0;             ///< of the decode pool; 0: there is none
  unsigned least = 1, least_decode = 0;  ///< replicas below which limits cannot hold
  double ratio = 0;  ///< of limits, at least: 1 or more: they hold with no count of replicas
};
/// Least cost, TTFT and TPOT of a fleet.
struct FleetBound {
  double cost = 0, ttft = 0, tpot = 0;
};
/// What people want to know of a run besides.
struct FleetTold {
  ServingPercentiles ttft, tpot, inter_token, latency;
  double requests_per_s = 0;
  std::int64_t preemptions = 0;
};
/// What a fleet came to.
struct FleetScore {
  std::size_t configuration = 0;
  unsigned replicas = 0, decode = 0, chips = 0;
  double ratio =
      0;  ///< below 1: it meets the limits; not whole: the least that it can be, 1 or more
  bool whole =
      true;  ///< false: its beginning was enough to tell that it misses them, and numbers are of that alone
  double cost = 0, ttft = 0, tpot = 0, tokens_per_s = 0;
  bool outpaced = false;      ///< requests come faster than it takes them
  double load = 0, next = 0;  ///< where the largest load was looked for: as of LoadMargin
  FleetTold told;             ///< what the search itself does not look at
};

/// What one configuration was found to be, in the end.
enum class Fate : std::uint8_t { kImpossible, kTooLarge, kBounded, kSimulated };
/// What a run comes to; one that does not fit is no error. Errors: of every other kind.
inline std::optional<Diagnostic> settle(const Result<FleetScore>& score, Fate& fate) {
  fate = score ? Fate::kSimulated : Fate::kTooLarge;
  if (score || score.error().code == ErrorCode::kTooLarge) return std::nullopt;
  return score.error();
}
struct FleetFindings {
  std::vector<FleetScore>
      met;  ///< that meet the limits: of the fewest chips, or (front) on the front
  /// of the rest, by whole runs: the least ratio, then the fewest chips; looked for where none meets them
  std::optional<FleetScore> nearest;
  std::vector<Fate> fates;  ///< by configuration
  /// of possible configurations the least ratio, and the fewest chips that bounds leave of those below 1
  double least_ratio = std::numeric_limits<double>::infinity();
  std::uint64_t least_chips = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t runs = 0;
};
struct FleetRules {
  unsigned most_chips = 1;
  bool front = false;
  unsigned threads = 0;
  /// after each count of chips; false: stop there
  std::function<bool(const FleetFindings&)> progress;
};

inline bool surpasses(const FleetBound& a, const FleetBound& b) {
  return a.cost <= b.cost && a.ttft <= b.ttft && a.tpot <= b.tpot &&
         (a.cost < b.cost || a.ttft < b.ttft || a.tpot < b.tpot);
}
inline FleetBound bound_of(const FleetScore& score) { return {score.cost, score.ttft, score.tpot}; }
/// Adds what none surpasses, and drops what it surpasses. Equals stay, all of them.
inline void add_to_front(std::vector<FleetScore>& front, const FleetScore& score) {
  const FleetBound mine = bound_of(score);
  const auto over = [&](const FleetScore& one) { return surpasses(bound_of(one), mine); };
  if (std::any_of(front.begin(), front.end(), over)) return;
  std::erase_if(front, [&](const FleetScore& one) { return surpasses(mine, bound_of(one)); });
  front.push_back(score);
}

/// What is known of each before anything is run. @param found told what becomes of them
template <typename Scorer>
std::vector<Assessment> assess_all(const Scorer& scorer, unsigned threads, FleetFindings& found) {
  std::vector<Assessment> all(scorer.size());
  parallel_for(scorer.size(), threads, [&](std::size_t i) { all[i] = scorer.assess(i); });
  for (const Assessment& one : all) {
    found.fates.push_back(one.verdict == Verdict::kImpossible ? Fate::kImpossible
                          : one.verdict == Verdict::kTooLarge ? Fate::kTooLarge
                                                              : Fate::kBounded);
    if (one.verdict != Verdict::kPossible) continue;
    found.least_ratio = std::min(found.least_ratio, one.ratio);
    const std::uint64_t chips =
        std::uint64_t{one.chips} * one.least + std::uint64_t{one.decode_chips} * one.least_decode;
    if (one.ratio < 1) found.least_chips = std::min(found.least_chips, chips);
  }
  return all;
}

inline Diagnostic stopped_search() {
  return {ErrorCode::kNoAnswer, "search", "was stopped", "ask again"};
}

template <typename Scorer>
class FleetFinder {
 public:
  FleetFinder(const Scorer& scorer, const FleetRules& rules) : scorer_(scorer), rules_(rules) {}

  Result<FleetFindings> find() {
    assessments_ = assess_all(scorer_, rules_.threads, found_);
    for (unsigned chips = 1; chips <= rules_.most_chips; ++chips) {
      if (auto problem = run_level(chips)) return *std::move(problem);
      if (rules_.progress && !rules_.progress(found_)) return stopped_search();
      if (!rules_.front && !found_.met.empty()) break;
    }
    if (auto problem = find_nearest()) return *std::move(problem);
    return std::move(found_);
  }

 private:
  struct Task {
    std::size_t configuration;
    unsigned replicas, decode;
  };

  /// All fleets of so many chips that no bound of their configuration rules out.
  std::vector<Task> tasks(unsigned chips) const {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < assessments_.size(); ++i) {
      const Assessment& one = assessments_[i];
      if (one.verdict != Verdict::kPossible || !(one.ratio < 1)) continue;
      if (found_.fates[i] == Fate::kTooLarge) continue;  // only a run could tell
      if (one.decode_chips == 0) {
        const unsigned replicas = chips / one.chips;
        if (chips % one.chips == 0 && replicas >= one.least) tasks.push_back({i, replicas, 0});
        continue;
      }
      for (unsigned replicas = one.least; replicas * one.chips < chips; ++replicas) {
        const unsigned left = chips - replicas * one.chips;
        const unsigned decode = left / one.decode_chips;
        if (left % one.decode_chips != 0 || decode < one.least_decode) continue;
        tasks.push_back({i, replicas, decode});
      }
    }
    return tasks;
  }

  /// Whether the front already surpasses the best that it can be.
  bool ruled_out(const Task& task) const {
    if (!rules_.front || found_.met.empty()) return false;
    const FleetBound bound = scorer_.bound(task.configuration, task.replicas, task.decode);
    return std::any_of(found_.met.begin(), found_.met.end(),
                       [&](const FleetScore& one) { return surpasses(bound_of(one), bound); });
  }

  std::optional<Diagnostic> run_level(unsigned chips) {
    std::vector<Task> level = tasks(chips);
    std::erase_if(level, [this](const Task& task) { return ruled_out(task); });
    std::vector<std::optional<Result<FleetScore>>> scores(level.size());
    parallel_for(level.size(), rules_.threads, [&](std::size_t i) {
      scores[i] = scorer_.run(level[i].configuration, level[i].replicas, level[i].decode);
    });
    for (std::size_t i = 0; i < level.size(); ++i) {
      Fate& fate = found_.fates[level[i].configuration];
      if (auto problem = settle(*scores[i], fate)) return problem;
      if (fate == Fate::kTooLarge) continue;
      ++found_.runs;
      take(**scores[i]);
    }
    return std::nullopt;
  }

  void take(const FleetScore& score) {
    if (!(score.ratio < 1)) {
      missed_.push_back(score);
    } else if (rules_.front) {
      add_to_front(found_.met, score);
    } else {
      found_.met.push_back(score);
    }
  }

  static auto nearness(const FleetScore& one) {
    return std::tuple(one.ratio, one.chips, one.configuration, one.replicas);
  }

  /// The nearest of those that miss the limits. What was cut short is run to its end, least ratio first, as long as it
  /// may come nearer than the nearest whole run: so many at once whatever the threads, that counts do not depend on them.
  std::optional<Diagnostic> find_nearest() {
    constexpr std::size_t kAtOnce = 8;
    if (!found_.met.empty()) return std::nullopt;
    std::sort(missed_.begin(), missed_.end(),
              [](const FleetScore& a, const FleetScore& b) { return nearness(a) < nearness(b); });
    const auto take_whole = [this](const FleetScore& score) {
      if (!found_.nearest || nearness(score) < nearness(*found_.nearest)) found_.nearest = score;
    };
    std::vector<FleetScore> cut;
    for (const FleetScore& one : missed_) one.whole ? take_whole(one) : cut.push_back(one);
    for (std::size_t at = 0; at < cut.size(); at += kAtOnce) {
      if (found_.nearest && cut[at].ratio > found_.nearest->ratio) break;
      const std::size_t count = std::min(kAtOnce, cut.size() - at);
      std::vector<std::optional<Result<FleetScore>>> scores(count);
      parallel_for(count, rules_.threads, [&](std::size_t i) {
        const FleetScore& one = cut[at + i];
        scores[i] = scorer_.run_whole(one.configuration, one.replicas, one.decode);
      });
      for (const auto& score : scores) {
        if (!*score) return score->error();
        take_whole(**score);
      }
      if (rules_.progress && !rules_.progress(found_)) return stopped_search();
    }
    return std::nullopt;
  }

  const Scorer& scorer_;
  const FleetRules& rules_;
  std::vector<FleetScore> missed_;
  std::vector<Assessment> assessments_;
  FleetFindings found_;
};

}  // namespace flopcast::serving
