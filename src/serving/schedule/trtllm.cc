#include "serving/schedule/rules.h"

namespace flopcast::serving {

void plan_trtllm(Rank& rank, Lane& lane) { plan_vllm(rank, lane); }

}  // namespace flopcast::serving
