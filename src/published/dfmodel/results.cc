// Runs made once, and what is made of several.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "published/dfmodel/sections.h"

namespace flopcast::published {
namespace {

using Names = PublishedNames;
using Measure = double (*)(const PublishedPoint&);

double utilisation(const PublishedPoint& point) { return point.mapping.utilisation; }
double per_dollar(const PublishedPoint& point) { return point.tflops_per_dollar(); }
double per_watt(const PublishedPoint& point) { return point.tflops_per_w(); }

/// Coordinates of a point among the 80.
struct Place {
  std::size_t chip = 0, topology = 0, memory = 0, link = 0;
};
enum : std::size_t { kH100, kTpu, kSn30, kWse };
enum : std::size_t { kTorus2, kDragonfly, kTorus3, kDgx1, kDgx2 };
enum : std::size_t { kDdr, kHbm };
enum : std::size_t { kPcie, kNvlink };

/// All 80 points by coordinates, and geometric means of ratios over sets of them.
class Grid {
 public:
  using Numbers = std::vector<std::size_t>;
  explicit Grid(const std::vector<PublishedPoint>& points) : points_(points) {}

  Numbers chips = {kH100, kTpu, kSn30, kWse};
  Numbers topologies = {kTorus2, kDragonfly, kTorus3, kDgx1, kDgx2};
  Numbers memories = {kDdr, kHbm};
  Numbers links = {kPcie, kNvlink};

  /// Mean of measure(point) / measure(point where `change` has set one coordinate), over the grid.
  double mean(Measure measure, const std::function<void(Place&)>& above,
              const std::vector<std::function<void(Place&)>>& below) const {
    double sum = 0;
    std::size_t count = 0;
    each([&](const Place& place) {
      Place top = place;
      above(top);
      for (const auto& change : below) {
        Place bottom = place;
        change(bottom);
        sum += std::log(measure(at(top)) / measure(at(bottom)));
        ++count;
      }
    });
    return std::exp(sum / static_cast<double>(count));
  }

 private:
  const PublishedPoint& at(const Place& p) const {
    const std::size_t chip_and_topology = p.chip * Names::kTopologies.size() + p.topology;
    return points_[(chip_and_topology * Names::kMemories.size() + p.memory) * Names::kLinks.size() +
                   p.link];
  }
  template <typename Visit>
  void each(Visit&& visit) const {
    for (const std::size_t chip : chips) {
      for (const std::size_t topology : topologies) {
        for (const std::size_t memory : memories) {
          for (const std::size_t link : links) visit(Place{chip, topology, memory, link});
        }
      }
    }
  }

  const std::vector<PublishedPoint>& points_;
};

std::function<void(Place&)> chip(std::size_t value) {
  return [value](Place& place) { place.chip = value; };
}
std::function<void(Place&)> topology(std::size_t value) {
  return [value](Place& place) { place.topology = value; };
}
std::function<void(Place&)> memory(std::size_t value) {
  return [value](Place& place) { place.memory = value; };
}
std::function<void(Place&)> link(std::size_t value) {
  return [value](Place& place) { place.link = value; };
}

double chips_over(const std::vector<PublishedPoint>& points, Measure measure, std::size_t above,
                  const std::vector<std::size_t>& below) {
  Grid grid(points);
  grid.chips = {above};
  std::vector<std::function<void(Place&)>> changes;
  for (const std::size_t other : below) changes.push_back(chip(other));
  return grid.mean(measure, chip(above), changes);
}

double hbm_over_ddr(const std::vector<PublishedPoint>& points, const Grid::Numbers& chips) {
  Grid grid(points);
  grid.chips = chips;
  grid.memories = {kDdr};
  return grid.mean(utilisation, memory(kHbm), {memory(kDdr)});
}

double dragonfly_over_others(const std::vector<PublishedPoint>& points, Measure measure,
                             const Grid::Numbers& chips, const Grid::Numbers& links) {
  Grid grid(points);
  grid.chips = chips;
  grid.links = links;
  grid.topologies = {kDragonfly};
  return grid.mean(measure, topology(kDragonfly),
                   {topology(kTorus2), topology(kTorus3), topology(kDgx1), topology(kDgx2)});
}

double nvlink_over_pcie(const std::vector<PublishedPoint>& points, Measure measure,
                        const Grid::Numbers& chips) {
  Grid grid(points);
  grid.chips = chips;
  grid.links = {kPcie};
  return grid.mean(measure, link(kNvlink), {link(kPcie)});
}

}  // namespace

std::optional<Diagnostic> PublishedResults::prepare(PublishedWorkload workload,
                                                    const std::vector<std::string>& names) {
  const Result<std::vector<MappingSystem>> systems = design_space_systems(workload, *catalog_);
  if (!systems) return systems.error();
  auto& points = design_[static_cast<std::size_t>(workload)];
  std::vector<const MappingSystem*> open;
  for (const MappingSystem& system : *systems) {
    const bool asked = std::find(names.begin(), names.end(), system.name) != names.end();
    if (asked && !points.contains(system.name)) open.push_back(&system);
  }
  std::vector<std::optional<Result<PublishedPoint>>> found(open.size());
  parallel_for(open.size(), threads_, [&](std::size_t i) {
    found[i] = run_published(open[i]->name, design_space_run(workload, *open[i]), 1);
  });
  for (std::size_t i = 0; i < open.size(); ++i) {
    points.emplace(open[i]->name, std::move(*found[i]));
  }
  return std::nullopt;
}

const Result<PublishedPoint>* PublishedResults::point(PublishedWorkload workload,
                                                      const std::string& name) {
  const auto& points = design_[static_cast<std::size_t>(workload)];
  if (!points.contains(name) && prepare(workload, {name})) return nullptr;
  const auto found = points.find(name);
  return found == points.end() ? nullptr : &found->second;
}

Result<std::vector<PublishedPoint>> PublishedResults::design(PublishedWorkload workload) {
  const Result<std::vector<MappingSystem>> systems = design_space_systems(workload, *catalog_);
  if (!systems) return systems.error();
  std::vector<std::string> names;
  for (const MappingSystem& system : *systems) names.push_back(system.name);
  if (auto error = prepare(workload, names)) return *error;
  std::vector<PublishedPoint> all;
  for (const std::string& name : names) {
    const Result<PublishedPoint>& one = design_[static_cast<std::size_t>(workload)].at(name);
    if (!one) return one.error();
    all.push_back(*one);
  }
  return all;
}

const Result<PublishedPoint>& PublishedResults::table(TableRow row) {
  auto& point = table_[static_cast<std::size_t>(row)];
  if (!point) point = run(std::string(name(row)), table_run(row, *catalog_));
  return *point;
}

std::vector<PublishedClaim> language_claims(const std::vector<PublishedPoint>& points) {
  const Grid::Numbers few = {kH100, kTpu, kSn30}, both = {kPcie, kNvlink};
  return {
      {"RDU/(GPU,TPU) util", 1.52, chips_over(points, utilisation, kSn30, {kH100, kTpu})},
      {"RDU/(GPU,TPU) cost eff", 1.59, chips_over(points, per_dollar, kSn30, {kH100, kTpu})},
      {"RDU/(GPU,TPU) power eff", 1.6, chips_over(points, per_watt, kSn30, {kH100, kTpu})},
      {"GPU,TPU HBM/DDR util", 1.66, hbm_over_ddr(points, {kH100, kTpu})},
      {"RDU HBM/DDR util", 1.0, hbm_over_ddr(points, {kSn30})},
      {"dragonfly/simple PCIe util, no WSE", 1.21,
       dragonfly_over_others(points, utilisation, few, {kPcie})},
      {"dragonfly/simple cost eff, no WSE, all nets", 0.51,
       dragonfly_over_others(points, per_dollar, few, both)},
      {"dragonfly/simple power eff, no WSE, all nets", 0.91,
       dragonfly_over_others(points, per_watt, few, both)},
      {"WSE NVLink/PCIe util", 5.15, nvlink_over_pcie(points, utilisation, {kWse})},
      {"WSE/others cost eff", 0.06, chips_over(points, per_dollar, kWse, few)},
      {"WSE/others power eff", 0.2, chips_over(points, per_watt, kWse, few)},
  };
}

std::vector<PublishedClaims> network_claims(const std::vector<PublishedPoint>& points) {
  const Grid::Numbers all = {kH100, kTpu, kSn30, kWse}, both = {kPcie, kNvlink};
  const std::array<Measure, 3> measures = {utilisation, per_dollar, per_watt};
  std::vector<PublishedClaims> claims = {
      {"nvlink_pcie", {}}, {"dragonfly", {}}, {"tpu", {}}, {"wse", {}}};
  for (std::size_t m = 0; m < measures.size(); ++m) {
    claims[0].got[m] = nvlink_over_pcie(points, measures[m], all);
    claims[1].got[m] = dragonfly_over_others(points, measures[m], all, both);
    claims[2].got[m] = chips_over(points, measures[m], kTpu, {kH100, kSn30, kWse});
    claims[3].got[m] = chips_over(points, measures[m], kWse, {kH100, kTpu, kSn30});
  }
  return claims;
}

PublishedRoofline published_roofline(const PublishedPoint& point, Flops layer_work) {
  const double flop = layer_work.value / point.mapping.shape.tp();
  double dram = 0, wire = 0;
  for (const MappedPartition& partition : point.mapping.partitions) {
    dram += partition.dram.value;
    wire += partition.wire.value;
  }
  return {flop / dram, flop / wire, flop / point.mapping.layer.value / 1e12};
}

}  // namespace flopcast::published
