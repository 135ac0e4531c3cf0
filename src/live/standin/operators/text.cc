#include "live/standin/operators/text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "live/standin/memory/memory.h"
#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// More different tensors than that are told by type; arguments with names are more.
constexpr std::size_t kTold = 16, kToldByName = 128;
/// Longer tensors are no lengths of sequences.
constexpr std::int64_t kMostValues = 4096;

/// c10::ScalarType: its numbers are part of PyTorch's files and do not change.
const char* type_word(int type) {
  static constexpr const char* kTypeWords[] = {
      "u8",   "i8",   "i16", "i32", "i64", "fp16", "fp32", "fp64", "c32", "c64",
      "c128", "bool", "i8",  "u8",  "i32", "bf16", "u8",   "u8",   "u8",  "u8",
      "u8",   "u8",   "u8",  "fp8", "fp8", "fp8",  "fp8",  "u16",  "u32", "u64"};
  constexpr int kFp8Scale = 44;
  if (type == kFp8Scale) return "fp8";
  return type >= 0 && static_cast<std::size_t>(type) < std::size(kTypeWords)
             ? kTypeWords[static_cast<std::size_t>(type)]
             : "u8";
}

std::int64_t elements(const FlopcastTensor& tensor) {
  std::int64_t all = 1;
  for (int i = 0; i < tensor.dims; ++i) all *= tensor.sizes[i];
  return all;
}

/// Sizes and strides along which it goes on: of one element, a stride means nothing.
bool goes_alike(const FlopcastTensor& a, const FlopcastTensor& b) {
  if (a.type != b.type || !a.strides || !b.strides) return false;
  int i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < a.dims && a.sizes[i] == 1) ++i;
    while (j < b.dims && b.sizes[j] == 1) ++j;
    if (i >= a.dims || j >= b.dims) return i >= a.dims && j >= b.dims;
    if (a.sizes[i] != b.sizes[j] || a.strides[i] != b.strides[j]) return false;
  }
}

/// Elements that lie in memory: less where it was expanded.
std::int64_t elements_in_memory(const FlopcastTensor& tensor) {
  std::int64_t all = 1;
  for (int i = 0; i < tensor.dims; ++i)
    if (!tensor.strides || tensor.strides[i] != 0) all *= tensor.sizes[i];
  return all;
}

/// Of `next`, which lies at `before` or behind it: a kernel that goes through both side by side finds these in the cache.
std::int64_t elements_in_both(const FlopcastTensor& before, const FlopcastTensor& next) {
  if (!goes_alike(before, next)) return 0;
  const std::int64_t own = elements_in_memory(next);
  const std::int64_t ahead =
      static_cast<const char*>(next.data) - static_cast<const char*>(before.data);
  if (ahead == 0) return own;
  const std::int64_t element = own > 0 ? next.bytes / own : 0;  // where there are no gaps
  if (element == 0 || own * element != next.bytes || ahead % element != 0) return 0;
  return std::max<std::int64_t>(0, own - ahead / element);
}

/// For each tensor, how many of its elements are another's as well that counts them.
std::vector<std::int64_t> counted_elsewhere(std::span<const FlopcastTensor> tensors) {
  std::vector<std::int64_t> counted(tensors.size(), 0);
  if (tensors.size() < 2) return counted;
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(tensors[a].data, a) < std::pair(tensors[b].data, b);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!tensors[order[i]].data) continue;
    counted[order[i]] = elements_in_both(tensors[order[i - 1]], tensors[order[i]]);
  }
  return counted;
}

/// @param counted of its elements, with others
std::string word_of(const FlopcastTensor& tensor, std::int64_t counted) {
  std::string text = type_word(tensor.type);
  text += ':';
  for (int i = 0; i < tensor.dims; ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(tensor.sizes[i]);
    const bool repeats = tensor.strides && tensor.strides[i] == 0 && tensor.sizes[i] > 1;
    if (repeats) text += '~';
  }
  if (counted > 0) text += '!' + std::to_string(counted);
  return text;
}

/// Words with how many of each follow one another.
using Runs = std::vector<std::pair<std::string, int>>;

void add(Runs& runs, std::string word) {
  if (!runs.empty() && runs.back().first == word) {
    ++runs.back().second;
  } else {
    runs.emplace_back(std::move(word), 1);
  }
}

std::string joined(const Runs& runs) {
  std::string all;
  for (const auto& [word, times] : runs) {
    if (!all.empty()) all += ',';
    all += word;
    if (times > 1) all += "*" + std::to_string(times);
  }
  return all.empty() ? "-" : all;
}

std::string by_type(std::span<const FlopcastTensor> tensors,
                    const std::vector<std::int64_t>& counted) {
  struct Sum {
    std::int64_t all = 0, counted = 0;
  };
  std::map<std::string, Sum> sums;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Sum& sum = sums[type_word(tensors[i].type)];
    sum.all += elements(tensors[i]);
    sum.counted += counted[i];
  }
  Runs runs;
  for (const auto& [type, sum] : sums) {
    const std::string also = sum.counted > 0 ? '!' + std::to_string(sum.counted) : std::string();
    add(runs, type + ":" + std::to_string(sum.all) + also);
  }
  return joined(runs);
}

/// Bytes of an element of a tensor whose values may be told: integers, few, behind each other; 0: of any other.
std::size_t listed(const FlopcastTensor& tensor) {
  const std::string_view type = type_word(tensor.type);
  const std::int64_t count = elements(tensor);
  if (!tensor.data || tensor.dims > 1 || count < 1 || count > kMostValues) return 0;
  if (tensor.dims == 1 && count > 1 && tensor.strides[0] != 1) return 0;
  return type == "i32" ? 4 : type == "i64" ? 8 : 0;
}

/// Whether memory holds what a GPU would have there. The host's always does.
bool is_valid(const FlopcastTensor& tensor) {
  const std::optional<Block> block = Memory::get().find(tensor.data);
  if (!block || !of_device(block->place)) return true;
  const auto bytes = static_cast<std::size_t>(tensor.bytes);
  settle_bytes(tensor.data, bytes);
  return Validity::get().valid(tensor.data, bytes);
}

std::int64_t value_at(const FlopcastTensor& tensor, std::size_t bytes, std::int64_t i) {
  const char* const at =
      static_cast<const char*>(tensor.data) + bytes * static_cast<std::size_t>(i);
  std::int32_t narrow = 0;
  std::int64_t wide = 0;
  std::memcpy(bytes == sizeof narrow ? static_cast<void*>(&narrow) : &wide, at, bytes);
  return bytes == sizeof narrow ? narrow : wide;
}

/// Numbers of any program: they may wrap around.
std::int64_t step_at(const FlopcastTensor& tensor, std::size_t bytes, std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value_at(tensor, bytes, i)) -
                                   static_cast<std::uint64_t>(value_at(tensor, bytes, i - 1)));
}

/// "@0+8192^5", as text.h says; nothing where it has no such values.
std::string values_of(const FlopcastTensor& tensor, std::size_t bytes) {
  if (bytes == 0 || !is_valid(tensor)) return {};
  const std::int64_t count = elements(tensor);
  std::string text;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t first = value_at(tensor, bytes, i);
    std::int64_t end = i + 1;
    const std::int64_t step = end < count ? step_at(tensor, bytes, end) : 0;
    while (end < count && step_at(tensor, bytes, end) == step) ++end;
    if (end - i < 3) end = i + 1;  // two of any kind are an even stretch
    text += (text.empty() ? '@' : ';') + std::to_string(first);
    if (end - i > 1) text += '+' + std::to_string(step) + '^' + std::to_string(end - i);
    i = end;
  }
  return text;
}

std::string word_of(const FlopcastArgument& argument, bool extension, bool& looked) {
  const std::string name = std::string(argument.name) + '=';
  if (argument.is_number) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", argument.number);
    return name + '#' + number;
  }
  const std::size_t bytes = extension || argument.tensor.dims > 0 ? listed(argument.tensor) : 0;
  looked = looked || bytes > 0;
  return name + word_of(argument.tensor, 0) + values_of(argument.tensor, bytes);
}

}  // namespace

TensorsText text_of(std::span<const FlopcastArgument> arguments, bool extension, bool& looked) {
  TensorsText text;
  Runs runs;
  std::vector<FlopcastTensor> tensors;
  for (const FlopcastArgument& argument : arguments) {
    add(runs, word_of(argument, extension, looked));
    if (argument.is_number) continue;
    text.places.push_back(argument.tensor.data);
    tensors.push_back(argument.tensor);
  }
  if (runs.size() > kToldByName) return {by_type(tensors, counted_elsewhere(tensors)), {}};
  text.word = joined(runs);
  return text;
}

TensorsText text_of(std::span<const FlopcastTensor> tensors,
                    const std::vector<const void*>& inputs) {
  TensorsText text;
  Runs runs;
  const std::vector<std::int64_t> counted = counted_elsewhere(tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const FlopcastTensor& tensor = tensors[i];
    const auto same =
        tensor.data ? std::find(inputs.begin(), inputs.end(), tensor.data) : inputs.end();
    add(runs, same == inputs.end() ? word_of(tensor, counted[i])
                                   : "=" + std::to_string(same - inputs.begin()));
    if (runs.size() > kTold) return {by_type(tensors, counted), {}};
    text.places.push_back(tensor.data);
  }
  text.word = joined(runs);
  return text;
}

}  // namespace flopcast::live
