// The search on made-up fleets: all of them run one after the other find the same.
#include "serving/search/run.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <set>
#include <tuple>

namespace flopcast::serving {
namespace {

/// Fleets of random scores of few values, so that ties are common, neither monotone in replicas nor in chips; and
/// bounds at or below them.
struct FakeFleets {
  std::uint64_t seed = 0;
  std::size_t count = 1;
  std::uint64_t met_one_in = 2, slack = 0;
  mutable std::atomic<std::uint64_t> runs{0}, whole_runs{0};

  std::uint64_t hash(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) const {
    std::uint64_t h = seed;
    for (const std::uint64_t value : {a, b, c, d}) {
      h = (h ^ value) * 0x9E3779B97F4A7C15ULL;
      h ^= h >> 29;
    }
    return h;
  }
  double drawn(std::uint64_t below, std::uint64_t a, std::uint64_t b, std::uint64_t c,
               std::uint64_t d) const {
    return static_cast<double>(hash(a, b, c, d) % below);
  }
  FleetScore score(std::size_t i, unsigned n, unsigned m) const {
    const Assessment a = plain(i);
    FleetScore score;
    score.configuration = i;
    score.replicas = n;
    score.decode = m;
    score.chips = n * a.chips + m * a.decode_chips;
    score.ratio = drawn(met_one_in, i, n, m, 1) == 0 ? 0.5 : 1 + drawn(4, i, n, m, 2);
    score.cost = 1 + drawn(5, i, n, m, 3);
    score.ttft = 1 + drawn(5, i, n, m, 4);
    score.tpot = 1 + drawn(5, i, n, m, 5);
    score.tokens_per_s = drawn(3, i, n, m, 6);
    return score;
  }

  // The scorer.
  std::size_t size() const { return count; }
  Assessment plain(std::size_t i) const {
    Assessment a;
    const std::uint64_t kind = hash(i, 0, 0, 7) % 8;
    if (kind == 0) a.verdict = Verdict::kImpossible;
    if (kind == 1) a.verdict = Verdict::kTooLarge;
    a.chips = static_cast<unsigned>(1 + hash(i, 0, 0, 8) % 3);
    a.decode_chips = static_cast<unsigned>(hash(i, 0, 0, 9) % 3);
    a.least_decode = a.decode_chips > 0;
    return a;
  }
  Assessment assess(std::size_t i) const {
    Assessment a = plain(i);
    // A bound is right where nothing below it meets the limits.
    const auto misses = [&](unsigned n, unsigned m) { return score(i, n, m).ratio >= 1; };
    const auto row_misses = [&](unsigned n) {
      for (unsigned m = a.least_decode; m <= kMost; ++m) {
        if (!misses(n, m)) return false;
      }
      return true;
    };
    while (a.least < kMost && row_misses(a.least) && hash(i, a.least, 0, 10) % 2) ++a.least;
    return a;
  }
  FleetBound bound(std::size_t i, unsigned n, unsigned m) const {
    FleetBound bound = bound_of(score(i, n, m));
    bound.ttft = std::max(0.0, bound.ttft - drawn(slack + 1, i, n, m, 11));
    bound.cost = std::max(0.0, bound.cost - drawn(slack + 1, i, n, m, 12));
    return bound;
  }
  /// Some that miss the limits are cut short: their ratio is then at or below that of the whole run.
  Result<FleetScore> run(std::size_t i, unsigned n, unsigned m) const {
    ++runs;
    FleetScore told = score(i, n, m);
    if (told.ratio < 1 || hash(i, n, m, 13) % 2 == 0) return told;
    told.whole = false;
    told.ratio = 1 + drawn(static_cast<std::uint64_t>(told.ratio), i, n, m, 14);
    told.cost = told.ttft = told.tpot = told.tokens_per_s = 0;
    return told;
  }
  Result<FleetScore> run_whole(std::size_t i, unsigned n, unsigned m) const {
    ++whole_runs;
    return score(i, n, m);
  }
  static constexpr unsigned kMost = 9;
};

using Key = std::tuple<std::size_t, unsigned, unsigned>;
Key key(const FleetScore& score) { return {score.configuration, score.replicas, score.decode}; }

/// All fleets, one by one.
std::vector<FleetScore> every_fleet(const FakeFleets& fleets) {
  std::vector<FleetScore> all;
  for (std::size_t i = 0; i < fleets.count; ++i) {
    const Assessment a = fleets.plain(i);
    if (a.verdict != Verdict::kPossible) continue;
    for (unsigned n = 1; n <= FakeFleets::kMost; ++n) {
      for (unsigned m = a.least_decode; m <= (a.decode_chips ? FakeFleets::kMost : 0); ++m) {
        const FleetScore score = fleets.score(i, n, m);
        if (score.chips <= FakeFleets::kMost) all.push_back(score);
      }
    }
  }
  return all;
}

std::set<Key> keys(const std::vector<FleetScore>& scores) {
  std::set<Key> set;
  for (const FleetScore& score : scores) set.insert(key(score));
  return set;
}

FakeFleets drawn_fleets() {
  return {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(0, 12),
          *rc::gen::inRange<std::uint64_t>(1, 40), *rc::gen::inRange<std::uint64_t>(0, 3)};
}

RC_GTEST_PROP(FleetFinder, FindsTheFewestChipsOfAll, ()) {
  const FakeFleets fleets = drawn_fleets();
  const std::vector<FleetScore> all = every_fleet(fleets);
  unsigned fewest = FakeFleets::kMost + 1;
  for (const FleetScore& one : all) {
    if (one.ratio < 1) fewest = std::min(fewest, one.chips);
  }
  std::set<Key> expected;
  for (const FleetScore& one : all) {
    if (one.ratio < 1 && one.chips == fewest) expected.insert(key(one));
  }
  const FleetRules rules{FakeFleets::kMost, false, 1, {}};
  const auto found = FleetFinder(fleets, rules).find();
  RC_ASSERT(found.ok());
  RC_ASSERT(keys(found->met) == expected);
  RC_ASSERT(found->runs == fleets.runs);
  RC_ASSERT(found->runs <= all.size());
  RC_ASSERT(found->fates.size() == fleets.count);
}

RC_GTEST_PROP(FleetFinder, FindsTheWholeFront, ()) {
  const FakeFleets fleets = drawn_fleets();
  std::vector<FleetScore> front;
  for (const FleetScore& one : every_fleet(fleets)) {
    if (one.ratio < 1) add_to_front(front, one);
  }
  const FleetRules rules{FakeFleets::kMost, true, 1, {}};
  const auto found = FleetFinder(fleets, rules).find();
  RC_ASSERT(found.ok());
  RC_ASSERT(keys(found->met) == keys(front));
}

RC_GTEST_PROP(FleetFinderThreads, MakeNoDifference, ()) {
  const FakeFleets fleets = drawn_fleets();
  const bool front = *rc::gen::arbitrary<bool>();
  const FleetRules one{FakeFleets::kMost, front, 1, {}}, three{FakeFleets::kMost, front, 3, {}};
  const auto a = FleetFinder(fleets, one).find(), b = FleetFinder(fleets, three).find();
  RC_ASSERT(a.ok() && b.ok());
  RC_ASSERT(keys(a->met) == keys(b->met));
  RC_ASSERT(a->runs == b->runs);
  RC_ASSERT(a->fates == b->fates);
  RC_ASSERT(a->nearest.has_value() == b->nearest.has_value());
  if (a->nearest) RC_ASSERT(key(*a->nearest) == key(*b->nearest));
}

RC_GTEST_PROP(FleetFinder, TellsTheNearestByWholeRuns, (bool front)) {
  const FakeFleets fleets{*rc::gen::arbitrary<std::uint64_t>(),
                          *rc::gen::inRange<std::size_t>(1, 12), 1'000'000'000, 0};
  const auto found = FleetFinder(fleets, FleetRules{FakeFleets::kMost, front, 1, {}}).find();
  RC_ASSERT(found.ok());
  RC_ASSERT(found->met.empty());
  const auto nearness = [](const FleetScore& one) {
    return std::tuple(one.ratio, one.chips, one.configuration, one.replicas, one.decode);
  };
  std::optional<FleetScore> nearest;
  for (const FleetScore& one : every_fleet(fleets)) {
    if (one.replicas < fleets.assess(one.configuration).least) continue;  // bounds rule it out
    if (!nearest || nearness(one) < nearness(*nearest)) nearest = one;
  }
  RC_ASSERT(found->nearest.has_value() == nearest.has_value());
  if (!nearest) return;
  RC_ASSERT(key(*found->nearest) == key(*nearest));
  RC_ASSERT(found->nearest->whole);
  RC_ASSERT(found->nearest->ratio == nearest->ratio);
  RC_ASSERT(found->nearest->tokens_per_s == nearest->tokens_per_s);
  RC_ASSERT(fleets.whole_runs <= fleets.runs);
}

}  // namespace
}  // namespace flopcast::serving
