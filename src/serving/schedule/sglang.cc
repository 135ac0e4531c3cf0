#include "serving/schedule/rules.h"

namespace flopcast::serving {

void plan_sglang(Rank& rank, Lane& lane) { plan_vllm(rank, lane); }

void plans_alike(Rank& rank, std::int64_t count) {
  (void)rank;
  (void)count;
}

}  // namespace flopcast::serving
