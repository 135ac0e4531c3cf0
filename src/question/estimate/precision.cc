#include "question/estimate/precision.h"

#include <fmt/format.h>

#include <string>

namespace flopcast::question {
namespace {

/// Products in 32 bits need no matrix unit.
bool multiplies_in(const Chip& chip, Precision precision) {
  const DataType type = multiplied_type(precision);
  return chip.matrix_rate(type).value > 0 ||
         (type == DataType::kFp32 && chip.vector_rate(type).value > 0);
}

}  // namespace

std::optional<Diagnostic> precision_problem(Precision precision, const Chip& chip) {
  if (multiplies_in(chip, precision)) return std::nullopt;
  std::string known;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto other = static_cast<Precision>(i);
    if (!multiplies_in(chip, other)) continue;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name(other));
  }
  return Diagnostic{ErrorCode::kUsage, "precision",
                    fmt::format("{} does not multiply in {}", chip.name, name(precision)),
                    known.empty() ? "use another chip" : "use one of " + known};
}

}  // namespace flopcast::question
