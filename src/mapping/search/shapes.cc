#include "mapping/search/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/divisors.h"

namespace flopcast::mapping {
namespace {

using Factors = std::array<unsigned, kParallelisms>;

/// Ways to share out one dimension.
std::vector<Factors> ways(unsigned size, bool split) {
  if (size == 1) return {{1, 1, 1}};
  if (!split) return {{size, 1, 1}, {1, size, 1}, {1, 1, size}};
  std::vector<Factors> all;
  for (const std::int64_t tp : divisors(size)) {
    for (const std::int64_t pp : divisors(size / tp)) {
      all.push_back({static_cast<unsigned>(tp), static_cast<unsigned>(pp),
                     static_cast<unsigned>(size / tp / pp)});
    }
  }
  return all;
}

MappingShape shape_of(std::vector<Factors> factors) {
  MappingShape shape;
  shape.factors = std::move(factors);
  for (const Factors& dimension : shape.factors) {
    for (std::size_t p = 0; p < kParallelisms; ++p) shape.degree[p] *= dimension[p];
  }
  return shape;
}

Result<std::vector<MappingShape>> fixed(const MappingSystem& system, const MappingSearch& search) {
  const auto wrong = [&](std::string what) {
    return Diagnostic{ErrorCode::kUsage, system.name, std::move(what),
                      "give the chips of every dimension that TP, PP and DP span"};
  };
  if (search.factors.size() != system.dimensions.size()) {
    return wrong(fmt::format("factors for {} dimensions were given, the network has {}",
                             search.factors.size(), system.dimensions.size()));
  }
  for (std::size_t d = 0; d < search.factors.size(); ++d) {
    const Factors& own = search.factors[d];
    if (std::uint64_t{own[0]} * own[1] * own[2] != system.dimensions[d].size) {
      return wrong(fmt::format("factors {} x {} x {} of dimension {} do not make {} chips", own[0],
                               own[1], own[2], d, system.dimensions[d].size));
    }
  }
  return std::vector<MappingShape>{shape_of(search.factors)};
}

bool allowed(const MappingShape& shape, const MappingSearch& search) {
  for (std::size_t p = 0; p < kParallelisms; ++p) {
    if (search.degree[p] != 0 && search.degree[p] != shape.degree[p]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> distinct_tiles(std::int64_t tokens) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 1; tile <= tokens; ++tile) {
    const std::int64_t count = (tokens + tile - 1) / tile;
    if (tile == 1 || (tokens + tile - 2) / (tile - 1) != count) tiles.push_back(tile);
  }
  return tiles;
}

Result<std::vector<MappingShape>> all_shapes(const MappingSystem& system,
                                             const MappingSearch& search) {
  if (!search.factors.empty()) return fixed(system, search);
  std::vector<std::vector<Factors>> partial{{}};
  for (const NetworkDimension& dimension : system.dimensions) {
    std::vector<std::vector<Factors>> longer;
    for (const std::vector<Factors>& start : partial) {
      for (const Factors& way : ways(dimension.size, search.split_dimensions)) {
        longer.push_back(start);
        longer.back().push_back(way);
      }
    }
    partial = std::move(longer);
  }
  std::vector<MappingShape> shapes;
  for (std::vector<Factors>& factors : partial) {
    MappingShape shape = shape_of(std::move(factors));
    if (allowed(shape, search)) shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) {
    return Diagnostic{
        ErrorCode::kUsage, system.name,
        fmt::format("no way to put TP {} PP {} DP {} (0: any) on the network's dimensions",
                    search.degree[0], search.degree[1], search.degree[2]),
        search.split_dimensions ? "their product must be the number of chips"
                                : "let parallelisms share a dimension (--split-dimensions)"};
  }
  return shapes;
}

}  // namespace flopcast::mapping
