// A mapping for a terminal: the answer and its proof, what each dimension of the network does, the
// partitions, where the step goes, what fills the memory, the three roofs, what it rests on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/report/mapping.h"
#include "report/mapping/words.h"
#include "report/render/bar.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr unsigned kBarWidth = 24;
constexpr std::size_t kLineWidth = 80;

std::string bytes_text(Bytes bytes) { return short_bytes(bytes); }
std::string rate_text(FlopsPerSecond rate) {
  return quantity_text(rate.value, UnitKind::kFlopsPerSecond);
}
std::string whole(std::int64_t count) { return grouped(static_cast<std::uint64_t>(count)); }

std::string overlap_words(MappingOverlap overlap) {
  switch (overlap) {
    case MappingOverlap::kPerfect:
      return "compute, memory and network overlap";
    case MappingOverlap::kComputeMemory:
      return "compute and memory overlap, the network does not";
    case MappingOverlap::kNone:
      return "nothing overlaps";
  }
  return {};
}

std::string head_text(const MappingReport& r) {
  const DataflowWorkload& workload = r.request.workload;
  const MappingModel& model = r.request.model;
  const std::string rate = model.utilisation > 0
                               ? fmt::format("{} of the peak", percent(model.utilisation))
                               : "cycles of the tiles";
  return fmt::format("{} on {}: {}, {} of tensors; {}, {} a step\n  model  {}: {}; {}\n",
                     workload.graph.name, r.request.system.name,
                     counted(workload.graph.kernels.size(), "kernel"),
                     counted(workload.graph.uses(), "use"),
                     counted(static_cast<std::uint64_t>(workload.layers), "layer"),
                     counted(static_cast<std::uint64_t>(workload.global_batch), "sample"),
                     model.name, rate, overlap_words(model.overlap));
}

std::string answer_text(const Mapping& m) {
  return fmt::format("Step {}: {}\n  {:.4g} samples/s, utilisation {}\n", time_words(m.step),
                     proof_words(m), m.samples_per_second, percent(m.utilisation));
}

std::string shape_text(const MappingReport& r) {
  const Mapping& m = r.mapping;
  std::string text = fmt::format(
      "  {}; microbatch {} ({} of them a step), tile of {}, {} a stage\n", shape_words(m.shape),
      m.microbatch, whole(m.microbatches), counted(static_cast<std::uint64_t>(m.tile), "token"),
      counted(static_cast<std::uint64_t>(m.layers_per_stage), "layer"));
  Table table({{"network dimension", Align::kLeft},
               {"chips"},
               {"bandwidth"},
               {"latency"},
               {"TP"},
               {"PP"},
               {"DP"}});
  for (std::size_t d = 0; d < r.request.system.dimensions.size(); ++d) {
    const NetworkDimension& dimension = r.request.system.dimensions[d];
    std::vector<std::string> row = {fmt::format("{}: {}", d, name(dimension.kind)),
                                    fmt::format("{}", dimension.size),
                                    short_rate(dimension.bandwidth), time_words(dimension.latency)};
    for (std::size_t p = 0; p < kParallelisms; ++p) {
      row.push_back(d < m.shape.factors.size() ? fmt::format("{}", m.shape.factors[d][p]) : "-");
    }
    table.add(std::move(row));
  }
  return text + table.text();
}

/// Words that do not fit a line go on below, indented.
std::string wrapped(std::string_view head, const std::vector<std::string>& words) {
  std::string text, line(head);
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > kLineWidth) {
      text += line + '\n';
      line = std::string(head.size(), ' ');
    }
    line += ' ' + word;
  }
  return text + line + '\n';
}

std::string kernels_text(const MappingReport& r) {
  std::string text;
  for (std::size_t i = 0; i < r.mapping.partitions.size(); ++i) {
    std::vector<std::string> names;
    for (const std::uint32_t kernel : r.mapping.partitions[i].kernels) {
      names.push_back(r.request.workload.graph.kernels[kernel].name);
    }
    text += wrapped(fmt::format("  {:>3}:", i), names);
  }
  return text;
}

std::string partitions_text(const MappingReport& r) {
  const Mapping& m = r.mapping;
  Table table({{"partition"},
               {"pass", Align::kLeft},
               {"kernels"},
               {"compute"},
               {"memory"},
               {"network"},
               {"time"},
               {"limit", Align::kLeft},
               {"SRAM"},
               {"of it"},
               {"DRAM traffic"}});
  for (std::size_t i = 0; i < m.partitions.size(); ++i) {
    const MappedPartition& p = m.partitions[i];
    const double sram = r.request.system.sram.value;
    // What runs kernel by kernel streams through its SRAM: it is no limit.
    const bool limited = sram > 0 && !r.request.system.kernel_by_kernel;
    table.add({fmt::format("{}", i), p.backward ? "backward" : "forward",
               fmt::format("{}", p.kernels.size()), time_words(p.compute), time_words(p.memory),
               time_words(p.network), time_words(p.time), std::string(name(p.limit)),
               bytes_text(p.sram), limited ? percent(p.sram.value / sram) : "-",
               bytes_text(p.dram)});
  }
  std::string text = "Partitions: one microbatch through one layer\n" + table.text();
  std::vector<std::string> limits;
  for (const auto& [limit, share] : ranked_limits(m)) {
    limits.push_back(fmt::format("{} by {}", percent(share), name(limit)));
  }
  text += fmt::format("  {} a layer, limited {}\n", time_words(m.layer), fmt::join(limits, ", "));
  return text + kernels_text(r);
}

std::string step_text(const MappingReport& r) {
  const Mapping& m = r.mapping;
  Table table({{"where the step goes", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}});
  const Seconds full = m.stage * static_cast<double>(m.microbatches);
  const Seconds ends = m.send + m.gradients + m.optimizer;
  const Seconds bubble = std::max(m.step - full - ends, Seconds{});
  double most = 0;
  const std::pair<const char*, Seconds> parts[] = {
      {"stages at work", m.step - ends - bubble},
      {"pipeline fills and drains", bubble},
      {"sends between stages", m.send},
      {"gradients, not hidden", m.gradients},
      {"optimiser", m.optimizer},
  };
  for (const auto& [name, time] : parts) most = std::max(most, time.value);
  for (const auto& [name, time] : parts) {
    if (time.value <= 1e-9 * m.step.value) continue;  // rounding of the sum
    table.add({name, time_words(time), percent(time / m.step), bar(time.value / most, kBarWidth)});
  }
  return fmt::format("Step: {} x {} through a stage of {}\n", whole(m.microbatches),
                     time_words(m.stage),
                     counted(static_cast<std::uint64_t>(m.layers_per_stage), "layer")) +
         table.text();
}

std::string memory_text(const MappingReport& r) {
  const MappingMemory& memory = r.mapping.memory;
  const Bytes capacity = r.request.system.memory_capacity;
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : memory_parts(memory)) {
    if (bytes.value > 0) parts.push_back(fmt::format("{} {}", name, bytes_text(bytes)));
  }
  return fmt::format("Memory of the fullest chip: {} of {}\n  {}\n", bytes_text(memory.total()),
                     capacity.value > 0 ? bytes_text(capacity) : "any size",
                     fmt::join(parts, ", "));
}

/// A roof: what the bandwidth allows at this intensity, against the peak.
std::string roof_line(std::string_view what, BytesPerSecond bandwidth, double intensity,
                      FlopsPerSecond peak) {
  if (!(intensity > 0) || !(bandwidth.value > 0)) {
    return fmt::format("  {:<8} nothing is moved\n", what);
  }
  const FlopsPerSecond roof{bandwidth.value * intensity};
  return fmt::format("  {:<8} {} at {} FLOP a byte: {}\n", what, rate_text(roof),
                     grouped_whole(intensity),
                     roof < peak ? fmt::format("below the peak: {} of it", percent(roof / peak))
                                 : fmt::format("{:.1f} times the peak", roof / peak));
}

std::string roofline_text(const MappingRoofline& r) {
  return fmt::format("Roofline of a chip: {} of {}, {}\n", rate_text(r.achieved), rate_text(r.peak),
                     percent(r.peak.value > 0 ? r.achieved / r.peak : 0)) +
         roof_line("memory", r.memory_bandwidth, r.memory_intensity, r.peak) +
         roof_line("network", r.network_bandwidth, r.network_intensity, r.peak);
}

std::string cost_text(const Mapping& m) {
  if (m.price_usd <= 0 && m.power_w <= 0) return {};
  const std::string price = m.price_usd > 0 ? grouped_whole(m.price_usd) + " USD" : "price unknown";
  const std::string power =
      m.power_w > 0 ? quantity_text(std::round(m.power_w), UnitKind::kWatts) : "power unknown";
  return fmt::format("System: {}, {}\n", price, power);
}

std::string fact_text(const Fact& fact) {
  for (const UnitKind kind : {UnitKind::kBytes, UnitKind::kBytesPerSecond, UnitKind::kSeconds,
                              UnitKind::kFlopsPerSecond, UnitKind::kWatts, UnitKind::kDollars}) {
    if (unit_name(kind) == fact.unit) return quantity_text(fact.value, kind);
  }
  return fmt::format("{:.6g} {}", fact.value, fact.unit);
}

std::string rests_text(const MappingReport& r) {
  std::string text = fmt::format("Rests on: {}\n", name(r.mapping.basis));
  Table table({{"", Align::kLeft}, {""}, {"", Align::kLeft}, {"", Align::kLeft}});
  for (const Fact& fact : r.request.system.facts) {
    table.add({fact.key, fact_text(fact), std::string(name(fact.basis)), fact.source});
  }
  if (!table.empty()) {
    const std::string rows = table.text();
    text += rows.substr(rows.find('\n') + 1);  // a line of empty titles
  }
  std::vector<std::string> absent;
  for (const ModelSwitch& choice : model_switches()) {
    if (choice.counts && !(r.request.model.*choice.field)) absent.emplace_back(choice.name);
  }
  if (!absent.empty()) text += wrapped("  not in this model:", absent);
  for (const std::string& assumed : r.request.workload.assumed) {
    text += wrapped("  assumed:", {assumed});
  }
  return text;
}

std::string search_text(const MappingCounts& c) {
  return fmt::format(
      "Searched {} with {}: {} left out by bounds, {} too big; "
      "{} ideals, {} transitions\n",
      counted(c.shapes, "shape"), counted(c.candidates, "candidate"), grouped(c.bounded),
      grouped(c.unfit), grouped(c.ideals), grouped(c.transitions));
}

}  // namespace

std::string mapping_text(const MappingReport& report) {
  const Mapping& m = report.mapping;
  std::string text = head_text(report) + '\n' + answer_text(m) + shape_text(report) + '\n';
  text += partitions_text(report) + '\n' + step_text(report) + '\n';
  text += memory_text(report) + roofline_text(m.roofline) + cost_text(m) + '\n';
  return text + rests_text(report) + search_text(m.counts);
}

}  // namespace flopcast
