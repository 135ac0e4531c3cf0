// The operator graph of a model, its names and sums.
#include <algorithm>
#include <array>
#include <iterator>

#include "base/text/names.h"
#include "flopcast/workload/operators.h"
#include "workload/operators/builder.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

constexpr std::array<std::string_view, kPrecisions> kPrecisionNames = {
    "fp32", "tf32", "fp16", "bf16", "fp8", "fp8_block", "mxfp8", "nvfp4", "mxfp4", "int8"};
constexpr std::array<std::string_view, kGroups> kGroupNames = {
    "tensor",   "tensor2", "context",     "expert", "expert_tensor",
    "pipeline", "data",    "expert_data", "shard",  "replica"};

OperatorList layer_operators(const Model& model, const Layer& layer, const Execution& run) {
  OperatorBuilder builder(model, run);
  const bool one_block = layer.norms == 1 && !layer.parallel;
  if (layer.attention.heads > 0) {
    add_attention(builder, layer);
  } else if (layer.recurrence.heads > 0) {
    add_recurrence(builder, layer);
  }
  if (!one_block || layer.feeds_forward()) add_feed_forward(builder, layer);
  OperatorList list = builder.take();
  const Bytes input{builder.element * static_cast<double>(builder.u) *
                    static_cast<double>(builder.h)};
  list.peak += input;  // the gradient of the stream around its blocks
  if (run.recompute == Recompute::kFull) {
    list.saved += input;
    list.live += input;
    list.peak += input;
  }
  return list;
}

OperatorList end_operators(const Model& model, Execution run,
                           void (*add)(OperatorBuilder& builder)) {
  // Recompute covers layers; linear layers around them are cut in one dimension.
  run.recompute = Recompute::kNone;
  if (run.tensor == TensorKind::kSumma) run.tensor = TensorKind::kTwoD;
  OperatorBuilder builder(model, run);
  add(builder);
  return builder.take();
}

/// What runs after `list`, on the same chip.
void append(OperatorList more, OperatorList& list) {
  list.peak = std::max(list.peak, list.live + more.peak);
  list.saved += more.saved;
  list.live += more.live;
  std::ranges::move(more.operators, std::back_inserter(list.operators));
}

Flops matrix_flops(const std::vector<OperatorStep>& steps, bool attention) {
  Flops flops;
  for (const OperatorStep& step : steps) {
    const Kernel* kernel = std::get_if<Kernel>(&step.what);
    if (kernel == nullptr || std::holds_alternative<MemoryBound>(*kernel)) continue;
    if (std::holds_alternative<Attention>(*kernel) != attention) continue;
    flops += kernel_flops(*kernel) * step.count;
  }
  return flops;
}

void add_model_flops(const OperatorList& list, double times, TrainingFlops& flops) {
  for (const Operator& op : list.operators) {
    if (op.scans) {
      const Flops scan = matrix_flops(op.forward, false) * (3 * times);
      flops.attention += scan;
      flops.attention_square += scan;
      continue;
    }
    flops.linear += (matrix_flops(op.forward, false) + matrix_flops(op.backward_input, false) +
                     matrix_flops(op.backward_weight, false)) *
                    times;
    flops.attention += matrix_flops(op.forward, true) * (3 * times);
  }
}

/// One more token predicted: its embedding and the hidden states before it are scaled and put together, become one by a product, pass a
/// layer and meet the output matrix (DeepSeek-V3, arXiv:2412.19437, section 2.2).
void add_predictor(const Model& model, const Execution& run, OperatorList& head) {
  append(end_operators(model, run, add_predictor_input), head);
  append(layer_operators(model, model.kinds[model.order.back()], run), head);
  OperatorList ends = end_operators(model, run, add_head);
  for (Operator& op : ends.operators) {
    if (op.name == "output_proj") op.weights = op.trainable = 0;  // the model's own
  }
  append(std::move(ends), head);
}

}  // namespace

std::string_view name(Precision precision) { return kPrecisionNames[static_cast<int>(precision)]; }
std::string_view name(Group group) { return kGroupNames[static_cast<int>(group)]; }

unsigned members(const Execution& run, Group group) {
  switch (group) {
    case Group::kTensor:
      return run.tp;
    case Group::kTensor2:
      return run.tp2;
    case Group::kContext:
      return run.cp;
    case Group::kExpert:
      return run.ep;
    case Group::kExpertTensor:
      return run.etp;
    default:
      return 1;
  }
}

std::optional<Precision> parse_precision(std::string_view text) {
  constexpr std::pair<std::string_view, Precision> kOthers[] = {
      {"float32", Precision::kFp32},
      {"float16", Precision::kFp16},
      {"half", Precision::kFp16},
      {"bfloat16", Precision::kBf16},
      {"bf16pure", Precision::kBf16},
      {"fp8cs", Precision::kFp8},
      {"fp8tensorwise", Precision::kFp8},
      {"fp8rowwise", Precision::kFp8Block},
      {"fp8row", Precision::kFp8Block},
      {"fp8sc", Precision::kFp8Block},
      {"fp8block", Precision::kFp8Block},
      {"fp8hybrid", Precision::kFp8},
      {"fp8e4m3", Precision::kFp8},
      {"fp4", Precision::kNvfp4},
      {"fp8delayed", Precision::kFp8},
      {"fp8mx", Precision::kMxfp8},
      {"fp8blockwise", Precision::kFp8Block},
      {"deepseekfp8", Precision::kFp8Block},
  };
  const std::string key = name_key(text);
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (key == name_key(kPrecisionNames[i])) return static_cast<Precision>(i);
  }
  for (const auto& [other, precision] : kOthers) {
    if (key == other) return precision;
  }
  return std::nullopt;
}

DataType activation_type(Precision precision) {
  if (precision == Precision::kFp32 || precision == Precision::kTf32) return DataType::kFp32;
  return precision == Precision::kFp16 ? DataType::kFp16 : DataType::kBf16;
}

DataType multiplied_type(Precision precision) {
  constexpr std::array<DataType, kPrecisions> kTypes = {
      DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16, DataType::kFp8,
      DataType::kFp8,  DataType::kFp8,  DataType::kFp4,  DataType::kFp4,  DataType::kInt8};
  return kTypes[static_cast<std::size_t>(precision)];
}

GemmType gemm_type(Precision precision) {
  // MXFP8 scales are multiplied inside the tensor cores: products run as fast as with one scale.
  constexpr std::array kTypes = {GemmType::kFp32,       GemmType::kTf32,  GemmType::kFp16,
                                 GemmType::kBf16,       GemmType::kFp8,   GemmType::kFp8Block,
                                 GemmType::kFp8,        GemmType::kNvfp4, GemmType::kNvfp4,
                                 GemmType::kSmoothQuant};
  return kTypes[static_cast<std::size_t>(precision)];
}

double saved_bytes(Precision precision) {
  // Low precisions keep one scale per 128, 32 or 16 values beside the values.
  constexpr std::array kBytes = {
      4.0, 4.0, 2.0, 2.0, 1.0, 1 + 4 / 128.0, 1 + 1 / 32.0, 0.5 + 1 / 16.0, 0.5 + 1 / 32.0, 1.0};
  return kBytes[static_cast<std::size_t>(precision)];
}

std::int64_t OperatorList::weights() const {
  std::int64_t sum = 0;
  for (const Operator& op : operators) sum += op.weights;
  return sum;
}

std::int64_t OperatorList::trainable() const {
  std::int64_t sum = 0;
  for (const Operator& op : operators) sum += op.trainable;
  return sum;
}

OperatorGraph make_operators(const Model& model, const Execution& execution) {
  OperatorGraph graph;
  graph.embedding = end_operators(model, execution, add_embedding);
  graph.layers.reserve(model.kinds.size());
  for (const Layer& layer : model.kinds) {
    graph.layers.push_back(layer_operators(model, layer, execution));
  }
  graph.head = end_operators(model, execution, add_head);
  for (unsigned i = 0; i < execution.mtp_layers; ++i) add_predictor(model, execution, graph.head);
  const OperatorBuilder sizes(model, execution);
  graph.boundary =
      Bytes{sizes.element * static_cast<double>(sizes.u) * static_cast<double>(sizes.h)};
  return graph;
}

Work total_work(const std::vector<OperatorStep>& steps) {
  Work work;
  for (const OperatorStep& step : steps) {
    if (const Kernel* kernel = std::get_if<Kernel>(&step.what)) {
      if (!std::holds_alternative<MemoryBound>(*kernel)) {
        work.matrix += kernel_flops(*kernel) * step.count;
      }
      work.traffic += kernel_bytes(*kernel) * step.count;
    } else {
      work.sent += std::get<Transfer>(step.what).size * step.count;
    }
  }
  return work;
}

TrainingFlops training_flops(const Model& model, std::int64_t sequence) {
  Execution run;
  run.sequence = sequence;
  const OperatorGraph graph = make_operators(model, run);
  TrainingFlops flops;
  add_model_flops(graph.embedding, 1, flops);
  add_model_flops(graph.head, 1, flops);
  for (std::size_t kind = 0; kind < graph.layers.size(); ++kind) {
    const auto times = static_cast<double>(model.count(kind));
    add_model_flops(graph.layers[kind], times, flops);
    const AttentionShape& a = model.kinds[kind].attention;
    const auto tokens = static_cast<double>(sequence);
    flops.attention_square +=
        Flops{6 * tokens * tokens * static_cast<double>(a.heads * (a.head_dim + a.value_dim))} *
        times;
  }
  return flops;
}

}  // namespace flopcast
