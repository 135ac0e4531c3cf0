#include "live/engine/pricing/device_facts.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace flopcast::live {
namespace {

constexpr double kMebibyte = 1 << 20;

/// Memory as programs see it ("total capacity" of PyTorch's messages on these chips), in MiB: the rest is the
/// firmware's.
struct Visible {
  std::string_view chip;
  double mebibytes;
};
constexpr Visible kVisible[] = {{"rtx-3090", 24268},
                                {"rtx-4090", 24217},
                                {"a100-sxm-40g", 40339},
                                {"a100-sxm-80g", 81050},
                                {"h100-sxm", 80995}};
/// Where nobody published it.
constexpr double kVisibleShare = 0.988;

struct Capability {
  std::string_view of;  ///< a generation, or a chip that differs from it
  unsigned major, minor;
};
constexpr Capability kCapabilities[] = {{"volta", 7, 0},  {"turing", 7, 5},   {"ampere", 8, 0},
                                        {"ada", 8, 9},    {"hopper", 9, 0},   {"blackwell", 10, 0},
                                        {"a40", 8, 6},    {"rtx-3090", 8, 6}, {"b300", 10, 3},
                                        {"gb300", 10, 3}, {"rtx-pro", 12, 0}};

double visible_bytes(const Chip& chip) {
  const auto known = std::find_if(std::begin(kVisible), std::end(kVisible),
                                  [&](const Visible& one) { return one.chip == chip.name; });
  return known != std::end(kVisible) ? known->mebibytes * kMebibyte
                                     : chip.hbm_capacity.value * kVisibleShare;
}

/// A device of so much memory counts it in whole pages.
std::uint64_t in_pages(double bytes) {
  constexpr std::uint64_t kPage = 2 << 20;
  return static_cast<std::uint64_t>(bytes) / kPage * kPage;
}

}  // namespace

DeviceFacts device_facts(const Chip& chip) {
  DeviceFacts facts;
  // As NVIDIA's own libraries name it, where the catalogue knows that.
  const auto own = std::find_if(chip.aliases.begin(), chip.aliases.end(), [](const auto& alias) {
    return alias.starts_with("NVIDIA ") || alias.starts_with("Tesla ");
  });
  const std::string& name = own != chip.aliases.end() ? *own : chip.name;
  name.copy(facts.name, sizeof facts.name - 1);
  facts.memory_bytes = in_pages(visible_bytes(chip));
  facts.l2_bytes = static_cast<std::uint64_t>(chip.on_chip_memory.value);
  facts.cores = chip.cores;
  facts.clock_khz = static_cast<std::uint32_t>(std::lround(chip.tiles.hertz / 1000));
  facts.major = 8;
  for (const Capability& capability : kCapabilities) {
    if (chip.architecture.starts_with(capability.of) || chip.name.starts_with(capability.of)) {
      facts.major = capability.major;
      facts.minor = capability.minor;
    }
  }
  return facts;
}

}  // namespace flopcast::live
