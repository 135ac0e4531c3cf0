// Shapes of operators' inputs, as recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"
#include "flopcast/replay/rank_model.h"

namespace flopcast::whatif {

using Dims = std::vector<std::int64_t>;

/// "[[16384,768],[],[[2,3],[4]]]": each tensor's dimensions, those of lists of tensors one after the
/// other; scalars have none.
std::vector<Dims> parse_dims(std::string_view text);

/// Inputs of an operator's row; empty where none were recorded.
std::vector<Dims> dims_of(const TraceSet& set, const replaying::RankModel& rank, std::uint32_t row);
/// Its input types: "c10::BFloat16", as many as it has inputs; empty where none were recorded.
std::vector<std::string> types_of(const TraceSet& set, const replaying::RankModel& rank,
                                  std::uint32_t row);

/// The product of matrices that an operator's inputs are: the first of them with two dimensions or
/// more, times a later one of two (or as many, of a batch) that fits. Either way round: weights of a
/// linear layer are stored transposed.
std::optional<Gemm> gemm_of(const std::vector<Dims>& inputs);

/// "c10::BFloat16": kBf16. Products of "float" are taken as TF32, which they are by default in cuDNN.
std::optional<GemmType> gemm_type_of(std::string_view recorded);

}  // namespace flopcast::whatif
