#include "live/engine/pricing/operator_kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "live/engine/pricing/product_kernels.h"
#include "live/engine/pricing/told_work.h"

namespace flopcast::live {
namespace {

using enum Counting;

/// PyTorch's own stand without the "_" of an operator in place, and those on lists mostly as those on tensors.
std::optional<OperatorTable::Found> rule_of(const OperatorCall& call, const OperatorTable& table) {
  if (auto found = table.of_operator(call.whole, call.kernel); found || call.extension())
    return found;
  std::string name(call.whole);
  if (name.ends_with('_')) name.pop_back();
  if (auto found = table.of_operator(name, call.kernel)) return found;
  constexpr std::string_view kForEach = "aten::_foreach_";
  if (!name.starts_with(kForEach)) return std::nullopt;
  auto found = table.of_operator("aten::" + name.substr(kForEach.size()), call.kernel);
  const bool alike =
      found && (found->rule->counting == kPointwise || found->rule->counting == kMoves);
  return alike ? found : std::nullopt;
}

/// How many lists an operator on lists has, the first of which it changes where it works in place.
double lists_of(const OperatorCall& call) {
  const bool weights = call.name == "_foreach_lerp_" && call.overload == "List";
  if (call.name.starts_with("_foreach_addc") || weights) return 3;
  const bool two =
      call.overload == "List" || call.name == "_foreach_lerp_" || call.name == "_foreach_copy_";
  return two ? 2 : 1;
}

double bytes_of(const std::vector<OperatorTensor>& tensors, std::size_t first, std::size_t end) {
  double bytes = 0;
  for (std::size_t i = first; i < end; ++i) bytes += tensors[i].bytes();
  return bytes;
}

/// Of the first of several lists. Lists that were too long to be told one by one are told as one tensor a type.
double first_list_bytes(const OperatorCall& call) {
  const double lists = lists_of(call);
  const auto tensors = call.inputs.size(), count = static_cast<std::size_t>(lists);
  if (tensors % count == 0) return bytes_of(call.inputs, 0, tensors / count);
  return call.read_bytes() / lists;
}

/// Of an operator that does not say what it wrote: one on lists in place writes the first of several lists, an
/// optimiser all but the gradients, and any other what it was given.
double written_bytes(const OperatorCall& call, Counting counting) {
  if (!call.outputs.empty() || call.inputs.empty()) return call.written_bytes();
  const double read = call.read_bytes();
  if (counting == kUpdates) return call.name == "_fused_sgd_" ? read * 2 / 3 : read * 3 / 4;
  if (counting == kSplits) return call.inputs[0].bytes();
  if (call.name.starts_with("_foreach_")) return first_list_bytes(call);
  if (call.name.ends_with('_')) return call.inputs[0].bytes();
  double largest = 0;
  for (const OperatorTensor& input : call.inputs) largest = std::max(largest, input.bytes());
  return largest;
}

/// Whether results go where it was told to, which PyTorch has behind its other inputs.
bool writes_out(const OperatorCall& call) {
  return call.overload == "out" || call.overload.ends_with("_out");
}

/// Of the inputs that the call overwrites without looking. Only an operator in place looks.
double overwritten_bytes(const OperatorCall& call, Counting counting) {
  if (call.extension()) return call.changed_bytes();
  if (counting != kCopies && !writes_out(call)) return 0;
  if (call.name == "_foreach_copy_" && call.outputs.empty() && !call.inputs.empty())
    return first_list_bytes(call);
  double bytes = 0;
  for (const std::size_t input : call.changed) bytes += call.inputs[input].bytes();
  return bytes;
}

/// Of the inputs that are read side by side, so that what is in two of them is read once. A copy of several reads one after
/// the other.
double read_together_bytes(const OperatorCall& call, Counting counting) {
  if (call.extension() || (counting != kPointwise && counting != kMoves)) return 0;
  const std::size_t results = writes_out(call) ? call.outputs.size() : 0;
  double bytes = 0;
  for (std::size_t i = 0; i + results < call.inputs.size(); ++i)
    bytes += call.inputs[i].shared_bytes();
  return bytes;
}

struct Moved {
  double read = 0, written = 0;
};

/// Whether a scatter puts one number into all places.
bool puts_one_number(const OperatorCall& call) {
  if (call.name.starts_with("index_fill")) return true;
  const bool puts = call.name.find("index_put") != std::string_view::npos;
  return puts && call.inputs.size() > 2 && call.inputs.back().elements == 1;
}

/// Elements that a scatter writes: as many as it is given, or the rows at as many places, of which there is an index a dimension.
double scattered_elements(const OperatorCall& call) {
  if (call.inputs.empty()) return 0;
  double most = 0;
  for (std::size_t i = 1; i < call.inputs.size(); ++i)
    most = std::max(most, call.inputs[i].elements);
  if (!puts_one_number(call)) return most;
  const OperatorTensor& into = call.inputs[0];
  const std::size_t indices =
      call.name.starts_with("index_fill") ? 1 : std::min(call.inputs.size() - 2, into.sizes.size());
  double row = into.elements;
  for (std::size_t i = 0; i < std::min(indices, into.sizes.size()); ++i)
    row /= std::max<double>(1, static_cast<double>(into.sizes[i]));
  return std::min(into.elements, most * row);
}

double rest_of_inputs(const OperatorCall& call) {
  return call.inputs.empty() ? 0 : call.read_bytes() - call.inputs[0].bytes();
}

/// Elements of a row of the first.
double rows_length(const std::vector<OperatorTensor>& tensors) {
  return tensors.empty() ? 1 : std::max(1.0, static_cast<double>(tensors[0].last()));
}

/// Of the inputs but the largest.
double rest_of_rows(const OperatorCall& call) {
  double largest = 0;
  for (const OperatorTensor& input : call.inputs) largest = std::max(largest, input.bytes());
  return call.read_bytes() - largest;
}

/// Rows that blocks work on at a time fit neither their shared memory nor half of the cache: a row is read for its maximum,
/// its sum and its result, its gradient twice and what was written once. Two blocks a core, 132 cores, 50 MB.
bool read_again(const OperatorCall& call, const OperatorRule& rule) {
  constexpr double kFits = 95e3;
  if (rule.op != MemoryOp::kSoftmax || call.inputs.empty()) return false;
  const OperatorTensor& first = call.inputs[0];
  return static_cast<double>(first.last()) * first.element_bytes > kFits;
}

Moved moved_by_rows(const OperatorCall& call, const OperatorRule& rule, Moved once) {
  if (!read_again(call, rule)) return once;
  if (rule.backward) return {once.read + call.inputs[0].bytes(), once.written};
  return {3 * once.read, once.written};
}

Moved moved_by(const OperatorCall& call, const OperatorRule& rule) {
  const Counting counting = rule.counting.value_or(kMoves);
  const double written = written_bytes(call, counting);
  const double read =
      call.read_bytes() - overwritten_bytes(call, counting) - read_together_bytes(call, counting);
  const double key = call.inputs.empty() ? 0 : call.inputs[0].element_bytes;
  const double keys = call.inputs.empty() ? 0 : call.inputs[0].bytes();
  switch (counting) {
    case kWrites:
      return {0, written};
    case kStatistics:
      return {2 * read, written};
    case kRows:
      return moved_by_rows(call, rule, {read, written});
    case kGathers:
      return {std::min(written + rest_of_inputs(call), read), written};
    case kScatters:
      if (puts_one_number(call)) return {rest_of_inputs(call), key * scattered_elements(call)};
      return {2 * rest_of_inputs(call), rest_of_inputs(call)};
    case kPicks:
      return {read - keys + keys / rows_length(call.inputs), written};
    case kSpreads:
      return {rest_of_rows(call), written / rows_length(call.outputs)};
    case kSums:
      return {read, std::min(written, keys)};
    case kSplits:
      return {keys, keys};
    case kUnpools:
      return {read - (call.inputs.size() > 1 ? call.inputs[1].bytes() : 0), written};
    case kSorts:
      return {key * (keys + 8 * keys / std::max(1.0, key)), key * written};
    case kSelects:
      return {(key + 1) * keys, written};
    default:
      return {read, written};
  }
}

/// Elements of the operator as it was measured, which moves as many bytes.
Kernel moving(MemoryOp op, Moved bytes, double share) {
  MemoryBound kernel;
  kernel.op = op;
  kernel.read = Bytes{bytes.read * share};
  kernel.written = Bytes{bytes.written * share};
  MemoryBound one;
  one.op = op;
  one.rows = one.columns = 1;
  const double of_element = kernel_bytes(one).value;
  kernel.rows = 1;
  constexpr double kMost = 1e18;  // more than any tensor has, and an integer still
  const double elements = (bytes.read + bytes.written) * share / of_element;
  kernel.columns = static_cast<std::int64_t>(std::clamp(elements, 1.0, kMost));
  return kernel;
}

MemoryOp measured_as(const OperatorCall& call, const OperatorRule& rule) {
  if (rule.counting != kPointwise) return rule.op;
  if (call.name.starts_with("_foreach_"))
    return lists_of(call) > 1 ? MemoryOp::kAdd : MemoryOp::kActivation;
  // A second operand is told from a scalar by its size.
  const auto large = std::count_if(call.inputs.begin(), call.inputs.end(),
                                   [](const OperatorTensor& input) { return input.elements > 1; });
  return large > 1 ? MemoryOp::kAdd : MemoryOp::kActivation;
}

Kernel by_rows(const OperatorCall& call, const OperatorRule& rule, const Moved& bytes) {
  if (call.inputs.empty() || call.inputs[0].sizes.empty() || read_again(call, rule))
    return moving(MemoryOp::kElementWise, bytes, call.share);
  // The gradient of the output comes first, or the input: they are alike.
  const OperatorTensor& first = call.inputs[0];
  MemoryBound kernel;
  kernel.op = rule.op;
  kernel.backward = rule.backward;
  kernel.type = first.type.value_or(DataType::kFp32);
  kernel.columns = std::max<std::int64_t>(1, first.last());
  kernel.rows = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(first.elements / static_cast<double>(kernel.columns)));
  kernel.read = Bytes{bytes.read * call.share};
  kernel.written = Bytes{bytes.written * call.share};
  return kernel;
}

/// Of the largest tensor that it writes, or that it was given if it does not say; of a scatter what it puts there.
double written_elements(const OperatorCall& call, const OperatorRule& rule) {
  if (rule.counting == kScatters) return scattered_elements(call);
  double most = 0;
  for (const OperatorTensor& tensor : call.outputs.empty() ? call.inputs : call.outputs)
    most = std::max(most, tensor.elements);
  return most;
}

/// Of an operator that nobody knows: its tensors are moved, each once.
OperatorWork nobodys(const OperatorCall& call, std::string lack) {
  const double read = call.read_bytes() - call.changed_bytes(), written = call.written_bytes();
  OperatorWork work{moving(MemoryOp::kElementWise, {read, written}, call.share)};
  work.known = false;
  work.lack = std::move(lack);
  work.behind = (read + written) * call.share;
  return work;
}

/// By its name a product: what it takes does not follow from the bytes of its tensors.
bool multiplies(std::string_view kernel) {
  constexpr std::string_view kParts[] = {"gemm", "Gemm", "GEMM", "matmul", "Matmul"};
  return std::any_of(std::begin(kParts), std::end(kParts), [kernel](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  });
}

bool has_names(const OperatorCall& call) {
  return !call.inputs.empty() && !call.inputs.front().name.empty();
}

std::optional<Kernel> product_of(const OperatorCall& call, const OperatorRule& rule) {
  if (rule.counting == kAttends) return attention_kernel(call, rule.backward);
  if (rule.counting == kConvolves) return convolution_kernel(call, rule.backward);
  if (rule.counting == kGroups) return grouped_kernel(call);
  return std::nullopt;
}

}  // namespace

OperatorWork work_of(const OperatorCall& call, bool beside, const OperatorTable& table) {
  const auto found = rule_of(call, table);
  if (!found && call.extension()) return nobodys(call, {});
  if (!found && !beside && multiplies(call.kernel)) return nobodys(call, "its kernel multiplies");
  const OperatorRule none;
  const OperatorRule& rule = found ? *found->rule : none;
  OperatorWork work;
  work.rule = found ? found->name : nullptr;
  work.elements = call.share * written_elements(call, rule);
  if (beside) {
    const double result = written_bytes(call, rule.counting.value_or(kMoves));
    work.kernel = moving(MemoryOp::kCopy, {result, result}, call.share);
    return work;
  }
  Moved bytes = moved_by(call, rule);
  // Of PyTorch's attention one kernel does it all, and others prepare it.
  const bool attends = rule.counting == kAttends;
  if (attends && (!rule.attention || !does_attention(call.kernel) || !has_names(call))) {
    const auto product = product_of(call, rule);
    work.kernel = product ? *product : moving(rule.op, bytes, call.share);
    return work;
  }
  ToldWork told = told_work(rule, {&call, found ? found->numbers : decltype(found->numbers)()},
                            {bytes.read, bytes.written});
  if (!told.lack.empty()) {
    OperatorWork unknown = nobodys(call, std::move(told.lack));
    unknown.rule = work.rule;
    return unknown;
  }
  bytes = {told.read, told.written};
  work.assumed = !found || told.assumed;
  if (const auto product = attends ? std::nullopt : product_of(call, rule)) {
    work.kernel = *product;
  } else if (rule.counting == kRows) {
    work.kernel = by_rows(call, rule, bytes);
  } else {
    work.kernel = moving(measured_as(call, rule), bytes, call.share);
  }
  if (!attends)
    for (CountedKernel::Part& part : told.products) part.share *= call.share;
  work.products = std::move(told.products);
  return work;
}

}  // namespace flopcast::live
