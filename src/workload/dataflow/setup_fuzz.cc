// Any bytes are a setup of DFModel with a sound graph, or one error in words.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/workload/dataflow.h"
#include "support/fuzz_target.h"

using flopcast::test::check;

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto setup = flopcast::parse_dfmodel_setup(text, "input");
  if (!setup) {
    check(!setup.error().what.empty() && !setup.error().where.empty());
    return 0;
  }
  const flopcast::DataflowWorkload& workload = setup->workload;
  check(flopcast::check_dataflow(workload.graph).ok());
  check(setup->pins.size() == workload.graph.kernels.size());
  check(workload.layers >= 1 && workload.global_batch >= 1 && workload.word >= 1);
  check(setup->dimensions.size() <= 3);
  return 0;
}
