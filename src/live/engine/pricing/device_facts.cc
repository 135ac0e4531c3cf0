#include "live/engine/pricing/device_facts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "flopcast/hardware/capability.h"

namespace flopcast::live {
namespace {

/// What programs see of memory where the catalogue does not say: the rest is the firmware's.
constexpr double kVisibleShare = 0.988;

/// Of what is none of these.
constexpr double kOtherCapability = 8.0;

std::optional<double> fact_of(const Chip& chip, std::string_view key) {
  for (const Fact& fact : chip.facts) {
    if (fact.key == key) return fact.value;
  }
  return std::nullopt;
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
  facts.memory_bytes =
      in_pages(chip.hbm_capacity.value * fact_of(chip, "visible_share").value_or(kVisibleShare));
  facts.l2_bytes = static_cast<std::uint64_t>(chip.on_chip_memory.value);
  facts.cores = chip.cores;
  facts.clock_khz = static_cast<std::uint32_t>(std::lround(chip.tiles.hertz / 1000));
  const long tenths = std::lround(compute_capability(chip).value_or(kOtherCapability) * 10);
  facts.major = static_cast<std::uint32_t>(tenths / 10);
  facts.minor = static_cast<std::uint32_t>(tenths % 10);
  return facts;
}

}  // namespace flopcast::live
