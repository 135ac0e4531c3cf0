#include "analytic/allocator/list_tensors.h"

#include <algorithm>
#include <utility>

namespace flopcast::analytic {
namespace {

constexpr std::uint16_t kNone = ListTensors::kNone;
/// Smaller ones change nothing.
constexpr std::int64_t kLeast = 512;

double element_of(const Execution& run) {
  return activation_type(run.precision) == DataType::kFp32 ? 4 : 2;
}

double output_of(const Gemm& gemm, double element) {
  return element * static_cast<double>(gemm.m * gemm.batch) * static_cast<double>(gemm.n);
}

double output_of(const Attention& attention, double element) {
  const auto rows = [&](std::int64_t tokens, std::int64_t heads) {
    return static_cast<double>(attention.batch * tokens) *
           static_cast<double>(heads * attention.head_dim);
  };
  const double queries = rows(attention.query_length, attention.heads);
  if (!attention.backward) return element * queries;
  return element * (queries + 2 * rows(attention.kv_length, attention.kv_heads));
}

/// B of the tensor that a step makes; 0: it works in place.
std::int64_t output_of(const OperatorStep& step, const Execution& run) {
  const double element = element_of(run);
  if (const Transfer* transfer = std::get_if<Transfer>(&step.what)) {
    const double size = transfer->size.value;
    switch (transfer->op) {
      case CollectiveOp::kAllGather:
      case CollectiveOp::kAllToAll:
        return static_cast<std::int64_t>(size);
      case CollectiveOp::kReduceScatter:
        return static_cast<std::int64_t>(size / members(run, transfer->group));
      default:
        return 0;
    }
  }
  const Kernel& kernel = std::get<Kernel>(step.what);
  double bytes = 0;
  if (const Gemm* gemm = std::get_if<Gemm>(&kernel)) bytes = output_of(*gemm, element);
  if (const Attention* attention = std::get_if<Attention>(&kernel)) {
    bytes = output_of(*attention, element);
  }
  if (const MemoryBound* moved = std::get_if<MemoryBound>(&kernel)) bytes = moved->written.value;
  return static_cast<std::int64_t>(bytes);
}

/// Values that the loss is taken of.
double logits_of(const Operator& op) {
  for (const OperatorStep& step : op.forward) {
    const Kernel* kernel = std::get_if<Kernel>(&step.what);
    const MemoryBound* loss = kernel == nullptr ? nullptr : std::get_if<MemoryBound>(kernel);
    if (loss == nullptr || loss->op != MemoryOp::kCrossEntropy) continue;
    return static_cast<double>(loss->rows) * static_cast<double>(loss->columns);
  }
  return 0;
}

/// A block's sum with the stream around it.
bool is_sum(const Operator& op) { return op.name.ends_with("_add"); }

/// B of a mask that dropout writes beside its output, to keep it.
std::int64_t mask_of(const Operator& op) {
  const bool drops = is_sum(op) || op.name == "embedding_dropout";
  return drops ? static_cast<std::int64_t>(op.live.value) : 0;
}

class Writer {
 public:
  Writer(const OperatorList& list, const Execution& run, double logit_bytes)
      : list_(list), run_(run), logit_bytes_(logit_bytes), kept_(list.operators.size()) {}

  ListTensors write() {
    size_.assign(2, 0);
    is_kept_.assign(2, false);
    Bytes of_operators;
    for (const Operator& op : list_.operators) of_operators += op.saved;
    const bool whole = list_.saved > of_operators;  // of full recompute: the input alone
    is_kept_[ListTensors::kInput] = whole;
    calls_ = &out_.forward;
    forward(false);
    calls_ = &out_.backward;
    backward();
    if (whole) give(ListTensors::kInput);
    out_.tensors = static_cast<std::uint16_t>(size_.size());
    for (const Operator& op : list_.operators) add_weights(op);
    return std::move(out_);
  }

 private:
  std::uint16_t take(std::int64_t bytes, bool weight = false) {
    const auto tensor = static_cast<std::uint16_t>(size_.size());
    size_.push_back(bytes);
    is_kept_.push_back(false);
    calls_->push_back({tensor, weight, std::max(bytes, kLeast)});
    return tensor;
  }
  void give(std::uint16_t tensor) { calls_->push_back({tensor, false, 0}); }
  void drop(std::uint16_t tensor) {
    if (tensor != kNone && !is_kept_[tensor]) give(tensor);
  }
  void keep(std::size_t op, std::uint16_t tensor) {
    is_kept_[tensor] = true;
    kept_[op].push_back(tensor);
  }

  /// Each step's output takes the place of the one before. @return the last one's.
  std::uint16_t run_steps(const std::vector<OperatorStep>& steps, std::int64_t mask = 0) {
    std::uint16_t last = kNone;
    for (const OperatorStep& step : steps) {
      const std::int64_t bytes = output_of(step, run_) - mask;
      if (bytes < kLeast) continue;
      const std::uint16_t made = take(bytes);
      drop(last);
      last = made;
    }
    return last;
  }

  /// The list's input is as large as what its first operator keeps of it.
  void keep_of(std::size_t at, std::int64_t bytes, std::uint16_t before) {
    if (bytes < kLeast) return;
    const bool is_input = before == ListTensors::kInput;
    if (before != kNone && (is_input || size_[before] <= bytes)) {
      bytes -= is_input ? bytes : size_[before];
      if (!is_kept_[before]) keep(at, before);
    }
    if (bytes >= kLeast) keep(at, take(bytes));
  }

  /// @param again what is recomputed before backward, of what is kept from there on.
  void forward(bool again) {
    std::uint16_t before = ListTensors::kInput, stream = before;
    for (std::size_t at = 0; at < list_.operators.size(); ++at) {
      const Operator& op = list_.operators[at];
      const Bytes kept = again ? op.live - op.saved : op.saved;
      if (const double logits = logits_of(op); logits > 0 && !again) {
        start_loss(at, logits, before);
        before = kNone;
        continue;
      }
      const std::uint16_t made =
          again && !op.recomputed ? kNone : run_steps(op.forward, mask_of(op));
      keep_of(at, static_cast<std::int64_t>(kept.value), before);
      if (made == kNone) continue;
      if (before != stream) drop(before);
      if (is_sum(op)) {
        if (stream != made) drop(stream);
        stream = made;
      }
      before = made;
    }
    if (stream != before) drop(stream);
    if (again) {
      drop(before);
    } else {
      out_.output = before;
    }
  }
  void start_loss(std::size_t at, double logits, std::uint16_t before) {
    const auto bytes = [&](double each) { return static_cast<std::int64_t>(each * logits); };
    constexpr double kWide = 4, kCopies = 6;
    if (logit_bytes_ < kCopies) {
      if (before != kNone) keep(at, before);
      return;
    }
    const std::uint16_t wide = take(bytes(kWide));
    if (logit_bytes_ <= kCopies) {
      keep(at, wide);
    } else {
      keep(at, take(bytes(kWide)));  // log-probabilities
      give(wide);
    }
    drop(before);
  }

  /// @return the gradient of the logits.
  std::uint16_t end_loss(double logits) {
    const auto bytes = [&](double each) { return static_cast<std::int64_t>(each * logits); };
    constexpr double kWide = 4, kCopies = 6;
    if (logit_bytes_ <= kCopies) return take(bytes(element_of(run_)));
    const std::uint16_t first = take(bytes(kWide));
    const std::uint16_t second = take(bytes(logit_bytes_ - 2 * kWide));
    give(first);
    const std::uint16_t narrow = take(bytes(element_of(run_)));
    give(second);
    return narrow;
  }

  void backward() {
    const bool recomputes = std::ranges::any_of(
        list_.operators, [](const Operator& op) { return op.recomputed || op.live > op.saved; });
    if (recomputes) forward(true);
    std::uint16_t stream = ListTensors::kGradient, branch = kNone;
    for (std::size_t at = list_.operators.size(); at-- > 0;) {
      const Operator& op = list_.operators[at];
      std::uint16_t made = kNone;
      if (const double logits = logits_of(op); logits > 0) {
        made = end_loss(logits);
      } else {
        made = run_steps(op.backward_input);
      }
      if (is_sum(op) && branch != kNone) {
        give(stream);
        stream = std::exchange(branch, kNone);
      }
      if (made != kNone) {
        drop(branch);
        branch = made;
      }
      if (op.trainable > 0) {
        const auto bytes =
            static_cast<std::int64_t>(element_of(run_) * static_cast<double>(op.trainable));
        out_.weight_gradients.push_back(take(bytes, true));
      }
      for (const std::uint16_t tensor : kept_[at]) give(tensor);
    }
    if (branch != kNone) give(stream), stream = branch;
    out_.input_gradient = stream;
  }

  void add_weights(const Operator& op) {
    if (op.weights > 0) {
      out_.weights.push_back(
          static_cast<std::int64_t>(element_of(run_) * static_cast<double>(op.weights)));
      out_.weight_bytes += out_.weights.back();
    }
    out_.trained += op.trainable;
  }

  const OperatorList& list_;
  const Execution& run_;
  double logit_bytes_;
  ListTensors out_;
  std::vector<TensorCall>* calls_ = nullptr;
  std::vector<std::int64_t> size_;
  std::vector<bool> is_kept_;
  std::vector<std::vector<std::uint16_t>> kept_;  ///< by operator
};

}  // namespace

ListTensors tensors_of(const OperatorList& list, const Execution& run, double logit_bytes) {
  return Writer(list, run, logit_bytes).write();
}

}  // namespace flopcast::analytic
