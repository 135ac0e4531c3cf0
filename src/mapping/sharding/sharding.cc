#include "mapping/sharding/sharding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mapping/sharding/elimination.h"

namespace flopcast::mapping {
namespace {

constexpr std::uint8_t kLayouts = 3;
constexpr std::uint8_t kLayoutSets = 1 << kLayouts;

std::int64_t ceil_div(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

Layout layout_after(Sharding sharding) {
  switch (sharding) {
    case Sharding::kOuter:
    case Sharding::kM:
    case Sharding::kKSplitM:
      return Layout::kFeatures;
    case Sharding::kN:
    case Sharding::kKSplitN:
      return Layout::kTokens;
    case Sharding::kNone:
    case Sharding::kK:
      break;
  }
  return Layout::kReplicated;
}

/// The layout in which a kernel so divided wants an operand.
/// @param heads_of_all the operand is activations that the weights of every head read
Layout layout_needed(Sharding sharding, Operand operand, bool heads_of_all = false) {
  constexpr Layout kAll = Layout::kReplicated, kFeat = Layout::kFeatures, kTok = Layout::kTokens;
  // Rows: Operand; columns: divided along m, n, k.
  constexpr Layout kNeeds[5][3] = {
      {kFeat, kTok, kAll},  // kPointwise
      {kAll, kTok, kFeat},  // kRight  [k, n]
      {kFeat, kAll, kTok},  // kLeft   [m, k]
      {kFeat, kAll, kTok},  // kLeftT  [m, k] of a weight gradient
      {kAll, kFeat, kTok},  // kRightT [n, k] of a weight gradient
  };
  switch (sharding) {
    case Sharding::kNone:
      return kAll;
    case Sharding::kOuter:
      return heads_of_all ? kAll : kFeat;
    case Sharding::kM:
      return kNeeds[static_cast<int>(operand)][0];
    case Sharding::kN:
      return kNeeds[static_cast<int>(operand)][1];
    default:
      return kNeeds[static_cast<int>(operand)][2];
  }
}

std::vector<Sharding> choices(const DataflowKernel& kernel, unsigned chips,
                              const MappingModel& model) {
  if (chips == 1) return {Sharding::kNone};
  if (kernel.outer > 1) return {Sharding::kOuter};
  const auto may = [&](KernelDimension dimension, std::int64_t size) {
    return size > 1 && kernel.tiled != dimension;
  };
  std::vector<Sharding> all;
  const bool weighted = kernel.weight.value > 0;
  if (!weighted) all.push_back(Sharding::kNone);
  if (may(KernelDimension::kM, kernel.m)) all.push_back(Sharding::kM);
  // Tokens of a tile can be split where nothing is summed over them: sequence parallelism.
  const bool split_tokens = model.reduce_scatter && !kernel.systolic() && kernel.n > 1;
  if (!weighted && (split_tokens || may(KernelDimension::kN, kernel.n))) {
    all.push_back(Sharding::kN);
  }
  if (kernel.systolic() && may(KernelDimension::kK, kernel.k)) {
    all.push_back(Sharding::kK);
    if (model.reduce_scatter && kernel.m > 1) all.push_back(Sharding::kKSplitM);
    if (model.reduce_scatter && kernel.n > 1) all.push_back(Sharding::kKSplitN);
  }
  if (all.empty()) all.push_back(Sharding::kNone);
  return all;
}

std::int64_t picoseconds(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * 1e12));
}
std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

class ShardingProblem {
 public:
  ShardingProblem(const DataflowWorkload& workload, const GroupNetwork& group,
                  const MappingModel& model)
      : workload_(workload), graph_(workload.graph), group_(group), model_(model) {
    for (const DataflowKernel& kernel : graph_.kernels) {
      choices_.push_back(choices(kernel, group.size(), model));
    }
  }

  /// A group of one has nothing to divide: pins do not matter there.
  std::optional<Diagnostic> pin(const ShardingPin& pin) {
    const Result<std::uint32_t> kernel = graph_.find(pin.kernel);
    if (!kernel) return kernel.error();
    std::vector<Sharding>& own = choices_[*kernel];
    if (group_.size() == 1) return std::nullopt;
    if (std::find(own.begin(), own.end(), pin.sharding) == own.end()) {
      std::vector<std::string_view> names;
      for (const Sharding sharding : own) names.push_back(name(sharding));
      return Diagnostic{ErrorCode::kUsage, pin.kernel,
                        fmt::format("cannot be divided along {}", name(pin.sharding)),
                        fmt::format("it can along: {}", fmt::join(names, ", "))};
    }
    own = {pin.sharding};
    return std::nullopt;
  }

  Result<ShardedGraph> solve() {
    for (const std::vector<Sharding>& own : choices_) {
      values_.push_back(static_cast<std::uint8_t>(own.size()));
    }
    for (std::uint32_t i = 0; i < graph_.kernels.size(); ++i) add_kernel(i);
    find_boundary();
    for (const std::uint32_t last : lasts_) {
      for (const std::uint32_t first : firsts_) add_boundary(last, first);
    }
    for (std::uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      model_.shared_tensors ? add_shared_tensor(i) : add_uses(i);
    }
    const std::optional<Labelling> best = cheapest_labelling(values_, std::move(factors_));
    if (!best) {
      return Diagnostic{ErrorCode::kNoAnswer, graph_.name,
                        "too many kernels share tensors for an exact sharding",
                        "fix the tensor-parallel degree to 1 (--tp 1), or cut the graph"};
    }
    return read(*best);
  }

 private:
  /// Sums over k that a kernel so divided completes.
  double sum_bytes(std::uint32_t index, Sharding sharding) const {
    const bool sums = sharding == Sharding::kK || sharding == Sharding::kKSplitM ||
                      sharding == Sharding::kKSplitN;
    return sums ? output_bytes(graph_.kernels[index], workload_.word) : 0;
  }
  double sum_s(std::uint32_t kernel, Sharding sharding) const {
    const double passes = sharding == Sharding::kK ? model_.all_reduce_factor : 1;
    return passes * group_.pass_s(sum_bytes(kernel, sharding));
  }
  double conversion_s(double bytes, Layout from, Layout to) const {
    if (from == to || from == Layout::kReplicated) return 0;
    return to == Layout::kReplicated ? group_.pass_s(bytes)
                                     : group_.all_to_all_s(bytes / group_.size());
  }
  LabelCost conversion(double bytes, Layout from, Layout to) const {
    if (from == to || from == Layout::kReplicated) return {};
    return {{model_.sharding_by_time ? picoseconds(conversion_s(bytes, from, to)) : whole(bytes),
             model_.sharding_by_time ? 0 : 1, 0}};
  }
  double share(Layout layout) const {
    return layout == Layout::kReplicated ? 1 : 1.0 / group_.size();
  }

  /// Where one layer's output is the next one's input.
  void find_boundary() {
    if (workload_.boundary.value <= 0 || workload_.layers <= 1) return;
    std::vector<bool> reads(graph_.kernels.size(), false);
    std::vector<bool> is_read(graph_.kernels.size(), false);
    for (const DataflowTensor& tensor : graph_.tensors) {
      for (const DataflowUse& use : tensor.uses) reads[use.kernel] = true;
      if (!tensor.uses.empty()) is_read[tensor.producer] = true;
    }
    for (std::uint32_t i = 0; i < graph_.kernels.size(); ++i) {
      if (graph_.kernels[i].backward) continue;
      if (!reads[i]) firsts_.push_back(i);
      if (!is_read[i]) lasts_.push_back(i);
    }
  }
  /// As published the conversion costs nothing, and only breaks ties.
  void add_boundary(std::uint32_t last, std::uint32_t first) {
    if (last == first) return;
    LabelFactor factor{{last, first}, {}};
    for (const Sharding from : choices_[last]) {
      for (const Sharding to : choices_[first]) {
        LabelCost cost = conversion(workload_.boundary.value, layout_after(from),
                                    layout_needed(to, Operand::kPointwise));
        if (!model_.boundary_traffic && cost.parts[0] > 0) cost = {{0, 1, 0}};
        factor.costs.push_back(cost);
      }
    }
    factors_.push_back(std::move(factor));
  }

  void add_kernel(std::uint32_t i) {
    LabelFactor factor{{i}, {}};
    for (const Sharding sharding : choices_[i]) {
      LabelCost cost;
      cost.parts[0] =
          model_.sharding_by_time ? picoseconds(sum_s(i, sharding)) : whole(sum_bytes(i, sharding));
      cost.parts[2] = whole(kernel_share(graph_.kernels[i], sharding, group_.size()).work.value);
      factor.costs.push_back(cost);
    }
    factors_.push_back(std::move(factor));
  }

  Layout needed(const DataflowTensor& tensor, const DataflowUse& use, Sharding sharding) const {
    const bool heads_of_all =
        graph_.kernels[use.kernel].weight.value > 0 && graph_.kernels[tensor.producer].outer == 1;
    return layout_needed(sharding, use.operand, heads_of_all);
  }

  /// Each reader converts for itself, as published.
  void add_uses(std::uint32_t index) {
    const DataflowTensor& tensor = graph_.tensors[index];
    for (const DataflowUse& use : tensor.uses) {
      LabelFactor factor{{tensor.producer, use.kernel}, {}};
      for (const Sharding from : choices_[tensor.producer]) {
        for (const Sharding to : choices_[use.kernel]) {
          factor.costs.push_back(
              conversion(tensor.bytes.value, layout_after(from), needed(tensor, use, to)));
        }
      }
      factors_.push_back(std::move(factor));
    }
  }

  /// A variable more: the set of layouts the tensor is brought into, once for all readers.
  void add_shared_tensor(std::uint32_t index) {
    const DataflowTensor& tensor = graph_.tensors[index];
    const auto variable = static_cast<std::uint32_t>(values_.size());
    values_.push_back(kLayoutSets);
    sets_.emplace_back(index, variable);
    LabelFactor made{{variable, tensor.producer}, {}};
    for (std::uint8_t set = 0; set < kLayoutSets; ++set) {
      for (const Sharding from : choices_[tensor.producer]) {
        made.costs.push_back(cost_of_set(tensor.bytes.value, set, layout_after(from)));
      }
    }
    factors_.push_back(std::move(made));
    for (const DataflowUse& use : tensor.uses) {
      LabelFactor met{{variable, use.kernel}, {}};
      for (std::uint8_t set = 0; set < kLayoutSets; ++set) {
        for (const Sharding to : choices_[use.kernel]) {
          const int wanted = 1 << static_cast<int>(needed(tensor, use, to));
          const int replicated = 1 << static_cast<int>(Layout::kReplicated);
          met.costs.push_back((set & (wanted | replicated)) != 0
                                  ? LabelCost{}
                                  : LabelCost{{LabelCost::kNever, 0, 0}});
        }
      }
      factors_.push_back(std::move(met));
    }
  }
  LabelCost cost_of_set(double bytes, std::uint8_t set, Layout own) const {
    if ((set >> static_cast<int>(own) & 1) == 0) return {{LabelCost::kNever, 0, 0}};
    LabelCost cost;
    cost.parts[1] = whole(bytes * share(own));
    for (int layout = 0; layout < kLayouts; ++layout) {
      if ((set >> layout & 1) != 0) {
        cost = cost + conversion(bytes, own, static_cast<Layout>(layout));
      }
    }
    return cost;
  }

  ShardedGraph read(const Labelling& best) const {
    ShardedGraph result;
    for (std::uint32_t i = 0; i < graph_.kernels.size(); ++i) {
      ShardedKernel kernel;
      kernel.sharding = choices_[i][best.value[i]];
      const double bytes = sum_bytes(i, kernel.sharding);
      const double passes = bytes == 0                        ? 0
                            : kernel.sharding == Sharding::kK ? model_.all_reduce_factor
                                                              : 1;
      kernel.network_s = sum_s(i, kernel.sharding);
      kernel.wire_bytes = passes * group_.pass_wire_bytes(bytes);
      result.published_bytes += bytes;
      result.kernels.push_back(kernel);
    }
    for (const DataflowTensor& tensor : graph_.tensors) {
      const Layout own = layout_after(result.kernels[tensor.producer].sharding);
      result.tensors.push_back({own, share(own)});
    }
    for (std::uint32_t i = 0; i < graph_.tensors.size(); ++i) add_conversions(i, best, result);
    for (const std::uint32_t last : lasts_) {
      for (const std::uint32_t first : firsts_) {
        if (!model_.boundary_traffic || last == first) continue;
        const Sharding to = result.kernels[first].sharding;
        convert(workload_.boundary.value, layout_after(result.kernels[last].sharding),
                layout_needed(to, Operand::kPointwise), result.kernels[last], result);
      }
    }
    return result;
  }

  void convert(double bytes, Layout from, Layout to, ShardedKernel& producer,
               ShardedGraph& result) const {
    const double seconds = conversion_s(bytes, from, to);
    if (seconds == 0) return;
    producer.network_s += seconds;
    producer.wire_bytes +=
        group_.pass_wire_bytes(bytes * (to == Layout::kReplicated ? 1 : share(from)));
    result.published_bytes += bytes;
  }

  void add_conversions(std::uint32_t index, const Labelling& best, ShardedGraph& result) const {
    const DataflowTensor& tensor = graph_.tensors[index];
    const Layout own = result.tensors[index].layout;
    const auto to_layout = [&](Layout to) {
      convert(tensor.bytes.value, own, to, result.kernels[tensor.producer], result);
    };
    if (!model_.shared_tensors) {
      for (const DataflowUse& use : tensor.uses) {
        to_layout(needed(tensor, use, result.kernels[use.kernel].sharding));
      }
      return;
    }
    const std::uint8_t set = best.value[sets_[index].second];
    for (int layout = 0; layout < kLayouts; ++layout) {
      if ((set >> layout & 1) != 0) to_layout(static_cast<Layout>(layout));
    }
  }

  const DataflowWorkload& workload_;
  const DataflowGraph& graph_;
  const GroupNetwork& group_;
  const MappingModel& model_;
  std::vector<std::uint32_t> firsts_, lasts_;
  std::vector<std::vector<Sharding>> choices_;
  std::vector<std::uint8_t> values_;
  std::vector<LabelFactor> factors_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sets_;  // tensor, its variable
};

}  // namespace

double output_bytes(const DataflowKernel& kernel, double word) {
  return static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
         static_cast<double>(kernel.n) * word;
}

KernelShare kernel_share(const DataflowKernel& kernel, Sharding sharding, unsigned chips) {
  KernelShare share{kernel.outer, kernel.m, kernel.n, kernel.k, 1.0 / chips, {}};
  std::int64_t* divided = nullptr;
  switch (sharding) {
    case Sharding::kNone:
      break;
    case Sharding::kOuter:
      divided = &share.outer;
      break;
    case Sharding::kM:
      divided = &share.m;
      break;
    case Sharding::kN:
      divided = &share.n;
      break;
    default:
      divided = &share.k;
      break;
  }
  if (divided != nullptr) *divided = ceil_div(*divided, chips);
  if (sharding == Sharding::kNone || sharding == Sharding::kN) share.weight = 1;
  DataflowKernel own = kernel;
  own.outer = share.outer;
  own.m = share.m;
  own.n = share.n;
  own.k = share.k;
  share.work = own.work();
  return share;
}

Result<ShardedGraph> shard_graph(const DataflowWorkload& workload, const GroupNetwork& group,
                                 const MappingModel& model, const std::vector<ShardingPin>& pins) {
  ShardingProblem problem(workload, group, model);
  for (const ShardingPin& pin : pins) {
    if (auto error = problem.pin(pin)) return *error;
  }
  return problem.solve();
}

}  // namespace flopcast::mapping
