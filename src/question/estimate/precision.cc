#include "question/estimate/precision.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace flopcast::question {

std::optional<Diagnostic> precision_problem(Precision precision, const Chip& chip) {
  using Pair = std::pair<Precision, DataType>;
  constexpr std::array<Pair, 8> kTypes = {
      Pair{Precision::kFp16, DataType::kFp16}, Pair{Precision::kBf16, DataType::kBf16},
      Pair{Precision::kFp8, DataType::kFp8},   Pair{Precision::kFp8Block, DataType::kFp8},
      Pair{Precision::kMxfp8, DataType::kFp8}, Pair{Precision::kNvfp4, DataType::kFp4},
      Pair{Precision::kMxfp4, DataType::kFp4}, Pair{Precision::kInt8, DataType::kInt8}};
  const auto has = [&](DataType type) { return chip.matrix_rate(type).value > 0; };
  std::string known;
  bool missing = false;
  for (const auto& [kind, type] : kTypes) {
    if (kind == precision && !has(type)) missing = true;
    if (has(type)) known += fmt::format("{}{}", known.empty() ? "" : ", ", name(kind));
  }
  if (!missing) return std::nullopt;
  return Diagnostic{ErrorCode::kUsage, "precision",
                    fmt::format("{} does not multiply in {}", chip.name, name(precision)),
                    known.empty() ? "use another chip" : "use one of " + known};
}

}  // namespace flopcast::question
