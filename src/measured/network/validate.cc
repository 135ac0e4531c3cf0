// How good forecasts of collectives are: against given rows, and by cross-validation.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "flopcast/measured/network.h"
#include "measured/network/cases.h"
#include "measured/network/errors.h"

namespace flopcast {

using namespace measured;  // the room's own names

namespace {

using Samples = std::vector<CollectiveSample>;

/// All rows of a case are forecast together: a case is prepared once.
void forecast_all(std::span<const CollectiveSample> samples, CollectiveForecast& forecast,
                  ErrorTable& errors) {
  std::map<CollectiveCase, std::vector<const CollectiveSample*>> cases;
  for (const CollectiveSample& sample : samples) cases[sample.what].push_back(&sample);
  for (const auto& [what, rows] : cases) {
    const Result<CollectiveForecast::Case> prepared = forecast.prepare(what);
    for (const CollectiveSample* row : rows) {
      if (!prepared) {
        errors.add_unanswered(*row, prepared.error().what);
        continue;
      }
      const Result<CollectiveFit::Answer> answer = prepared->at(row->size);
      if (answer) {
        errors.add(*row, *answer);
      } else {
        errors.add_unanswered(*row, answer.error().what);
      }
    }
  }
}

/// Rank of each sample's size among the sizes of its case, from the smallest, and from the largest.
struct SizeRank {
  std::size_t from_smallest = 0, from_largest = 0;
};
std::vector<SizeRank> rank_sizes(std::span<const CollectiveSample> samples) {
  std::map<CollectiveCase, std::set<double>> sizes;
  for (const CollectiveSample& sample : samples) sizes[sample.what].insert(sample.size.value);
  std::vector<SizeRank> ranks;
  for (const CollectiveSample& sample : samples) {
    const std::set<double>& of = sizes[sample.what];
    const auto below =
        static_cast<std::size_t>(std::distance(of.begin(), of.lower_bound(sample.size.value)));
    ranks.push_back({below, of.size() - 1 - below});
  }
  return ranks;
}

/// For every sample the round of the cross-validation in which it is kept out; -1: never.
std::vector<int> rounds_of(std::span<const CollectiveSample> samples, CollectiveHoldOut what) {
  constexpr int kFolds = 4;
  constexpr std::size_t kLargestSizes = 4;
  std::vector<int> rounds;
  const std::vector<SizeRank> sizes = rank_sizes(samples);
  std::map<std::array<std::string, 3>, int> keys;
  std::map<CollectiveCase, int> cases;
  for (const CollectiveSample& sample : samples) cases.emplace(sample.what, 0);
  int number = 0;
  for (auto& [of, fold] : cases) fold = number++ % kFolds;
  // A system with one key has nothing to learn from once that is kept out.
  std::map<std::string, std::set<std::array<std::string, 3>>> keys_of_system;
  const auto key_of = [&](const CollectiveSample& sample) {
    const CollectiveCase& of = sample.what;
    const std::string any;
    if (what == CollectiveHoldOut::kSystems) return std::array{of.system, any, any};
    if (what == CollectiveHoldOut::kLibraries) return std::array{of.system, of.library, any};
    const std::string ranks = what == CollectiveHoldOut::kRanks ? std::to_string(of.ranks) : "";
    return std::array{of.system, std::to_string(of.nodes), ranks};
  };
  for (const CollectiveSample& sample : samples) {
    keys_of_system[sample.what.system].insert(key_of(sample));
  }
  const auto key_round = [&](const CollectiveSample& sample) {
    const bool whole = what == CollectiveHoldOut::kSystems;
    if (!whole && keys_of_system[sample.what.system].size() < 2) return -1;
    return keys.emplace(key_of(sample), static_cast<int>(keys.size())).first->second;
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    switch (what) {
      case CollectiveHoldOut::kSizes:
        rounds.push_back(sizes[i].from_smallest % 2 == 1 && sizes[i].from_largest > 0 ? 0 : -1);
        break;
      case CollectiveHoldOut::kLargest:
        rounds.push_back(sizes[i].from_largest < kLargestSizes ? 0 : -1);
        break;
      case CollectiveHoldOut::kCurves:
        rounds.push_back(cases[samples[i].what]);
        break;
      case CollectiveHoldOut::kRanks:
      case CollectiveHoldOut::kNodes:
      case CollectiveHoldOut::kLibraries:
      case CollectiveHoldOut::kSystems:
        rounds.push_back(key_round(samples[i]));
        break;
    }
  }
  return rounds;
}

/// Whole cases are kept out, so that all others keep their curves.
bool keeps_out_cases(CollectiveHoldOut what) {
  return what != CollectiveHoldOut::kSizes && what != CollectiveHoldOut::kLargest;
}

/// Fits on what a round does not keep out.
class Rounds {
 public:
  Rounds(std::span<const CollectiveSample> samples, CollectiveHoldOut what)
      : samples_(samples), rounds_(rounds_of(samples, what)) {
    if (keeps_out_cases(what)) whole_ = CollectiveFit::make(samples);
  }
  int count() const { return rounds_.empty() ? 0 : *std::ranges::max_element(rounds_) + 1; }
  Samples kept_out(int round) const {
    return chosen([&](int of) { return of == round; });
  }
  CollectiveFit fit(int round) const {
    if (!whole_) return CollectiveFit::make(chosen([&](int of) { return of != round; }));
    std::set<CollectiveCase> out;
    for (const CollectiveSample& sample : kept_out(round)) out.insert(sample.what);
    return whole_->without(out);
  }

 private:
  template <typename Choice>
  Samples chosen(const Choice& choice) const {
    Samples some;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (choice(rounds_[i])) some.push_back(samples_[i]);
    }
    return some;
  }

  std::span<const CollectiveSample> samples_;
  std::vector<int> rounds_;
  std::optional<CollectiveFit> whole_;  ///< of which whole cases are left out
};

}  // namespace

CollectiveValidation validate_collectives(std::span<const CollectiveSample> samples,
                                          const CollectiveFit& fit, const Catalog& catalog,
                                          const ValidateOptions& options) {
  ErrorTable errors;
  CollectiveForecast forecast(fit, catalog, options);
  forecast_all(samples, forecast, errors);
  return std::move(errors).take();
}

std::optional<CollectiveHoldOut> parse_collective_hold_out(std::string_view text) {
  constexpr std::array<std::string_view, 7> kNames = {"sizes",  "ranks",     "nodes",  "largest",
                                                      "curves", "libraries", "systems"};
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<CollectiveHoldOut>(found - kNames.begin());
}

CollectiveValidation hold_out_collectives(std::span<const CollectiveSample> samples,
                                          CollectiveHoldOut what, const Catalog& catalog,
                                          const ValidateOptions& options) {
  ErrorTable errors;
  const Rounds rounds(samples, what);
  for (int round = 0; round < rounds.count(); ++round) {
    const CollectiveFit fit = rounds.fit(round);
    CollectiveForecast forecast(fit, catalog, options);
    forecast_all(rounds.kept_out(round), forecast, errors);
  }
  return std::move(errors).take();
}

}  // namespace flopcast
