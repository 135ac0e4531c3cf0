// The search visits every plan. It is fast because of the order in which things are known:
//
//   grid (tp1, tp2)             weights of a layer
//   + microbatch                activations -> memory of every (pp, dp): most plans end here
//   + panels, GPUs of tp1 and tp2 in a domain       time of a layer, computed when first needed
//   + pp, dp, their GPUs in a domain                a dozen flops a plan
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "published/subramanian/iteration.h"
#include "published/subramanian/space.h"

namespace flopcast::published {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The fastest plans so far; of equals, those met first.
class Fastest {
 public:
  explicit Fastest(std::size_t count)
      : count_(count), limit_(count == 0 ? -kInfinity : kInfinity) {}

  /// Slower plans, and plans as slow, need not be offered.
  double limit() const { return limit_; }
  void offer(double time, const PaperPlan& plan) {
    const auto after = std::ranges::upper_bound(found_, time, {}, &Found::time);
    found_.insert(after, {time, plan});
    if (found_.size() > count_) found_.pop_back();
    if (found_.size() == count_) limit_ = found_.back().time;
  }
  std::vector<PaperPlan> plans() const {
    std::vector<PaperPlan> plans;
    for (const Found& one : found_) plans.push_back(one.plan);
    return plans;
  }

 private:
  struct Found {
    double time = 0;
    PaperPlan plan;
  };
  std::size_t count_;
  double limit_;
  std::vector<Found> found_;
};

/// Times of a layer on one grid, by microbatch, panels and placement.
class LayerTimes {
 public:
  LayerTimes(const PaperCase& c, const Rates& rates, const Grid& grid,
             std::vector<std::int64_t> microbatches, std::vector<std::int64_t> panels)
      : c_(c),
        rates_(rates),
        grid_(grid),
        microbatches_(std::move(microbatches)),
        panels_(std::move(panels)) {
    for (const std::int64_t b : microbatches_) sums_.push_back(layer_sums(layer(b, panels_[0])));
  }

  const std::vector<std::int64_t>& microbatches() const { return microbatches_; }
  const std::vector<std::int64_t>& panels() const { return panels_; }
  const LayerSums& sums(std::size_t microbatch) const { return sums_[microbatch]; }

  /// Number of a placement of the grid's two axes.
  std::size_t placement(const PaperPlan::Groups& domain) {
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      if (placements_[i].tp1 == domain.tp1 && placements_[i].tp2 == domain.tp2) return i;
    }
    const PaperPlan::Groups size{grid_.tp1, grid_.tp2, 1, 1};
    placements_.push_back({domain.tp1, domain.tp2, LayerCosts(rates_, size, domain, c_.defects)});
    rows_.resize(placements_.size() * microbatches_.size() * panels_.size());
    return placements_.size() - 1;
  }

  struct Row {
    double forward = std::numeric_limits<double>::quiet_NaN(), backward = 0;
  };
  const Row& row(std::size_t placement, std::size_t microbatch, std::size_t panel) {
    Row& row = rows_[(placement * microbatches_.size() + microbatch) * panels_.size() + panel];
    if (std::isnan(row.forward)) row = compute(placement, microbatch, panel);
    return row;
  }

 private:
  struct Placement {
    std::int64_t tp1 = 1, tp2 = 1;
    LayerCosts costs;
  };

  Layer layer(std::int64_t microbatch, std::int64_t panels) const {
    const PaperPlan plan{.size = {grid_.tp1, grid_.tp2, 1, 1},
                         .domain = {},
                         .microbatch = microbatch,
                         .panels = panels};
    return layer_operators(c_.strategy, shape_of(c_.model, plan), rates_.matrix_per_vector,
                           c_.defects);
  }
  Row compute(std::size_t placement, std::size_t microbatch, std::size_t panel) {
    // Placements of one microbatch and panel count follow each other: their layer is kept.
    const std::pair key(microbatch, panel);
    if (last_ != key) {
      last_layer_ = layer(microbatches_[microbatch], panels_[panel]);
      last_ = key;
    }
    const LayerTime time =
        layer_time(last_layer_, panels_[panel], rates_, placements_[placement].costs);
    return {time.forward.total(), time.backward.total()};
  }

  const PaperCase& c_;
  const Rates& rates_;
  Grid grid_;
  std::vector<std::int64_t> microbatches_, panels_;
  std::vector<LayerSums> sums_;
  std::vector<Placement> placements_;
  std::vector<Row> rows_;
  std::pair<std::size_t, std::size_t> last_{SIZE_MAX, SIZE_MAX};
  Layer last_layer_{};
};

/// One way to place a plan's groups, with all that does not depend on microbatch and panels.
struct Placed {
  PaperPlan::Groups domain;
  std::size_t layer_placement = 0;
  Schedule schedule;
  double exchange = 0;
};

class Search {
 public:
  Search(const PaperCase& c, std::int64_t gpus, const PaperSearchOptions& options)
      : c_(c),
        options_(options),
        rates_(c.system),
        space_(c, gpus, options),
        fastest_(options.best) {}

  PaperSearch run() {
    for (const Grid& grid : space_.grids()) visit(grid);
    for (const PaperPlan& plan : fastest_.plans()) result_.best.push_back(candidate(plan));
    if (result_.feasible == 0 && result_.candidates > 0) result_.leanest = candidate(leanest_);
    return std::move(result_);
  }

 private:
  /// The space holds no plan that an estimate would refuse.
  PaperCandidate candidate(const PaperPlan& plan) const {
    return {plan, *paper_estimate(c_, plan)};
  }

  void visit(const Grid& grid) {
    auto microbatches = space_.microbatches(grid);
    auto panels = space_.panels(grid);
    if (microbatches.empty() || panels.empty()) return;
    LayerTimes times(c_, rates_, grid, std::move(microbatches), std::move(panels));
    for (const PaperPlan::Groups& size : space_.sizes(grid)) visit(size, times);
  }

  void visit(const PaperPlan::Groups& size, LayerTimes& times) {
    std::vector<Placed> placed;
    for (const PaperPlan::Groups& domain : space_.placements(size)) {
      const Schedule schedule = schedule_of(c_, rates_, size, domain);
      placed.push_back({domain, times.placement(domain), schedule,
                        schedule.weights_exchange.time(times.sums(0).weights)});
    }
    if (placed.empty()) return;
    const std::int64_t local_batch = c_.global_batch / size.dp;
    for (std::size_t b = 0; b < times.microbatches().size(); ++b) {
      if (local_batch % times.microbatches()[b] == 0) visit(size, b, placed, times);
    }
  }

  void visit(const PaperPlan::Groups& size, std::size_t microbatch,
             const std::vector<Placed>& placed, LayerTimes& times) {
    const std::uint64_t plans = placed.size() * times.panels().size();
    result_.candidates += plans;
    const std::int64_t microbatches = c_.global_batch / size.dp / times.microbatches()[microbatch];
    const LayerSums& sums = times.sums(microbatch);
    const double memory = memory_of(c_, size, microbatches, sums).total();
    PaperPlan plan{.size = size,
                   .domain = placed[0].domain,
                   .microbatch = times.microbatches()[microbatch],
                   .panels = times.panels()[0]};
    if (memory > c_.system.hbm_capacity.value) {
      if (memory < least_memory_) {
        least_memory_ = memory;
        leanest_ = plan;
      }
      if (!options_.beyond_memory) return;
    } else {
      result_.feasible += plans;
    }
    const auto m = static_cast<double>(microbatches);
    for (std::size_t panel = 0; panel < times.panels().size(); ++panel) {
      plan.panels = times.panels()[panel];
      for (const Placed& one : placed) {
        const LayerTimes::Row& row = times.row(one.layer_placement, microbatch, panel);
        const double time =
            iteration_time(one.schedule, m, sums.boundary, one.exchange, row.forward, row.backward)
                .total();
        if (time >= fastest_.limit()) continue;
        plan.domain = one.domain;
        fastest_.offer(time, plan);
      }
    }
  }

  const PaperCase& c_;
  const PaperSearchOptions& options_;
  Rates rates_;
  Space space_;
  Fastest fastest_;
  PaperPlan leanest_;
  double least_memory_ = kInfinity;
  PaperSearch result_;
};

}  // namespace
}  // namespace flopcast::published

namespace flopcast {

Result<PaperSearch> paper_search(const PaperCase& c, std::int64_t gpus,
                                 const PaperSearchOptions& options) {
  if (auto refused = published::refuse(c)) return *std::move(refused);
  if (auto refused = published::refuse(gpus)) return *std::move(refused);
  return published::Search(c, gpus, options).run();
}

}  // namespace flopcast
