#include "analytic/step/dynamic_memory.h"

#include <algorithm>

#include "analytic/allocator/step_replay.h"
#include "analytic/step/plan_costs.h"

namespace flopcast::analytic {
namespace {

/// Layers of a kind that are played, and microbatches in flight: more of them keep more, but work and leave holes as these do
/// (StepReplay.TwoLayersAreLikeMany).
constexpr std::uint32_t kLayersPlayed = 2;
constexpr unsigned kFlyingPlayed = 2;

ChipTape tape_of(const ExecutionCost& cost, const ChipHeld& held,
                 const std::vector<std::uint32_t>& layers) {
  ChipTape tape;
  if (held.first) tape.embedding = &cost.embedding.tensors;
  if (held.last) tape.head = &cost.head.tensors;
  for (std::uint32_t round = 0; round < kLayersPlayed; ++round) {
    for (std::size_t kind = 0; kind < layers.size(); ++kind) {
      if (round < layers[kind]) tape.layers.push_back(&cost.layers[kind].tensors);
    }
  }
  tape.boundary = static_cast<std::int64_t>(cost.boundary.value);
  return tape;
}

/// Activations that `play` keeps at its fullest, as they are counted for a stage.
double kept_by(const ExecutionCost& cost, const ChipHeld& held,
               const std::vector<std::uint32_t>& layers, const StepPlay& play) {
  double layer_bytes = 0, end_bytes = 0;
  for (std::size_t kind = 0; kind < layers.size(); ++kind) {
    layer_bytes += layers[kind] * cost.layers[kind].saved_bytes;
  }
  if (held.first) end_bytes += cost.embedding.saved_bytes;
  if (held.last) end_bytes += cost.head.saved_bytes;
  return play.in_flight * layer_bytes + (play.ends_fly ? play.in_flight : 1) * end_bytes;
}

std::int64_t weights_of(const ChipTape& tape) {
  std::int64_t bytes = 0;
  for (const ListTensors* list : tape.layers) bytes += list->weight_bytes;
  for (const ListTensors* end : {tape.embedding, tape.head}) {
    if (end != nullptr) bytes += end->weight_bytes;
  }
  return bytes;
}

}  // namespace

std::size_t DynamicMemory::Hash::operator()(const Key& key) const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.cost);
  const auto add = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 31;
  };
  add(key.flags);
  for (const std::uint32_t count : key.layers) add(count);
  return hash;
}

DynamicPeak DynamicMemory::peak(const ExecutionCost& cost, const ChipHeld& held, const Plan& plan,
                                unsigned in_flight, const Constants& constants) {
  return answer(played_, true, cost, held, plan, in_flight, constants);
}

DynamicPeak DynamicMemory::counted(const ExecutionCost& cost, const ChipHeld& held,
                                   const Plan& plan, unsigned in_flight,
                                   const Constants& constants) {
  return answer(counted_, false, cost, held, plan, in_flight, constants);
}

DynamicPeak DynamicMemory::answer(Known& all, bool played, const ExecutionCost& cost,
                                  const ChipHeld& held, const Plan& plan, unsigned in_flight,
                                  const Constants& constants) {
  const double element = bytes_per_element(activation_type(plan.precision));
  StepPlay play;
  play.in_flight = std::min(in_flight, kFlyingPlayed);
  play.ends_fly = plan.vpp == 1;
  play.expandable = constants.expandable > 0;
  play.sharded = plan.zero == Zero::kWeights;
  play.reshard = plan.reshard;
  play.reduced_bytes = reduced_gradient(plan).bytes;
  const bool wide = play.reduced_bytes > element;
  const std::uint32_t sharding =
      !play.sharded ? 0U : 8U | (play.reshard ? 16U : 0U) | (wide ? 32U : 0U);
  Key key{&cost,
          play.in_flight | (play.ends_fly ? 4U : 0U) | sharding | (held.first ? 64U : 0U) |
              (held.last ? 128U : 0U),
          held.layers};
  for (std::uint32_t& count : key.layers) count = std::min(count, kLayersPlayed);
  // Weights that stay gathered: all of the chip's, of which some are played.
  const bool whole = play.sharded && !play.reshard;
  auto known = all.find(key);
  if (known == all.end()) {
    const ChipTape tape = tape_of(cost, held, key.layers);
    const StepPeak peak = played ? replay_step(tape, play) : StepPeak{count_step(tape, play), 0};
    const double kept = kept_by(cost, held, key.layers, play);
    const double working = std::max(static_cast<double>(peak.allocated) - kept, 0.0);
    DynamicPeak found{working, std::max(static_cast<double>(peak.reserved) - kept - working, 0.0)};
    if (whole) found.working -= static_cast<double>(weights_of(tape));
    known = all.emplace(std::move(key), found).first;
  }
  DynamicPeak peak = known->second;
  if (whole)
    peak.working += element * static_cast<double>(held.weights.dense + held.weights.expert);
  return peak;
}

}  // namespace flopcast::analytic
