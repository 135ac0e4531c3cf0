#include "published/subramanian/space.h"

#include <algorithm>

#include "base/numeric/divisors.h"

namespace flopcast::published {
namespace {

// Below these the published search cuts no further; not in the paper.
constexpr std::int64_t kLeastWidth = 128;
constexpr std::int64_t kLeastPanel = 512;

bool allowed(std::int64_t degree, std::int64_t fixed) { return fixed == 0 || degree == fixed; }

bool allowed(const PaperPlan::Groups& k, const PaperPlan::Groups& fixed) {
  return allowed(k.tp1, fixed.tp1) && allowed(k.tp2, fixed.tp2) && allowed(k.pp, fixed.pp) &&
         allowed(k.dp, fixed.dp);
}

}  // namespace

Space::Space(const PaperCase& c, std::int64_t gpus, const PaperSearchOptions& options)
    : c_(c), gpus_(gpus), options_(options) {}

std::vector<Grid> Space::grids() const {
  const PaperModel& m = c_.model;
  const bool flat = c_.strategy == PaperStrategy::k1d;
  std::vector<Grid> grids;
  for (const std::int64_t tp1 : divisors(gpus_)) {
    if (!allowed(tp1, options_.fixed.tp1) || m.heads % tp1 != 0 || m.embed % tp1 != 0) continue;
    // 1-D measures the widest matrix, 2-D and SUMMA the embedding.
    if ((flat ? 3 * m.embed : m.embed) / tp1 < kLeastWidth) continue;
    for (const std::int64_t tp2 : flat ? divisors(1) : divisors(gpus_ / tp1)) {
      if (!allowed(tp2, options_.fixed.tp2)) continue;
      if (!flat && m.sequence / tp2 < kLeastWidth) continue;
      if (c_.strategy == PaperStrategy::kSumma && m.embed % tp2 != 0) continue;
      grids.push_back({tp1, tp2});
    }
  }
  return grids;
}

std::vector<std::int64_t> Space::panels(const Grid& grid) const {
  if (c_.strategy != PaperStrategy::kSumma) return {1};
  if (options_.panels > 0) return {options_.panels};
  if (options_.panels < 0) return {};
  const std::int64_t embed = c_.model.embed;
  const std::int64_t first = std::max(grid.tp1, grid.tp2);
  if (embed < kLeastPanel * first) return {first};
  std::vector<std::int64_t> counts;
  for (std::int64_t count = first; embed / count >= kLeastPanel; count *= 2) {
    if (embed % count == 0) counts.push_back(count);
  }
  return counts;
}

std::vector<PaperPlan::Groups> Space::sizes(const Grid& grid) const {
  const std::int64_t rest = gpus_ / (grid.tp1 * grid.tp2);
  std::vector<PaperPlan::Groups> sizes;
  for (const std::int64_t pp : divisors(std::min(rest, c_.model.depth))) {
    if (rest % pp != 0 || c_.model.depth % pp != 0 || !allowed(pp, options_.fixed.pp)) continue;
    const std::int64_t dp = rest / pp;
    if (c_.global_batch % dp != 0 || !allowed(dp, options_.fixed.dp)) continue;
    sizes.push_back({grid.tp1, grid.tp2, pp, dp});
  }
  return sizes;
}

std::vector<std::int64_t> Space::microbatches(const Grid& grid) const {
  // The GPUs that share the rows of a microbatch.
  const std::int64_t sharers = c_.strategy == PaperStrategy::k1d   ? grid.tp1
                               : c_.strategy == PaperStrategy::k2d ? grid.tp1 * grid.tp2
                                                                   : grid.tp2;
  std::vector<std::int64_t> kept = divisors(c_.global_batch);
  std::erase_if(kept, [&](std::int64_t b) {
    return (b * c_.model.sequence) % sharers != 0 || !allowed(b, options_.microbatch);
  });
  return kept;
}

std::vector<PaperPlan::Groups> Space::placements(const PaperPlan::Groups& size) const {
  const std::int64_t domain = c_.system.domain;
  std::vector<PaperPlan::Groups> kept;
  if (gpus_ <= domain) {
    if (allowed(size, options_.fixed_domain)) kept.push_back(size);
    return kept;
  }
  const auto add = [&](const PaperPlan::Groups& k) {
    const bool whole = size.tp1 % k.tp1 == 0 && size.tp2 % k.tp2 == 0 && size.dp % k.dp == 0 &&
                       size.pp % k.pp == 0;
    if (whole && allowed(k, options_.fixed_domain)) kept.push_back(k);
  };
  for (const std::int64_t tp1 : divisors(domain)) {
    for (const std::int64_t tp2 : divisors(domain / tp1)) {
      const std::int64_t rest = domain / (tp1 * tp2);
      for (const std::int64_t dp : divisors(rest)) add({tp1, tp2, rest / dp, dp});
    }
  }
  return kept;
}

}  // namespace flopcast::published
