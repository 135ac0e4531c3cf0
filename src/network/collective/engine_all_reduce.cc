#include "network/collective/engine_all_reduce.h"

#include "network/collective/levels.h"

namespace flopcast::network {
namespace {

constexpr double kLargest = 8 << 20;  // bytes: the buffer that engines register
constexpr unsigned kMostRanks = 8;
// A kernel out of a replayed graph with one barrier among the ranks, seen alike on every measured
// system; two shots have a second one.
constexpr Seconds kShot{4e-6};

bool one_shot(unsigned ranks, Bytes size) {
  return ranks == 2 || (ranks <= 4 && size.value < 512 << 10) || size.value < 256 << 10;
}

}  // namespace

std::optional<Seconds> engine_all_reduce(std::string_view library, const GroupShape& shape,
                                         Bytes size) {
  if (shape.nodes > 1 || shape.ranks > kMostRanks || size.value > kLargest) return std::nullopt;
  if (shape.levels.empty()) return std::nullopt;
  const unsigned most_over_pcie = library == "TRTLLM" ? 1 : 2;
  BytesPerSecond port = shape.levels[0].chip_share();
  for (const LevelUse& use : shape.levels) {
    if (is_pcie(*use.level) && shape.ranks > most_over_pcie) return std::nullopt;
    port = std::min(port, use.chip_share());
  }
  const closed_form::Hop hop{kShot, port};
  return one_shot(shape.ranks, size) ? closed_form::one_shot_all_reduce(shape.ranks, size, hop)
                                     : closed_form::two_shot_all_reduce(shape.ranks, size, hop);
}

}  // namespace flopcast::network
