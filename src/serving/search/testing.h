// Small searches that the tests of this folder share.
#pragma once

#include <gtest/gtest.h>

#include "flopcast/serving/search.h"

namespace flopcast::serving {

/// Llama-3-8B on one node of H100, so many requests a second for a while.
inline FleetSearch small_search(double rate = 6, std::int64_t count = 60) {
  FleetSearch search;
  search.model = *load_model("llama-3-8b");
  search.cluster = *Catalog::builtin().cluster("dgx-h100");
  search.workload.kind = ServingWorkload::Kind::kRate;
  search.workload.rate = rate;
  search.workload.count = count;
  search.workload.input = 1024;
  search.workload.output = 64;
  search.workload.spread = 0.5;
  search.space.engines = {ServingEngine::kVllm};
  search.space.precisions = {"bf16"};
  search.space.batch_tokens = {2048};
  search.space.most_chips = 4;
  search.threads = 1;
  return search;
}

inline void limit_to(FleetSearch& search, std::string_view text) {
  search.limits = *parse_service_limits(text);
}

}  // namespace flopcast::serving
