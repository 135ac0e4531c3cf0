// What each engine puts into an iteration. One function a rule book; all of them plan one batch of one rank and leave in
// Rank::closed and Rank::alike for how long the plan stays as it is.
#pragma once

#include <cstddef>
#include <span>

#include "serving/schedule/rank.h"

namespace flopcast::serving {

/// vLLM V1.
void plan_vllm(Rank& rank, Lane& lane);
/// SGLang.
void plan_sglang(Rank& rank, Lane& lane);
/// TensorRT-LLM.
void plan_trtllm(Rank& rank, Lane& lane);
/// TensorRT-LLM: whether ranks hold their contexts back until all have some; before they plan.
void balance(std::span<Rank> ranks, std::size_t lane);
/// Of the rank's engine. Requests to plan with have been seen. Replaces the lane's plan.
void plan(Rank& rank, Lane& lane);
/// Plans alike follow `count` times: what the rules count goes on.
void plans_alike(Rank& rank, std::int64_t count);

}  // namespace flopcast::serving
