#include "mapping/search/check_answer.h"

#include <algorithm>

#include "base/numeric/answer_check.h"

namespace flopcast::mapping {
namespace {

void check_partition(AnswerCheck& check, const MappedPartition& partition) {
  check.amount("compute", partition.compute.value);
  check.amount("memory", partition.memory.value);
  check.amount("network", partition.network.value);
  check.amount("a partition", partition.time.value);
  const Seconds longest = std::max({partition.compute, partition.memory, partition.network});
  check.at_least("a partition", partition.time.value, "its slowest resource", longest.value);
  check.amount("work", partition.work.value);
  for (const Bytes bytes : {partition.sram, partition.dram, partition.wire, partition.live}) {
    check.amount("a partition's bytes", bytes);
  }
}

}  // namespace

/// No clock holds these times: a published study has steps of months.
std::optional<Diagnostic> check_answer(const Mapping& mapping) {
  AnswerCheck check("the mapping");
  for (const Seconds time : {mapping.layer, mapping.stage, mapping.send, mapping.gradients,
                             mapping.optimizer, mapping.step, mapping.bound}) {
    check.amount("a time", time.value);
  }
  check.at_least("step", mapping.step.value, "its bound", mapping.bound.value);
  check.at_least("bubble", mapping.bubble, "a full pipeline's", 1);
  check.share("utilisation", mapping.utilisation);
  const MappingMemory& m = mapping.memory;
  for (const Bytes bytes : {m.weights, m.gradients, m.optimizer, m.activations, m.live}) {
    check.amount("memory", bytes);
  }
  for (const MappedPartition& partition : mapping.partitions) check_partition(check, partition);
  check.amount("price", mapping.price_usd);
  check.amount("power", mapping.power_w);
  check.amount("samples per second", mapping.samples_per_second);
  return check.problem();
}

}  // namespace flopcast::mapping
