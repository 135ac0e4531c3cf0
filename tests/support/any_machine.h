// Machines, models and plans as chance makes them: of the catalogue's, with some numbers as something else.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "catalog_files.h"
#include "flopcast/hardware.h"
#include "flopcast/parallel.h"
#include "workload/model/builtin.h"

namespace flopcast::test {

/// The same numbers for the same seed, whatever the standard library.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : next_(seed) {}
  std::uint64_t below(std::uint64_t n) { return next_() % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next_() >> 11) * 0x1p-53;
  }
  /// As likely between 1 and 10 as between 10 and 100.
  double decades(double low, double high) { return std::pow(10.0, uniform(low, high)); }
  template <typename List>
  const auto& of(const List& list) {
    return list[below(std::size(list))];
  }
  unsigned power_of_two(unsigned most) { return 1U << below(std::bit_width(most)); }

 private:
  std::mt19937_64 next_;
};

/// A number that may be overridden in a cluster's text, and decades between which machines lie.
struct MachineNumber {
  const char* key;
  const char* unit;
  double low, high;
};
inline constexpr MachineNumber kMachineNumbers[] = {
    {"node.bandwidth", "B/s", 8, 13},        {"node.latency", "s", -8, -3},
    {"node.efficiency", "", -1, 0},          {"fabric.bandwidth", "B/s", 8, 13},
    {"fabric.latency", "s", -7, -2},         {"fabric.efficiency", "", -1, 0},
    {"fabric.oversubscription", "", 0, 1.5}, {"chip.hbm_bandwidth", "B/s", 10, 14},
    {"chip.hbm_capacity", "B", 9, 13},       {"chip.matrix.bf16", "FLOP/s", 12, 17},
    {"chip.matrix.fp8", "FLOP/s", 12, 17},   {"chip.matrix.fp32", "FLOP/s", 12, 16},
    {"chip.vector.fp32", "FLOP/s", 12, 15},  {"chip.power_w", "W", 1, 4},
    {"chip.on_chip_memory", "B", 5, 9},
};

/// "4 x dgx-h100, node.latency 3.1e-05s": between none and four numbers changed, one in `absurd` of them beyond all machines.
inline std::string any_cluster(Chance& chance, std::uint64_t absurd) {
  static const std::vector<std::string> nodes = Catalog::builtin().node_names();
  std::string text = fmt::format("{} x {}", chance.power_of_two(16), chance.of(nodes));
  for (std::uint64_t changes = chance.below(5); changes > 0; --changes) {
    const MachineNumber& number = chance.of(kMachineNumbers);
    double value = chance.decades(number.low, number.high);
    if (absurd > 0 && chance.once_in(absurd)) value = chance.decades(-30, 30);
    const bool bare = absurd > 0 && chance.once_in(absurd);
    text += fmt::format(", {} {:.6g}{}", number.key, value, bare ? "" : number.unit);
  }
  return text;
}

/// The configs of the catalogue's models.
inline const std::vector<nlohmann::json>& catalogue_configs() {
  static const std::vector<nlohmann::json> all = [] {
    std::vector<nlohmann::json> configs;
    for (const CatalogFile& file : catalog_files()) {
      if (!file.path.starts_with("models/")) continue;
      for (const auto& entry : *workload::read_model_file(file.text, std::string(file.path))) {
        configs.push_back(nlohmann::json::parse(entry.config));
      }
    }
    return configs;
  }();
  return all;
}

/// One of them, with up to three of its numbers as others.
inline std::string any_config(Chance& chance) {
  nlohmann::json config = chance.of(catalogue_configs());
  for (std::uint64_t changes = chance.below(4); changes > 0; --changes) {
    auto field =
        std::next(config.begin(), static_cast<std::ptrdiff_t>(chance.below(config.size())));
    if (!field->is_number_integer()) continue;
    const auto was = std::max<std::int64_t>(field->get<std::int64_t>(), 1);
    switch (chance.below(4)) {
      case 0:
        *field = static_cast<std::int64_t>(chance.below(4));
        break;
      case 1:
        *field = was * 2;
        break;
      case 2:
        *field = std::max<std::int64_t>(was / 2, 1);
        break;
      default:
        *field = static_cast<std::int64_t>(chance.decades(0, 8));
    }
  }
  return config.dump();
}

/// Degrees that multiply to no more than `chips`; whatever else there is to choose.
inline Plan any_plan(Chance& chance, unsigned chips) {
  Plan plan;
  unsigned left = std::max(chips, 1U);
  for (unsigned* degree : {&plan.tp, &plan.pp, &plan.dp, &plan.cp}) {
    *degree = std::min(chance.power_of_two(std::bit_floor(left)), 64U);
    left /= *degree;
  }
  plan.ep = chance.once_in(2) ? chance.power_of_two(plan.dp * plan.tp) : 1;
  plan.sequence_parallel = plan.tp > 1 && chance.once_in(2);
  plan.micro_batch = chance.power_of_two(4);
  plan.global_batch =
      plan.micro_batch * plan.dp * static_cast<std::int64_t>(chance.power_of_two(64));
  plan.sequence = chance.power_of_two(64) * std::int64_t{128};
  plan.zero = static_cast<Zero>(chance.below(4));
  plan.reshard = chance.once_in(2);
  plan.schedule = static_cast<ScheduleKind>(chance.below(6));
  const bool folded =
      plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
  plan.vpp = folded ? 2 : plan.schedule == ScheduleKind::kInterleaved ? 2 : 1;
  plan.precision = static_cast<Precision>(chance.below(9));
  plan.recompute = static_cast<Recompute>(chance.below(3));
  plan.flash_attention = !chance.once_in(4);
  plan.overlap.experts = chance.once_in(2), plan.overlap.tensor = chance.once_in(2);
  plan.fp32_gradients = chance.once_in(2);
  return plan;
}

}  // namespace flopcast::test
