#include "serving/schedule/rules.h"

namespace flopcast::serving {

void plan(Rank& rank, Lane& lane) {
  switch (rank.terms->settings.engine) {
    case ServingEngine::kVllm:
      return plan_vllm(rank, lane);
    case ServingEngine::kSglang:
      return plan_sglang(rank, lane);
    case ServingEngine::kTensorRtLlm:
      return plan_trtllm(rank, lane);
  }
}

}  // namespace flopcast::serving
