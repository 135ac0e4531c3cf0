#include "live/engine/pricing/operator_call.h"

#include <algorithm>
#include <array>

#include "base/text/numbers.h"

namespace flopcast::live {
namespace {

/// More tensors than an operator ever has.
constexpr std::int64_t kMostTensors = 100'000, kMostValues = 100'000;
constexpr double kThousandths = 1000;

/// What is before the first `sign`, which goes too; all if there is none.
std::string_view cut(std::string_view& text, char sign) {
  const std::size_t end = std::min(text.find(sign), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

struct ElementType {
  std::string_view word;
  double bytes;
};
/// Those that are no DataType.
constexpr std::array kOtherTypes = {
    ElementType{"bool", 1}, ElementType{"u8", 1},  ElementType{"i8", 1},  ElementType{"i16", 2},
    ElementType{"u16", 2},  ElementType{"i32", 4}, ElementType{"u32", 4}, ElementType{"i64", 8},
    ElementType{"u64", 8},  ElementType{"c32", 4}, ElementType{"c64", 8}, ElementType{"c128", 16}};

bool read_type(std::string_view word, OperatorTensor& tensor) {
  if (const auto type = parse_data_type(word)) {
    tensor.type = type;
    tensor.element_bytes = bytes_per_element(*type);
    return true;
  }
  const auto other = std::find_if(kOtherTypes.begin(), kOtherTypes.end(),
                                  [word](const ElementType& type) { return type.word == word; });
  if (other == kOtherTypes.end()) return false;
  tensor.element_bytes = other->bytes;
  return true;
}

/// "0+8192^5;7": even stretches, by their first, step and count.
std::optional<std::vector<double>> values_of(std::string_view words) {
  std::vector<double> values;
  while (!words.empty()) {
    std::string_view stretch = cut(words, ';');
    std::string_view even = stretch.substr(0, stretch.find('^'));
    stretch.remove_prefix(std::min(even.size() + 1, stretch.size()));
    const auto first = parse_whole(cut(even, '+'));
    const auto step = even.empty() ? 0 : parse_whole(even);
    const auto count = stretch.empty() ? 1 : parse_whole(stretch);
    if (!first || !step || !count || *count < 1) return std::nullopt;
    if (*count + static_cast<std::int64_t>(values.size()) > kMostValues) return std::nullopt;
    for (std::int64_t i = 0; i < *count; ++i)
      values.push_back(static_cast<double>(*first) +
                       static_cast<double>(*step) * static_cast<double>(i));
  }
  return values;
}

std::optional<OperatorTensor> tensor_of(std::string_view word) {
  OperatorTensor tensor;
  const std::size_t name = word.find('=');
  if (name != std::string_view::npos) tensor.name = cut(word, '=');
  std::string_view values = word;
  word = cut(values, '@');
  if (!values.empty() && !(tensor.values = values_of(values))) return std::nullopt;
  if (!read_type(cut(word, ':'), tensor)) return std::nullopt;
  std::string_view shared = word;
  word = cut(shared, '!');
  while (!word.empty()) {
    std::string_view size = cut(word, 'x');
    const bool repeats = size.ends_with('~');
    if (repeats) size.remove_suffix(1);
    const auto value = parse_whole(size);
    if (!value || *value < 0) return std::nullopt;
    tensor.sizes.push_back(*value);
    tensor.elements *= static_cast<double>(*value);
    if (!repeats) tensor.touched *= static_cast<double>(*value);
  }
  const auto elements = shared.empty() ? 0 : parse_whole(shared);
  if (!elements || *elements < 0 || static_cast<double>(*elements) > tensor.touched)
    return std::nullopt;
  tensor.shared = static_cast<double>(*elements);
  return tensor;
}

/// One tensor, or several that are alike; "=3" is an input.
bool add_tensors(std::string_view word, std::vector<OperatorTensor>& tensors, OperatorCall* call) {
  const std::string_view what = cut(word, '*');
  const std::int64_t times = word.empty() ? 1 : parse_whole(word).value_or(0);
  if (times < 1 || times + static_cast<std::int64_t>(tensors.size()) > kMostTensors) return false;
  if (call && what.starts_with('=')) {
    const auto place = parse_whole(what.substr(1));
    if (!place || *place < 0 || static_cast<std::size_t>(*place) >= call->inputs.size())
      return false;
    call->changed.push_back(static_cast<std::size_t>(*place));
    tensors.push_back(call->inputs[static_cast<std::size_t>(*place)]);
    return true;
  }
  const auto tensor = tensor_of(what);
  if (!tensor) return false;
  tensors.insert(tensors.end(), static_cast<std::size_t>(times), *tensor);
  return true;
}

bool read_outputs(std::string_view words, OperatorCall& call) {
  if (words == "-") return true;
  while (!words.empty()) {
    if (!add_tensors(cut(words, ','), call.outputs, &call)) return false;
  }
  return true;
}

/// Tensors, and numbers: "causal=#1".
bool read_inputs(std::string_view words, OperatorCall& call) {
  if (words == "-") return true;
  while (!words.empty()) {
    const std::string_view word = cut(words, ',');
    const std::size_t number = word.find("=#");
    if (number == std::string_view::npos) {
      if (!add_tensors(word, call.inputs, nullptr)) return false;
      continue;
    }
    const auto value = parse_number(word.substr(number + 2));
    if (value) call.numbers.emplace_back(word.substr(0, number), *value);
    // Infinities, and two alike behind each other: nobody's size.
  }
  return true;
}

double bytes_of(const std::vector<OperatorTensor>& tensors) {
  double bytes = 0;
  for (const OperatorTensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

}  // namespace

double OperatorCall::read_bytes() const { return bytes_of(inputs); }
double OperatorCall::changed_bytes() const {
  double bytes = 0;
  for (const std::size_t one : changed) bytes += inputs[one].bytes();
  return bytes;
}
double OperatorCall::written_bytes() const { return bytes_of(outputs); }

std::optional<OperatorCall> parse_operator_call(std::string_view text) {
  OperatorCall call;
  std::string_view name = cut(text, ' ');
  call.whole = name.substr(0, name.find('.'));
  if (const std::size_t space = name.rfind("::"); space != std::string_view::npos)
    name.remove_prefix(space + 2);
  call.name = cut(name, '.');
  call.overload = name;
  if (call.name.empty() || !read_inputs(cut(text, ' '), call)) return std::nullopt;
  const std::string_view outputs = cut(text, ' ');
  call.ended = outputs != "?";
  if (call.ended && !read_outputs(outputs, call)) return std::nullopt;
  const auto share = parse_whole(cut(text, ' '));
  if (!share || *share < 1 || static_cast<double>(*share) > kThousandths) return std::nullopt;
  call.share = static_cast<double>(*share) / kThousandths;
  call.kernel = text;
  return call;
}

}  // namespace flopcast::live
