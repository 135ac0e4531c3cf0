#include <utility>

#include "base/text/names.h"
#include "flopcast/hardware.h"

namespace flopcast {

std::string_view name(DataType type) {
  constexpr std::string_view kNames[kDataTypes] = {"fp64", "fp32", "tf32", "bf16", "fp16",
                                                   "fp8",  "int8", "fp6",  "fp4",  "int4"};
  return kNames[static_cast<int>(type)];
}

std::optional<DataType> parse_data_type(std::string_view text) {
  constexpr std::pair<std::string_view, DataType> kOthers[] = {
      {"bfloat16", DataType::kBf16},  {"half", DataType::kFp16},
      {"float16", DataType::kFp16},   {"float", DataType::kFp32},
      {"float32", DataType::kFp32},   {"double", DataType::kFp64},
      {"float64", DataType::kFp64},   {"e4m3", DataType::kFp8},
      {"e5m2", DataType::kFp8},       {"fp8e4m3", DataType::kFp8},
      {"fp8e5m2", DataType::kFp8},    {"float8e4m3fn", DataType::kFp8},
      {"float8e5m2", DataType::kFp8}, {"mxfp8", DataType::kFp8},
      {"mxfp6", DataType::kFp6},      {"mxfp4", DataType::kFp4},
      {"nvfp4", DataType::kFp4},
  };
  const std::string key = name_key(text);
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    if (key == name(static_cast<DataType>(i))) return static_cast<DataType>(i);
  }
  for (const auto& [other, type] : kOthers) {
    if (key == other) return type;
  }
  return std::nullopt;
}

double bytes_per_element(DataType type) {
  constexpr double kBytes[kDataTypes] = {8, 4, 4, 2, 2, 1, 1, 0.75, 0.5, 0.5};
  return kBytes[static_cast<int>(type)];
}

}  // namespace flopcast
