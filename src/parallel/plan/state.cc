// What a chip keeps for its weights, and what it sends to keep replicas equal.
#include "flopcast/parallel.h"

#include <algorithm>

namespace flopcast {
namespace {

bool is_32_bit(Precision precision) { return activation_type(precision) == DataType::kFp32; }

/// Chips over which dense weights are replicated; SUMMA's grid holds each weight once.
unsigned dense_replicas(const Plan& plan) {
  return plan.dp * plan.cp * (plan.tensor == TensorKind::kTwoD ? plan.tp2 : 1);
}

struct Shards {
  double weights = 1, gradients = 1, optimizer = 1;
};

Shards shards(const Plan& plan, unsigned replicas) {
  const unsigned group = plan.shard == 0 ? replicas : std::min(plan.shard, replicas);
  const double parts = std::max(1u, group);
  return {plan.zero >= Zero::kWeights ? parts : 1, plan.zero >= Zero::kGradients ? parts : 1,
          plan.zero >= Zero::kOptimizer ? parts : 1};
}

/// Bytes of one weight while it is used, of its gradient, and of the optimiser's view of it.
struct PerWeight {
  double weight = 2, gradient = 4, optimizer = 12;
};

PerWeight per_weight(const Plan& plan) {
  PerWeight bytes;
  const double narrow = is_32_bit(plan.precision) ? 4 : 2;
  const bool master = narrow == 2 && plan.fp32_master;
  const double moment = master || narrow == 4 ? 4 : 2;
  const double moments = plan.optimizer == OptimizerKind::kAdam ? 2 : 1;
  const double kept = plan.moment_bytes > 0 ? plan.moment_bytes : moments * moment;
  const double master_bytes = plan.split_master && plan.zero != Zero::kWeights ? 2 : 4;
  bytes.gradient = plan.fp32_gradients ? 4 : narrow;
  bytes.weight = narrow;
  bytes.optimizer = kept + (master ? master_bytes : 0);
  if (plan.zero == Zero::kWeights && master && plan.fp32_gradients) {
    // FSDP: the shards are the fp32 master, and gradients have their type; 16-bit copies live as
    // long as a layer runs. DeepSpeed keeps 16-bit shards and gradients beside the master.
    bytes.weight = 4;
    bytes.optimizer -= 4;
  }
  return bytes;
}

void add_transfers(WeightTransfers& all, const Plan& plan, Group group, unsigned replicas,
                   double weights, double trainable) {
  if (replicas <= 1) return;
  const double narrow = is_32_bit(plan.precision) ? 4 : 2;
  const DataType weight_type = activation_type(plan.precision);
  const ReducedGradient reduced = reduced_gradient(plan);
  // Weights that linear layers multiply in 8 bits with one scale may be gathered so (FSDP's float8
  // all-gather, --fp8-param-gather).
  const double gathered_byte = plan.precision == Precision::kFp8 && plan.fp8_gather ? 1 : narrow;
  const Bytes gradient{reduced.bytes * trainable};
  const bool hybrid = plan.shard > 0 && plan.shard < replicas && plan.zero != Zero::kNone;
  const Group shard = hybrid ? Group::kShard : group;
  if (plan.zero == Zero::kNone) {
    if (trainable > 0) {
      all.after_backward.push_back({CollectiveOp::kAllReduce, group, gradient, reduced.type});
    }
    return;
  }
  // Frozen weights stay gathered unless they are sharded themselves.
  const double gathered = plan.zero == Zero::kWeights ? weights : trainable;
  if (gathered > 0) {
    const Transfer gather{CollectiveOp::kAllGather, shard, Bytes{gathered_byte * gathered},
                          weight_type};
    all.before_forward.push_back(gather);
    if (plan.zero == Zero::kWeights && plan.reshard) all.before_backward.push_back(gather);
  }
  if (trainable == 0) return;
  all.after_backward.push_back({CollectiveOp::kReduceScatter, shard, gradient, reduced.type});
  if (hybrid) {
    all.after_backward.push_back({CollectiveOp::kAllReduce, Group::kReplica,
                                  gradient / static_cast<double>(plan.shard), reduced.type});
  }
}

}  // namespace

ReducedGradient reduced_gradient(const Plan& plan) {
  constexpr double kWide = 4, kNarrow = 2;
  switch (plan.gradient_type) {
    case GradientType::kFp32:
      return {kWide, DataType::kFp32};
    case GradientType::kBf16:
      return {kNarrow, DataType::kBf16};
    case GradientType::kFp16:
      return {kNarrow, DataType::kFp16};
    case GradientType::kSummed:
      break;
  }
  const double bytes = per_weight(plan).gradient;
  return {bytes, bytes == kWide ? DataType::kFp32 : activation_type(plan.precision)};
}

ChipWeights chip_weights(const OperatorList& operators) {
  ChipWeights weights;
  for (const Operator& op : operators.operators) {
    (op.expert ? weights.expert : weights.dense) += op.weights;
    (op.expert ? weights.expert_trainable : weights.dense_trainable) += op.trainable;
  }
  return weights;
}

StateBytes state_bytes(const Plan& plan, const ChipWeights& weights) {
  const PerWeight bytes = per_weight(plan);
  StateBytes state;
  const double on_chip = 1 - plan.offload / 100.0;
  const auto add = [&](std::int64_t all, std::int64_t trainable, const Shards& parts) {
    state.weights += Bytes{bytes.weight * static_cast<double>(all) / parts.weights};
    state.gradients += Bytes{bytes.gradient * static_cast<double>(trainable) / parts.gradients};
    state.optimizer +=
        Bytes{bytes.optimizer * on_chip * static_cast<double>(trainable) / parts.optimizer};
    if (plan.gathers_once() && plan.microbatches() > 1) {
      state.gradients += Bytes{4 * static_cast<double>(trainable)};
    }
    if (plan.passes_a_reduction() > 1) {
      // Whole: of the virtual stage that is added up, and of the one before it, on its way.
      state.gradients += Bytes{bytes.gradient * static_cast<double>(trainable) * 2 / plan.vpp};
    }
  };
  add(weights.dense, weights.dense_trainable, shards(plan, dense_replicas(plan)));
  add(weights.expert, weights.expert_trainable, shards(plan, plan.expert_dp()));
  return state;
}

OptimizerTraffic optimizer_traffic(const Plan& plan, const ChipWeights& weights) {
  const PerWeight bytes = per_weight(plan);
  OptimizerTraffic traffic;
  const auto add = [&](std::int64_t trainable, const Shards& parts) {
    const double all = static_cast<double>(trainable) / parts.optimizer;
    const double hosted = all * plan.offload / 100, own = all - hosted;
    traffic.hosted += hosted;
    traffic.to_host += Bytes{hosted * (bytes.gradient + bytes.weight)};
    traffic.read += Bytes{own * (bytes.optimizer + 2 * bytes.gradient)};
    traffic.written += Bytes{own * (bytes.optimizer + bytes.weight)};
  };
  add(weights.dense_trainable, shards(plan, dense_replicas(plan)));
  add(weights.expert_trainable, shards(plan, plan.expert_dp()));
  return traffic;
}

OptimizerTraffic accumulation_traffic(const Plan& plan, const ChipWeights& weights) {
  const PerWeight bytes = per_weight(plan);
  const double narrow = is_32_bit(plan.precision) ? 4 : 2;
  OptimizerTraffic traffic;
  // The first microbatch's gradients are the sum where they have its type.
  if (plan.microbatches() <= 1 && bytes.gradient == narrow) return traffic;
  const auto add = [&](std::int64_t trainable, const Shards& parts) {
    const double own = static_cast<double>(trainable) / parts.gradients;
    traffic.read += Bytes{own * (narrow + bytes.gradient)};
    traffic.written += Bytes{own * bytes.gradient};
  };
  add(weights.dense_trainable, shards(plan, dense_replicas(plan)));
  add(weights.expert_trainable, shards(plan, plan.expert_dp()));
  return traffic;
}

WeightTransfers weight_transfers(const Plan& plan, const ChipWeights& weights) {
  WeightTransfers all;
  add_transfers(all, plan, Group::kData, dense_replicas(plan), static_cast<double>(weights.dense),
                static_cast<double>(weights.dense_trainable));
  if (weights.expert > 0) {
    add_transfers(all, plan, Group::kExpertData, plan.expert_dp(),
                  static_cast<double>(weights.expert),
                  static_cast<double>(weights.expert_trainable));
  }
  return all;
}

}  // namespace flopcast
