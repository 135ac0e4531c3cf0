#include "serving/search/capacity.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

namespace flopcast::serving {
namespace {

/// A fleet of all chips.
struct FullFleet {
  std::size_t configuration = 0;
  unsigned replicas = 0, decode = 0;
  double most = 0;  ///< requests a second that are more than it can answer
};

class CapacityFinder {
 public:
  CapacityFinder(const FleetScorer& scorer, const FleetRules& rules, std::size_t best)
      : scorer_(scorer), rules_(rules), best_(best) {}

  Result<FleetFindings> find() {
    assessments_ = assess_all(scorer_, rules_.threads, found_);
    const std::vector<FullFleet> fleets = full_fleets();
    // So many at once whatever the threads: what is run depends on what was found before.
    for (std::size_t at = 0; at < fleets.size(); at += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, fleets.size() - at);
      if (auto problem = find_each({fleets.data() + at, count})) return *std::move(problem);
      if (rules_.progress && !rules_.progress(found_)) return stopped_search();
    }
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kAtOnce = 8;
  using Problem = std::optional<Diagnostic>;

  void add(std::vector<FullFleet>& list, std::size_t i, unsigned replicas, unsigned decode) const {
    if (replicas == 0) return;
    list.push_back({i, replicas, decode, scorer_.most_rate(i, replicas, decode)});
  }

  /// Those that may hold most first: what follows has to surpass them.
  std::vector<FullFleet> full_fleets() const {
    std::vector<FullFleet> list;
    for (std::size_t i = 0; i < assessments_.size(); ++i) {
      const Assessment& one = assessments_[i];
      if (one.verdict != Verdict::kPossible) continue;
      if (one.decode_chips == 0) {
        add(list, i, rules_.most_chips / one.chips, 0);
        continue;
      }
      for (unsigned n = 1; n * one.chips < rules_.most_chips; ++n) {
        const unsigned decode = (rules_.most_chips - n * one.chips) / one.decode_chips;
        if (decode > 0) add(list, i, n, decode);
      }
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const FullFleet& a, const FullFleet& b) { return a.most > b.most; });
    return list;
  }

  Result<FleetScore> largest_of(const FullFleet& fleet, double enough) const {
    const auto& [i, replicas, decode, most] = fleet;
    const Result<LargestLoad> largest = largest_load(
        scorer_.loads(i, replicas, decode),
        [&scorer = scorer_, &fleet](double load) {
          return scorer.try_load(fleet.configuration, fleet.replicas, fleet.decode, load);
        },
        enough);
    if (!largest) return largest.error();
    const bool known = largest->load > 0 && largest->load >= enough;
    Result<FleetScore> score = known        ? scorer_.run_at(i, replicas, decode, largest->load)
                               : enough > 0 ? Result(FleetScore{})
                                            : scorer_.run_whole(i, replicas, decode);
    if (!score) return score;
    score->load = known ? largest->load : 0;
    score->next = largest->next();
    return score;
  }

  /// The smallest of the `best` largest loads that were found; 0: there are fewer.
  double enough() const {
    return loads_.size() < best_ ? 0 : *std::next(loads_.begin(), static_cast<long>(best_) - 1);
  }

  Problem find_each(std::span<const FullFleet> fleets) {
    const double below = enough();  // of those nothing is told
    std::vector<std::optional<Result<FleetScore>>> scores(fleets.size());
    parallel_for(fleets.size(), rules_.threads,
                 [&](std::size_t i) { scores[i] = largest_of(fleets[i], below); });
    for (std::size_t i = 0; i < fleets.size(); ++i) {
      Fate& fate = found_.fates[fleets[i].configuration];
      if (auto problem = settle(*scores[i], fate)) return problem;
      if (fate == Fate::kTooLarge) continue;
      ++found_.runs;
      take(**scores[i], below == 0);
    }
    return std::nullopt;
  }

  void take(const FleetScore& score, bool judged) {
    if (score.load > 0) {
      found_.met.push_back(score);
      found_.nearest.reset();
      loads_.insert(score.load);
      return;
    }
    if (!judged || !found_.met.empty()) return;
    const auto nearness = [](const FleetScore& one) {
      return std::tuple(one.ratio, one.chips, one.configuration, one.replicas);
    };
    if (!found_.nearest || nearness(score) < nearness(*found_.nearest)) found_.nearest = score;
  }

  const FleetScorer& scorer_;
  const FleetRules& rules_;
  std::size_t best_;
  std::vector<Assessment> assessments_;
  std::set<double, std::greater<>> loads_;
  FleetFindings found_;
};

}  // namespace

Result<FleetFindings> find_capacities(const FleetScorer& scorer, const FleetRules& rules,
                                      std::size_t best) {
  return CapacityFinder(scorer, rules, best).find();
}

}  // namespace flopcast::serving
