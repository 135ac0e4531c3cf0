#include "live/standin/operators/text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flopcast::live {
namespace {

/// More different tensors than that are told by type.
constexpr std::size_t kTold = 16;

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

std::string word_of(const FlopcastTensor& tensor) {
  std::string text = type_word(tensor.type);
  text += ':';
  for (int i = 0; i < tensor.dims; ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(tensor.sizes[i]);
    const bool repeats = tensor.strides && tensor.strides[i] == 0 && tensor.sizes[i] > 1;
    if (repeats) text += '~';
  }
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

std::string by_type(std::span<const FlopcastTensor> tensors) {
  std::map<std::string, std::int64_t> sums;
  for (const FlopcastTensor& tensor : tensors) sums[type_word(tensor.type)] += elements(tensor);
  Runs runs;
  for (const auto& [type, sum] : sums) add(runs, type + ":" + std::to_string(sum));
  return joined(runs);
}

}  // namespace

TensorsText text_of(std::span<const FlopcastTensor> tensors,
                    const std::vector<const void*>& inputs) {
  TensorsText text;
  Runs runs;
  for (const FlopcastTensor& tensor : tensors) {
    const auto same =
        tensor.data ? std::find(inputs.begin(), inputs.end(), tensor.data) : inputs.end();
    add(runs, same == inputs.end() ? word_of(tensor) : "=" + std::to_string(same - inputs.begin()));
    if (runs.size() > kTold) return {by_type(tensors), {}};
    text.places.push_back(tensor.data);
  }
  text.word = joined(runs);
  return text;
}

}  // namespace flopcast::live
