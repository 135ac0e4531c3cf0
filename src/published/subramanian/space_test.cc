#include "published/subramanian/space.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace flopcast::published {
namespace {

using enum PaperStrategy;

/// Every plan of the space, in order.
std::vector<PaperPlan> plans_of(const PaperCase& c, std::int64_t gpus,
                                const PaperSearchOptions& options = {}) {
  const Space space(c, gpus, options);
  std::vector<PaperPlan> plans;
  for (const Grid& grid : space.grids()) {
    for (const PaperPlan::Groups& size : space.sizes(grid)) {
      for (const std::int64_t microbatch : space.microbatches(grid)) {
        if ((c.global_batch / size.dp) % microbatch != 0) continue;
        for (const std::int64_t panels : space.panels(grid)) {
          for (const PaperPlan::Groups& domain : space.placements(size)) {
            plans.push_back({size, domain, microbatch, panels});
          }
        }
      }
    }
  }
  return plans;
}

auto key(const PaperPlan& p) {
  return std::tuple(p.size.tp1, p.size.tp2, p.size.pp, p.size.dp, p.microbatch, p.panels,
                    p.domain.tp1, p.domain.tp2, p.domain.dp, p.domain.pp);
}

bool panels_tried(const PaperCase& c, const PaperPlan& p) {
  if (c.strategy != kSumma) return p.panels == 1;
  const std::int64_t first = std::max(p.size.tp1, p.size.tp2);
  const double ratio = static_cast<double>(c.model.embed) / static_cast<double>(first);
  if (ratio < 512) return p.panels == first;
  const double doublings = std::log2(static_cast<double>(p.panels) / static_cast<double>(first));
  return p.panels >= first && doublings == std::floor(doublings) && c.model.embed % p.panels == 0 &&
         c.model.embed / p.panels >= 512;
}

/// The conditions of the published search on one plan, written as a predicate.
bool tried(const PaperCase& c, std::int64_t gpus, const PaperPlan& p) {
  const auto& [tp1, tp2, pp, dp] = p.size;
  const PaperModel& m = c.model;
  if (p.gpus() != gpus || m.heads % tp1 != 0 || m.embed % tp1 != 0) return false;
  if (c.strategy == k1d && (tp2 != 1 || 3 * m.embed / tp1 < 128)) return false;
  if (c.strategy != k1d && (m.embed / tp1 < 128 || m.sequence / tp2 < 128)) return false;
  if (c.strategy == kSumma && m.embed % tp2 != 0) return false;
  const std::int64_t most_pp = std::min(gpus / (tp1 * tp2), m.depth);
  if (most_pp % pp != 0 || m.depth % pp != 0 || c.global_batch % dp != 0) return false;
  const std::int64_t rows = p.microbatch * m.sequence;
  const std::int64_t sharers = c.strategy == k1d ? tp1 : c.strategy == k2d ? tp1 * tp2 : tp2;
  if ((c.global_batch / dp) % p.microbatch != 0 || rows % sharers != 0) return false;
  if (!panels_tried(c, p)) return false;
  const auto& k = p.domain;
  if (gpus <= c.system.domain) return k == p.size;
  return k.tp1 * k.tp2 * k.pp * k.dp == c.system.domain && tp1 % k.tp1 == 0 && tp2 % k.tp2 == 0 &&
         pp % k.pp == 0 && dp % k.dp == 0;
}

template <typename Visit>
void for_each_split(std::int64_t n, Visit visit) {
  for (std::int64_t a = 1; a <= n; ++a) {
    for (std::int64_t b = 1; a * b <= n; ++b) {
      for (std::int64_t d = 1; a * b * d <= n; ++d) {
        if (n % (a * b * d) == 0) visit(PaperPlan::Groups{a, b, n / (a * b * d), d});
      }
    }
  }
}

/// The slow way: all there is, sieved.
std::vector<PaperPlan> sieve(const PaperCase& c, std::int64_t gpus) {
  std::vector<PaperPlan> plans;
  const std::int64_t domain = std::min(gpus, c.system.domain);
  for_each_split(gpus, [&](const PaperPlan::Groups& size) {
    for_each_split(domain, [&](const PaperPlan::Groups& k) {
      for (std::int64_t b = 1; b <= c.global_batch; ++b) {
        for (std::int64_t panels = 1; panels <= (c.strategy == kSumma ? 64 : 1); ++panels) {
          const PaperPlan plan{size, k, b, panels};
          if (tried(c, gpus, plan)) plans.push_back(plan);
        }
      }
    });
  });
  std::ranges::sort(plans, {}, key);
  return plans;
}

RC_GTEST_PROP(PaperSpace, HoldsWhatThePublishedConditionsAdmitInOrder, ()) {
  PaperCase c;
  c.strategy = *rc::gen::element(k1d, k2d, kSumma);
  c.model = {.name = "small",
             .sequence = *rc::gen::element<std::int64_t>(300, 512, 1024),
             .embed = *rc::gen::element<std::int64_t>(384, 1536, 2048, 3072),
             .heads = *rc::gen::element<std::int64_t>(6, 12, 16),
             .depth = *rc::gen::element<std::int64_t>(4, 6, 24),
             .hidden = 4096,
             .training_samples = 0};
  c.system = *paper_system("A100");
  c.system.domain = *rc::gen::element<std::int64_t>(1, 4, 6, 8);
  c.global_batch = *rc::gen::element<std::int64_t>(6, 16, 24);
  const auto gpus = *rc::gen::element<std::int64_t>(1, 4, 6, 8, 12, 16, 24);
  RC_ASSERT(plans_of(c, gpus) == sieve(c, gpus));
}

// Sizes of the paper's spaces over its 13 numbers of GPUs (published enumeration).
TEST(PaperSpace, HasAsManyPlansAsThePublishedEnumeration) {
  struct Row {
    PaperStrategy strategy;
    const char* model;
    std::uint64_t nvs4, nvs8, nvs64;
  };
  const Row rows[] = {{k1d, "gpt3_1T", 15098, 20219, 24275},
                      {k1d, "vit_era5", 11281, 14834, 16250},
                      {k2d, "gpt3_1T", 97660, 148922, 219345},
                      {k2d, "vit_era5", 95739, 144471, 207680}};
  for (const Row& row : rows) {
    PaperCase c{*paper_model(row.model), *paper_system("A100"), row.strategy, 4096, {}};
    for (const auto& [domain, expected] :
         {std::pair{4, row.nvs4}, {8, row.nvs8}, {64, row.nvs64}}) {
      c.system.domain = domain;
      std::uint64_t plans = 0;
      for (std::int64_t gpus = 4; gpus <= 16384; gpus *= 2) plans += plans_of(c, gpus).size();
      EXPECT_EQ(plans, expected) << row.model << " " << domain;
    }
  }
}

TEST(PaperSpace, FixedDegreesKeepTheirShareOfThePlans) {
  const PaperCase c{*paper_model("gpt3_1T"), *paper_system("B200"), k2d, 4096, {}};
  PaperSearchOptions options;
  options.fixed = {8, 0, 4, 0};
  options.fixed_domain = {0, 1, 0, 0};
  options.microbatch = 2;
  std::vector<PaperPlan> kept = plans_of(c, 512);
  std::erase_if(kept, [](const PaperPlan& p) {
    return p.size.tp1 != 8 || p.size.pp != 4 || p.domain.tp2 != 1 || p.microbatch != 2;
  });
  EXPECT_FALSE(kept.empty());
  EXPECT_EQ(plans_of(c, 512, options), kept);
}

}  // namespace
}  // namespace flopcast::published
