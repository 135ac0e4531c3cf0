// The partitions of a mapping, a row each.
#include <fmt/format.h>

#include "base/text/format.h"
#include "flopcast/report/mapping.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string kernel_names(const DataflowGraph& graph, const MappedPartition& partition) {
  std::string names;
  for (const std::uint32_t kernel : partition.kernels) {
    names += (names.empty() ? "" : " ") + graph.kernels[kernel].name;
  }
  return names;
}

}  // namespace

std::string mapping_csv(const MappingReport& report) {
  std::vector<Table::Column> titles;
  for (const char* title :
       {"workload",   "system",     "tp",        "pp",        "dp",         "microbatch",
        "tile",       "step_s",     "partition", "pass",      "time_s",     "compute_s",
        "memory_s",   "network_s",  "limit",     "work_flop", "sram_bytes", "dram_bytes",
        "wire_bytes", "live_bytes", "kernels"}) {
    titles.push_back({title});
  }
  Table table(titles);
  const Mapping& m = report.mapping;
  for (std::size_t i = 0; i < m.partitions.size(); ++i) {
    const MappedPartition& p = m.partitions[i];
    table.add({report.request.workload.graph.name,
               report.request.system.name,
               fmt::format("{}", m.shape.tp()),
               fmt::format("{}", m.shape.pp()),
               fmt::format("{}", m.shape.dp()),
               fmt::format("{}", m.microbatch),
               fmt::format("{}", m.tile),
               exact_number(m.step.value),
               fmt::format("{}", i),
               p.backward ? "backward" : "forward",
               exact_number(p.time.value),
               exact_number(p.compute.value),
               exact_number(p.memory.value),
               exact_number(p.network.value),
               std::string(name(p.limit)),
               exact_number(p.work.value),
               exact_number(p.sram.value),
               exact_number(p.dram.value),
               exact_number(p.wire.value),
               exact_number(p.live.value),
               kernel_names(report.request.workload.graph, p)});
  }
  return table.csv();
}

}  // namespace flopcast
