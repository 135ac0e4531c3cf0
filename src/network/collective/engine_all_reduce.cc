#include "network/collective/engine_all_reduce.h"

#include <algorithm>

#include "base/text/versions.h"
#include "network/collective/levels.h"

namespace flopcast::network {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
// A kernel out of a replayed graph with one barrier among the ranks, seen alike on every measured
// system; two shots have a second one.
constexpr Seconds kShot{4e-6};

bool one_shot(unsigned ranks, Bytes size) {
  return ranks == 2 || (ranks <= 4 && size.value < 512 * kKiB) || size.value < 256 * kKiB;
}

bool is_taken(const EngineKernel& kernel, unsigned ranks, bool over_pcie, double bytes) {
  if (kernel.library == "TRTLLM")
    return !over_pcie && ranks <= 8 && bytes <= (ranks == 2 ? 16e6 : 8e6);
  if (over_pcie && ranks > 2) return false;
  if (kernel.library.starts_with("SGLang")) {
    const bool newer = !over_pcie && !older_version(kernel.version, "0.5.12");
    return newer ? ranks <= 8 && bytes <= 16 * kMiB
                 : ranks % 2 == 0 && ranks <= 8 && bytes <= 8 * kMiB;
  }
  return ranks % 2 == 0 && ranks <= 8 && bytes < 8 * kMiB;
}

}  // namespace

std::optional<Seconds> engine_all_reduce(const EngineKernel& kernel, const GroupShape& shape,
                                         Bytes size) {
  if (shape.nodes > 1 || shape.levels.empty()) return std::nullopt;
  const bool over_pcie = std::ranges::any_of(
      shape.levels, [](const LevelUse& use) { return use.level->transport == Transport::kPcie; });
  if (!is_taken(kernel, shape.ranks, over_pcie, size.value)) return std::nullopt;
  BytesPerSecond port = shape.levels[0].chip_share();
  for (const LevelUse& use : shape.levels) port = std::min(port, use.chip_share());
  const closed_form::Hop hop{kShot, port};
  return one_shot(shape.ranks, size) ? closed_form::one_shot_all_reduce(shape.ranks, size, hop)
                                     : closed_form::two_shot_all_reduce(shape.ranks, size, hop);
}

}  // namespace flopcast::network
