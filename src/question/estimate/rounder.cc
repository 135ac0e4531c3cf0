#include "flopcast/question/rounder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text/format.h"

namespace flopcast {
namespace {

/// The nearest multiple of a power of two that is at most a 16th of the size.
std::int64_t rounded(std::int64_t size, std::int64_t most) {
  constexpr std::int64_t kShare = 16;
  const auto part = static_cast<std::uint64_t>(std::max<std::int64_t>(size / kShare, 1));
  const std::int64_t unit = std::min(static_cast<std::int64_t>(std::bit_floor(part)), most);
  return (size + unit / 2) / unit * unit;
}

}  // namespace

std::optional<RounderStep> rounder_sizes(std::int64_t global_batch, std::int64_t sequence) {
  constexpr std::int64_t kTile = 128;  // rows that kernels work on at a time
  constexpr std::int64_t kMostBatch = std::int64_t{1} << 40;
  if (global_batch < 1 || sequence < 1 || global_batch > kMostBatch) return std::nullopt;
  const RounderStep step{rounded(global_batch, kMostBatch), rounded(sequence, kTile), {}};
  if (step.global_batch == global_batch && step.sequence == sequence) return std::nullopt;
  return step;
}

std::string rounder_words(const RounderStep& asked, const std::optional<RounderStep>& rounder) {
  constexpr double kMuch = 0.03;
  if (!rounder || !(rounder->time > Seconds{0})) return {};
  const auto tokens = [](const RounderStep& step) {
    return static_cast<double>(step.global_batch) * static_cast<double>(step.sequence);
  };
  const double longer = asked.time / rounder->time * tokens(*rounder) / tokens(asked) - 1;
  if (longer < kMuch) return {};
  const auto words = [](const RounderStep& step) {
    return fmt::format("{} of {} tokens",
                       counted(static_cast<std::uint64_t>(step.global_batch), "sequence"),
                       grouped(static_cast<std::uint64_t>(step.sequence)));
  };
  return fmt::format("{} take {:.0f} % longer a token than {} would: {} a step then", words(asked),
                     100 * longer, words(*rounder), short_time(rounder->time));
}

}  // namespace flopcast
