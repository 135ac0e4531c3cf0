#include "network/flow/classes.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "network/rates/link_level.h"
#include "network/rates/water_fill.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

using flow::kNone;
using flow::kWhole;
using flow::Level;
using flow::LinkLevel;
using flow::Partition;
using flow::Problem;
using flow::WaterFill;

/// Finaliser of MurmurHash3 (Appleby, public domain): a bijection that spreads every bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// Numbers values from 0 in the order in which they come.
class Numbering {
 public:
  explicit Numbering(std::size_t expected) : slots_(64) {
    while (slots_.size() < expected) slots_.resize(2 * slots_.size());
  }
  std::uint32_t operator()(std::uint64_t value) {
    if (2 * (size_ + std::size_t{1}) > slots_.size()) grow();
    Slot& slot = find(value);
    if (slot.number == kNone) slot = {value, size_++};
    return slot.number;
  }
  std::uint32_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t value = 0;
    std::uint32_t number = kNone;
  };
  Slot& find(std::uint64_t value) {
    std::size_t at = value & (slots_.size() - 1);
    while (slots_[at].number != kNone && slots_[at].value != value) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) find(slot.value) = slot;
    }
  }
  std::vector<Slot> slots_;
  std::uint32_t size_ = 0;
};

std::size_t count_distinct(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

Partition refine(const Problem& problem) {
  const std::size_t links = problem.capacities.size(), flows = problem.flows();
  std::vector<std::uint64_t> link_colour(links), flow_colour(flows), sum(links);
  for (std::size_t l = 0; l < links; ++l) {
    link_colour[l] = mix(static_cast<std::uint64_t>(problem.capacities[l].value) + 1);
  }
  for (std::size_t classes = count_distinct(link_colour), before = 0; classes != before;) {
    std::fill(sum.begin(), sum.end(), 0);
    for (std::size_t f = 0; f < flows; ++f) {
      std::uint64_t colour = 0;
      for (const LinkId link : problem.path(f)) colour += mix(link_colour[link]);
      flow_colour[f] = colour = mix(colour);
      for (const LinkId link : problem.path(f)) sum[link] += colour;
    }
    for (std::size_t l = 0; l < links; ++l) {
      link_colour[l] = mix(link_colour[l] + 0x9e3779b97f4a7c15ULL * mix(sum[l]));
    }
    before = classes;
    classes = count_distinct(link_colour);
  }
  Partition partition;
  Numbering flow_numbers(64), link_numbers(2 * links);
  for (const std::uint64_t colour : link_colour) {
    partition.link_class.push_back(link_numbers(colour));
  }
  partition.flow_class.reserve(flows);
  for (const std::uint64_t colour : flow_colour) {
    partition.flow_class.push_back(flow_numbers(colour));
  }
  partition.flow_classes = flow_numbers.size();
  partition.link_classes = link_numbers.size();
  return partition;
}

/// One variable a class. Every link of a class carries the same number of flows of each class: all
/// crossings of the two, shared out among the links.
std::vector<Rate> solve_quotient(const Problem& problem, const Partition& partition) {
  std::vector<std::uint32_t> links_of(partition.link_classes), flows_of(partition.flow_classes);
  std::vector<std::uint32_t> first_flow(partition.flow_classes, kNone);
  WaterFill fill;
  for (std::size_t l = 0; l < partition.link_class.size(); ++l) {
    const std::uint32_t c = partition.link_class[l];
    if (links_of[c]++ == 0) fill.add_link(problem.capacities[l].value);
  }
  for (std::uint32_t f = 0; f < partition.flow_class.size(); ++f) {
    const std::uint32_t c = partition.flow_class[f];
    if (flows_of[c]++ == 0) first_flow[c] = f;
  }
  std::vector<Rate> rates(partition.flow_classes);
  std::vector<std::uint32_t> variable(partition.flow_classes, kNone);
  for (std::uint32_t c = 0; c < partition.flow_classes; ++c) {
    std::vector<std::uint32_t> crossed;
    for (const LinkId link : problem.path(first_flow[c])) {
      crossed.push_back(partition.link_class[link]);
    }
    if (crossed.empty()) continue;
    std::sort(crossed.begin(), crossed.end());
    variable[c] = fill.add_flow(kWhole);
    for (std::size_t i = 0, next = 0; i < crossed.size(); i = next) {
      while (next < crossed.size() && crossed[next] == crossed[i]) ++next;
      const std::uint64_t crossings = static_cast<std::uint64_t>(next - i) * flows_of[c];
      fill.add_use(crossed[i], static_cast<std::uint32_t>(crossings / links_of[crossed[i]]));
    }
  }
  fill.solve();
  for (std::uint32_t c = 0; c < partition.flow_classes; ++c) {
    rates[c].value = variable[c] == kNone ? Time::max().ps : fill.level(variable[c]);
  }
  return rates;
}

std::vector<Level> link_levels(const Problem& problem, const Partition& partition,
                               const std::vector<Rate>& rates) {
  std::vector<LinkLevel::Sum> sums(problem.capacities.size());
  for (std::size_t f = 0; f < problem.flows(); ++f) {
    const Level level = rates[partition.flow_class[f]].value;
    for (const LinkId link : problem.path(f)) sums[link].add(level, 1, kWhole);
  }
  std::vector<Level> levels(sums.size());
  std::unordered_map<LinkId, LinkLevel::Sorted> unclear;
  for (LinkId l = 0; l < sums.size(); ++l) {
    const std::int64_t capacity = problem.capacities[l].value;
    if (sums[l].clear_cut(capacity)) {
      levels[l] = sums[l].level(capacity).level;
    } else {
      unclear.try_emplace(l);
    }
  }
  if (unclear.empty()) return levels;
  for (std::size_t f = 0; f < problem.flows(); ++f) {
    for (const LinkId link : problem.path(f)) {
      const auto found = unclear.find(link);
      if (found == unclear.end()) continue;
      found->second.add(rates[partition.flow_class[f]].value, 1, kWhole);
    }
  }
  for (auto& [l, sorted] : unclear) levels[l] = sorted.level(problem.capacities[l].value).level;
  return levels;
}

/// Whether the rates are the canonical ones: every flow is at the lowest level of its links. Colours
/// are hashes; with this the result does not rest on them.
bool canonical(const Problem& problem, const Partition& partition, const std::vector<Rate>& rates) {
  const std::vector<Level> levels = link_levels(problem, partition, rates);
  for (std::size_t f = 0; f < problem.flows(); ++f) {
    Level lowest = flow::kUnbounded;
    for (const LinkId link : problem.path(f)) lowest = std::min(lowest, levels[link]);
    if (lowest != rates[partition.flow_class[f]].value) return false;
  }
  return true;
}

FlowClasses solve_all(const Problem& problem) {
  WaterFill fill;
  FlowClasses result;
  for (const Rate capacity : problem.capacities) fill.add_link(capacity.value);
  for (std::size_t f = 0; f < problem.flows(); ++f) {
    if (problem.path(f).empty()) continue;
    fill.add_flow(kWhole);
    for (const LinkId link : problem.path(f)) fill.add_use(link, 1);
  }
  fill.solve();
  std::uint32_t variable = 0;
  for (std::uint32_t f = 0; f < problem.flows(); ++f) {
    result.flow_class.push_back(f);
    result.class_rate.push_back(
        {problem.path(f).empty() ? Time::max().ps : fill.level(variable++)});
  }
  result.link_classes = static_cast<std::uint32_t>(problem.capacities.size());
  return result;
}

}  // namespace

FlowClasses flow::solve_partition(const Problem& problem, Partition partition) {
  FlowClasses result;
  result.class_rate = solve_quotient(problem, partition);
  if (!canonical(problem, partition, result.class_rate)) return solve_all(problem);
  result.flow_class = std::move(partition.flow_class);
  result.link_classes = partition.link_classes;
  return result;
}

FlowClasses solve_classes(std::span<const Rate> capacities, std::span<const std::uint32_t> offsets,
                          std::span<const LinkId> links) {
  const Problem problem{capacities, offsets, links};
  return flow::solve_partition(problem, refine(problem));
}

}  // namespace flopcast
