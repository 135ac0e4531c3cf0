// Names of the enumerations of mapping.h, and shapes in words.
#include <fmt/format.h>

#include <array>

#include "flopcast/mapping.h"

namespace flopcast {
namespace {

template <typename Kind, std::size_t Count>
std::string_view pick(const std::array<std::string_view, Count>& names, Kind kind) {
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string_view name(DimensionKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"ring", "full", "switch"};
  return pick(kNames, kind);
}

std::string_view name(MappingOverlap overlap) {
  constexpr std::array<std::string_view, 3> kNames = {"perfect", "compute-memory", "none"};
  return pick(kNames, overlap);
}

std::string_view name(Parallelism parallelism) {
  constexpr std::array<std::string_view, kParallelisms> kNames = {"tp", "pp", "dp"};
  return pick(kNames, parallelism);
}

std::string_view name(Sharding sharding) {
  constexpr std::array<std::string_view, 7> kNames = {"none", "outer", "m",   "n",
                                                      "k",    "k->m",  "k->n"};
  return pick(kNames, sharding);
}

std::string_view name(Layout layout) {
  constexpr std::array<std::string_view, 3> kNames = {"replicated", "features", "tokens"};
  return pick(kNames, layout);
}

std::string_view name(MappingLimit limit) {
  constexpr std::array<std::string_view, 3> kNames = {"compute", "memory", "network"};
  return pick(kNames, limit);
}

std::string shape_words(const MappingShape& shape) {
  return fmt::format("TP {} x PP {} x DP {}", shape.tp(), shape.pp(), shape.dp());
}

}  // namespace flopcast
