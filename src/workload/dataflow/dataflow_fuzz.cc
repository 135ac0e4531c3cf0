// Any bytes are a dataflow workload that survives being written, or one error in words.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/workload/dataflow.h"
#include "support/fuzz_target.h"
#include "workload/dataflow/links.h"

using flopcast::test::check;

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto workload = flopcast::parse_dataflow(text, "input");
  if (!workload) {
    check(!workload.error().what.empty() && !workload.error().where.empty());
    return 0;
  }
  const flopcast::DataflowGraph& graph = workload->graph;
  const flopcast::workload::dataflow::Links links(graph);
  check(flopcast::workload::dataflow::order(links).size() == graph.kernels.size());
  check(flopcast::kernel_levels(graph).size() == graph.kernels.size());
  check(flopcast::at_microbatch(graph, 3).uses() == graph.uses());
  check(flopcast::unroll(graph, 2).kernels.size() == 2 * graph.kernels.size());
  const auto again = flopcast::parse_dataflow(flopcast::dataflow_toml(*workload), "again");
  // What was left open is written out.
  auto told = *workload;
  told.assumed.clear();
  check(again.ok() && *again == told);
  return 0;
}
