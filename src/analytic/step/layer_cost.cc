#include "analytic/step/layer_cost.h"

#include <algorithm>

namespace flopcast::analytic {
namespace {

bool is_narrow(GemmType type) {
  switch (type) {
    case GemmType::kFp32:
    case GemmType::kTf32:
    case GemmType::kBf16:
    case GemmType::kFp16:
      return false;
    default:
      return true;
  }
}

/// Operands in 16 bits are read 16 bytes at a time where every row starts at a multiple of them;
/// else in pieces (NVIDIA, Matrix Multiplication Background: multiples of 8 elements).
bool is_aligned(const Gemm& gemm) {
  constexpr std::int64_t kElements = 8;
  return gemm.k % kElements == 0 && gemm.n % kElements == 0;
}

/// Rate of a GEMM in training over that of the table of kernels.
double matrix_rate(GemmType type, const Pricing& p) {
  const Constants& c = p.constants;
  if (!is_narrow(type)) return c.matrix_share;
  if (type == GemmType::kNvfp4) return c.fp4_share;
  const bool blocks = type == GemmType::kFp8Block || p.precision == Precision::kMxfp8;
  return blocks ? c.narrow_share * c.block_share : c.narrow_share;
}

/// Kernels that a product of one expert is launched as where nothing groups them: the product; copies of its
/// operands in 8 bits by a scale of their own; by blocks, along both dimensions, and the scales as tensor cores
/// want them.
double launches_of_expert(Precision precision) {
  const bool narrow = precision >= Precision::kFp8;
  const bool whole = precision == Precision::kFp8 || precision == Precision::kInt8;
  constexpr double kProduct = 1, kCopy = 2, kBlocks = 4;
  return !narrow ? kProduct : whole ? kCopy : kBlocks;
}

/// Whether every pass over the values is listed: fused, a rotation reads them once.
bool is_listed_by_passes(const MemoryBound& kernel) {
  const double once = static_cast<double>(kernel.rows) * static_cast<double>(kernel.columns) *
                      bytes_per_element(kernel.type);
  return kernel.op == MemoryOp::kRope && kernel.read.value > once;
}

/// Attention in 8 bits, where software has it: cuDNN's backward takes as long as without a window (9.21 to 9.27;
/// NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training: 1.87 ms on a GB300 where 16 bits take 0.44).
Kernel as_it_runs(const Kernel& kernel, const Pricing& p) {
  const Attention* attention = std::get_if<Attention>(&kernel);
  const bool whole = attention != nullptr && attention->backward &&
                     p.precision == Precision::kMxfp8 && p.constants.whole_windows > 0;
  if (!whole) return kernel;
  Attention all = *attention;
  all.window = 0;
  return all;
}

struct Priced {
  double seconds = 0;
  double host_s = 0;  ///< of its launches
  double PassCost::*part = nullptr;
  Basis basis = Basis::kAssumed;
};

/// Low-precision GEMMs are measured with the copy of their input made on the way, by kernels slower than those
/// of training, where the kernel before makes it (or one of its own, which the operators list). A product with
/// few columns is nearly all copy: what it takes longer than reading its input once in 8 bits, which is half of
/// what 16 bits take. No product is faster than its operands are narrower than 16 bits.
double without_copy(const Gemm& gemm, double seconds, const Pricing& p) {
  constexpr std::int64_t kFew = 128;
  constexpr double kNarrower = 0.5;
  const auto time = [&](GemmType type, std::int64_t columns) {
    Gemm other = gemm;
    other.type = type;
    other.n = columns;
    return p.kernels.time(other).seconds;
  };
  const std::int64_t few = std::min(gemm.n, kFew);
  const double copy = time(gemm.type, few) - kNarrower * time(GemmType::kBf16, few);
  const double least =
      kNarrower * (gemm.type == GemmType::kNvfp4 ? kNarrower : 1) * time(GemmType::kBf16, gemm.n);
  return std::min(seconds, std::max(seconds - std::max(copy, 0.0), least));
}

Priced price_kernel(const Kernel& listed, bool expert, const Pricing& p) {
  const Constants& c = p.constants;
  const Kernel kernel = as_it_runs(listed, p);
  const KernelTimes::Answer time = p.kernels.time(kernel);
  Priced priced{time.seconds, c.launch_s, &PassCost::matrix_s, time.basis};
  if (const Gemm* gemm = std::get_if<Gemm>(&kernel)) {
    if (is_narrow(gemm->type)) priced.seconds = without_copy(*gemm, priced.seconds, p);
    priced.seconds /= matrix_rate(gemm->type, p);
    if (!is_aligned(*gemm)) priced.seconds *= c.unaligned;
    if (expert) {
      if (gemm->batch > 1) priced.seconds /= c.expert_share;  // one alone is a product like others
      priced.seconds += c.expert_kernel_s * static_cast<double>(gemm->batch);
      priced.host_s +=
          c.expert_host_s * launches_of_expert(p.precision) * static_cast<double>(gemm->batch);
    }
  } else if (const Attention* attention = std::get_if<Attention>(&kernel)) {
    priced.part = &PassCost::attention_s;
    priced.seconds /= attention->backward ? c.attention_backward_share : c.attention_share;
  } else {
    priced.part = &PassCost::memory_s;
    const MemoryBound& moved = std::get<MemoryBound>(kernel);
    const bool sorts = moved.op == MemoryOp::kMoeDispatch || moved.op == MemoryOp::kMoeCombine;
    // What passes over all copies of a token is fused with the products it lies between.
    const bool whole = expert || is_listed_by_passes(moved);
    const double traffic = sorts ? c.expert_traffic : whole ? 1.0 : c.unfused;
    priced.seconds *= traffic / c.memory_share;
    const bool blocks = p.precision == Precision::kMxfp8 || p.precision == Precision::kNvfp4 ||
                        p.precision == Precision::kMxfp4;
    if (expert && !sorts && blocks) priced.seconds *= c.expert_eager;
  }
  return priced;
}

/// Appends one operator's pass; returns the time of its kernels.
double add_pass(const std::vector<OperatorStep>& steps, bool expert, const Pricing& pricing,
                PassCost& out) {
  double kernels = 0;
  const std::size_t first = out.sent.size();
  for (const OperatorStep& step : steps) {
    if (const Transfer* transfer = std::get_if<Transfer>(&step.what)) {
      out.sent.push_back({*transfer, step.count, step.overlappable, 0, 0});
      out.launches_s += pricing.constants.launch_transfer_s * step.count;
      continue;
    }
    const Priced priced = price_kernel(std::get<Kernel>(step.what), expert, pricing);
    const double seconds = priced.seconds * step.count;
    out.*(priced.part) += seconds;
    out.rests_on_s[static_cast<std::size_t>(priced.basis)] += seconds;
    out.launches_s += priced.host_s * step.count;
    if (expert) out.expert_launches_s += priced.host_s * step.count;
    kernels += seconds;
  }
  for (std::size_t i = first; i < out.sent.size(); ++i) out.sent[i].cover_s = kernels;
  return kernels;
}

/// The gradient of a column-cut layer's input is summed while its weights' gradient is computed, and
/// its input is gathered while the gradient of the input is (Megatron's asynchronous linear layer).
void cover_backward(const Operator& op, std::size_t first_input, double input_s,
                    std::size_t first_weight, double weight_s, ListCost& cost) {
  const bool leads_with_transfer = !op.backward_input.empty() &&
                                   std::holds_alternative<Transfer>(op.backward_input.front().what);
  for (std::size_t i = first_input; i < cost.backward_input.sent.size(); ++i) {
    if (!leads_with_transfer) cost.backward_input.sent[i].async_s = weight_s;
  }
  for (std::size_t i = first_weight; i < cost.backward_weight.sent.size(); ++i) {
    cost.backward_weight.sent[i].async_s = input_s;
  }
}

}  // namespace

ListCost keep(const OperatorList& list, const Execution& run, const Constants& constants) {
  ListCost cost;
  cost.weights = chip_weights(list);
  cost.saved_bytes = list.saved.value;
  cost.tensors = tensors_of(list, run, constants.logit_bytes);
  return cost;
}

void price(const OperatorList& list, const Pricing& pricing, ListCost& cost) {
  for (const Operator& op : list.operators) {
    add_pass(op.forward, op.expert, pricing, cost.forward);
    if (op.recomputed) add_pass(op.forward, op.expert, pricing, cost.recompute);
    const std::size_t first_input = cost.backward_input.sent.size();
    const double input_s = add_pass(op.backward_input, op.expert, pricing, cost.backward_input);
    const std::size_t first_weight = cost.backward_weight.sent.size();
    const double weight_s = add_pass(op.backward_weight, op.expert, pricing, cost.backward_weight);
    cover_backward(op, first_input, input_s, first_weight, weight_s, cost);
  }
  if (!pricing.cuda_graph) return;
  // Kernels of experts have sizes that the routing decides: they are launched one by one, the rest at once.
  for (PassCost* pass :
       {&cost.forward, &cost.recompute, &cost.backward_input, &cost.backward_weight}) {
    const double rest = pass->launches_s - pass->expert_launches_s;
    pass->launches_s = pass->expert_launches_s + std::min(rest, pricing.constants.launch_s);
  }
}

}  // namespace flopcast::analytic
