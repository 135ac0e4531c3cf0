// Compute capabilities of generations of chips.
#include "flopcast/hardware/capability.h"

#include <string_view>

namespace flopcast {
namespace {

/// Of a generation; a chip that differs from it has a fact of its own.
struct Capability {
  std::string_view architecture;
  double number;
};
constexpr Capability kCapabilities[] = {
    {"volta", 7.0},  {"turing", 7.5},     {"ampere", 8.0},          {"ada", 8.9},
    {"hopper", 9.0}, {"blackwell", 10.0}, {"blackwell-ultra", 10.3}};
}  // namespace

std::optional<double> compute_capability(const Chip& chip) {
  for (const Fact& fact : chip.facts) {
    if (fact.key == "compute_capability") return fact.value;
  }
  for (const Capability& generation : kCapabilities) {
    if (generation.architecture == chip.architecture) return generation.number;
  }
  return std::nullopt;
}

}  // namespace flopcast
