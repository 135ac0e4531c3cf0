#include "mapping/system/topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/setting.h"

namespace flopcast::mapping {
namespace {

constexpr std::uint64_t kMostChips = 1U << 24;
constexpr const char* kExample = "write it like torus:4x2, dragonfly:8x128 or ring:8,switch:16";

/// What a word stands for: the kind of every dimension, the last for all further ones if `any`.
struct TopologyWord {
  std::string_view word;
  std::vector<DimensionKind> kinds;
  bool any = false;
};

const std::vector<TopologyWord>& topology_words() {
  constexpr DimensionKind kRing = DimensionKind::kRing, kFull = DimensionKind::kFullyConnected,
                          kSwitch = DimensionKind::kSwitch;
  static const std::vector<TopologyWord> words = {
      {"ring", {kRing}},           {"torus", {kRing}, true},
      {"full", {kFull}},           {"fully-connected", {kFull}},
      {"switch", {kSwitch}},       {"dragonfly", {kFull, kFull}},
      {"dgx-1", {kRing, kSwitch}}, {"dgx-2", {kSwitch, kSwitch}},
  };
  return words;
}

Diagnostic usage(std::string_view text, std::string what, std::string hint) {
  return {ErrorCode::kUsage, fmt::format("topology '{}'", text), std::move(what), std::move(hint)};
}

Result<const TopologyWord*> find_word(std::string_view word, std::string_view text) {
  std::vector<std::string> names;
  for (const TopologyWord& known : topology_words()) {
    if (name_key(known.word) == name_key(word)) return &known;
    names.emplace_back(known.word);
  }
  return usage(text, fmt::format("no topology is called '{}'", word),
               did_you_mean(word, names, kExample));
}

/// "torus:4x2" onto the end of `dimensions`.
std::optional<Diagnostic> add_item(std::string_view item, std::string_view text,
                                   std::vector<NetworkDimension>& dimensions) {
  const std::size_t colon = std::min(item.find(':'), item.size());
  const Result<const TopologyWord*> found = find_word(trim(item.substr(0, colon)), text);
  if (!found) return found.error();
  const TopologyWord& word = **found;
  Setting sizes;
  sizes.key = std::string(word.word);
  sizes.value = std::string(trim(item.substr(std::min(colon + 1, item.size()))));
  const Result<std::vector<unsigned>> counts = setting_counts(sizes);
  if (!counts) return usage(text, counts.error().what, kExample);
  const bool fits = counts->size() == word.kinds.size() || (word.any && !counts->empty());
  if (!fits) {
    return usage(
        text,
        fmt::format("{} takes {} sizes, found {}", word.word, word.kinds.size(), counts->size()),
        kExample);
  }
  for (std::size_t i = 0; i < counts->size(); ++i) {
    NetworkDimension dimension;
    dimension.kind = word.kinds[std::min(i, word.kinds.size() - 1)];
    dimension.size = (*counts)[i];
    dimensions.push_back(dimension);
  }
  return std::nullopt;
}

/// Of everything a level's child sends, what one of its chips gets.
double chip_share(const Level& level, double inside) {
  return level.efficiency / level.oversubscription / inside;
}

NetworkDimension level_dimension(const Level& level, double inside) {
  NetworkDimension dimension;
  dimension.size = level.size;
  dimension.latency = level.latency;
  const bool direct = level.fabric == FabricKind::kRing || level.fabric == FabricKind::kTorus ||
                      level.fabric == FabricKind::kFullyConnected;
  dimension.kind = !direct                                       ? DimensionKind::kSwitch
                   : level.fabric == FabricKind::kFullyConnected ? DimensionKind::kFullyConnected
                                                                 : DimensionKind::kRing;
  const BytesPerSecond sent = direct ? level.neighbour_bandwidth() : level.child_bandwidth();
  dimension.bandwidth = sent * chip_share(level, inside);
  return dimension;
}

}  // namespace

Result<std::vector<NetworkDimension>> parse_topology(std::string_view text) {
  std::vector<NetworkDimension> dimensions;
  std::uint64_t chips = 1;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::size_t before = dimensions.size();
    if (auto error = add_item(text.substr(at, end - at), text, dimensions)) return *error;
    for (std::size_t d = before; d < dimensions.size(); ++d) {
      chips = std::min(chips * dimensions[d].size, kMostChips + 1);
    }
    at = end + 1;
  }
  constexpr std::size_t kMostDimensions = 8;
  if (chips > kMostChips || dimensions.size() > kMostDimensions) {
    return usage(text, chips > kMostChips ? "has more than 2^24 chips" : "has over 8 dimensions",
                 kExample);
  }
  return dimensions;
}

std::vector<NetworkDimension> level_dimensions(const Cluster& cluster) {
  std::vector<NetworkDimension> dimensions;
  double inside = 1;
  for (const Level& level : cluster.levels) {
    if (level.size > 1) {
      const NetworkDimension whole = level_dimension(level, inside);
      const bool torus = level.fabric == FabricKind::kTorus;
      for (const unsigned size : torus ? level.shape : std::vector<unsigned>{level.size}) {
        if (size == 1) continue;
        dimensions.push_back(whole);
        dimensions.back().size = size;
      }
    }
    inside *= level.size;
  }
  if (dimensions.empty()) dimensions.push_back({DimensionKind::kSwitch, 1, {}, {}});
  return dimensions;
}

void take_links_of(const Cluster& cluster, std::vector<NetworkDimension>& dimensions) {
  double across = 1;
  for (NetworkDimension& dimension : dimensions) {
    across *= dimension.size;
    double inside = 1;
    for (const Level& level : cluster.levels) {
      if (level.size > 1) {
        dimension.bandwidth = level.child_bandwidth() * chip_share(level, inside);
        dimension.latency = level.latency;
      }
      inside *= level.size;
      if (inside >= across) break;
    }
  }
}

}  // namespace flopcast::mapping
