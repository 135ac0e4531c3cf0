#include "cost/forms/rates.h"

#include <algorithm>
#include <array>

namespace flopcast::cost {
namespace {

/// Wider types a kernel falls back on, nearest first.
constexpr std::array<DataType, 7> kWider = {DataType::kFp6,  DataType::kFp8,  DataType::kInt8,
                                            DataType::kBf16, DataType::kFp16, DataType::kTf32,
                                            DataType::kFp32};

std::size_t rank_of(DataType type) {
  if (type == DataType::kFp4 || type == DataType::kInt4) return 0;
  const auto at = std::find(kWider.begin(), kWider.end(), type);
  // bf16 and fp16 stand in for one another.
  if (type == DataType::kFp16) return 3;
  return at == kWider.end() ? kWider.size() : static_cast<std::size_t>(at - kWider.begin());
}

}  // namespace

OperandBytes operand_bytes(GemmType type) {
  switch (type) {
    case GemmType::kFp32:
    case GemmType::kTf32:
      return {4, 4, 4};
    case GemmType::kFp8:
    case GemmType::kFp8Static:
    case GemmType::kFp8Block:
    case GemmType::kSmoothQuant:
      return {1, 1, 2};
    case GemmType::kNvfp4:
      return {0.5, 0.5, 2};
    case GemmType::kInt8WeightOnly:
      return {2, 1, 2};
    case GemmType::kInt4WeightOnly:
    case GemmType::kMxfp4Weight:
      return {2, 0.5, 2};
    case GemmType::kMxfp4Mxfp8:
      return {1, 0.5, 2};
    case GemmType::kBf16:
    case GemmType::kFp16:
      break;
  }
  return {2, 2, 2};
}

DataType arithmetic(GemmType type) {
  switch (type) {
    case GemmType::kFp32:
      return DataType::kFp32;
    case GemmType::kTf32:
      return DataType::kTf32;
    case GemmType::kFp16:
      return DataType::kFp16;
    case GemmType::kFp8:
    case GemmType::kFp8Static:
    case GemmType::kFp8Block:
    case GemmType::kMxfp4Mxfp8:
      return DataType::kFp8;
    case GemmType::kNvfp4:
      return DataType::kFp4;
    case GemmType::kSmoothQuant:
      return DataType::kInt8;
    case GemmType::kBf16:
    case GemmType::kInt8WeightOnly:
    case GemmType::kInt4WeightOnly:
    case GemmType::kMxfp4Weight:
      break;
  }
  return DataType::kBf16;
}

MatrixRate matrix_rates(const Chip& chip, DataType type) {
  // Chips without SMs (TPUs, dataflow chips) schedule whole matrices: as if they had many.
  const double cores = chip.cores >= 16 ? chip.cores : 128;
  const double bandwidth = std::max(chip.hbm_bandwidth.value, 1.0);
  const auto rate = [&chip](DataType t) {
    return std::max(chip.matrix_rate(t).value, chip.vector_rate(t).value);
  };
  if (rate(type) > 0) return {{rate(type), bandwidth, cores}, false};
  const bool whole = type == DataType::kInt8 || type == DataType::kInt4;
  for (std::size_t i = rank_of(type); i < kWider.size(); ++i) {
    if (kWider[i] == DataType::kInt8 && !whole) continue;  // which holds no fractions
    if (rate(kWider[i]) > 0) return {{rate(kWider[i]), bandwidth, cores}, true};
  }
  double best = 1;
  for (std::size_t i = 0; i < kDataTypes; ++i)
    best = std::max(best, rate(static_cast<DataType>(i)));
  return {{best, bandwidth, cores}, true};
}

}  // namespace flopcast::cost

namespace flopcast {

FlopsPerSecond peak_rate(const Chip& chip, DataType type) {
  return {cost::matrix_rates(chip, type).rates.flops};
}

}  // namespace flopcast
