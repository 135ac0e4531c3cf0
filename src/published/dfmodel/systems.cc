#include <fmt/format.h>

#include "base/text/names.h"
#include "flopcast/published/studies.h"

namespace flopcast {
namespace {

using Names = PublishedNames;

/// How the catalogue calls the chips.
constexpr std::array<std::string_view, Names::kChips.size()> kCatalogued = {
    "h100-dfmodel", "tpu-v4-dfmodel", "sn30-dfmodel", "wse-2-dfmodel"};
/// The topologies in SystemOptions' words.
using Topologies = std::array<std::string_view, Names::kTopologies.size()>;
constexpr Topologies kLanguageModel = {"torus:8x128", "dragonfly:8x128", "torus:8x64x2",
                                       "dgx-1:8x128", "dgx-2:8x128"};
constexpr Topologies kSquare = {"torus:32x32", "dragonfly:32x32", "torus:8x8x16", "dgx-1:8x128",
                                "dgx-2:8x128"};
constexpr unsigned kChipCount = 1024;

struct Choice {
  std::size_t chip = 0, topology = 0, memory = 0, link = 0;
};

std::string name_of(const Choice& choice) {
  return fmt::format("{}/{}_{}_{}", Names::kChips[choice.chip], Names::kTopologies[choice.topology],
                     Names::kMemories[choice.memory], Names::kLinks[choice.link]);
}

std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (std::size_t chip = 0; chip < Names::kChips.size(); ++chip) {
    for (std::size_t topology = 0; topology < Names::kTopologies.size(); ++topology) {
      for (std::size_t memory = 0; memory < Names::kMemories.size(); ++memory) {
        for (std::size_t link = 0; link < Names::kLinks.size(); ++link) {
          all.push_back({chip, topology, memory, link});
        }
      }
    }
  }
  return all;
}

Result<MappingSystem> make(const Choice& choice, const Catalog& catalog, PublishedNetwork network) {
  const bool square = network == PublishedNetwork::kSquare;
  SystemOptions options;
  options.topology = (square ? kSquare : kLanguageModel)[choice.topology];
  options.memory = Names::kMemories[choice.memory];
  options.link = Names::kLinks[choice.link];
  // Named per dimension it is not joined by PCIe outside the first.
  if (square) options.link += fmt::format(",{}", Names::kLinks[choice.link]);
  Result<MappingSystem> system = mapping_system(
      fmt::format("{} x {}", kChipCount, kCatalogued[choice.chip]), options, catalog);
  if (system) system->name = name_of(choice);
  return system;
}

}  // namespace

Result<std::vector<MappingSystem>> published_systems(const Catalog& catalog,
                                                     PublishedNetwork network) {
  std::vector<MappingSystem> systems;
  for (const Choice& choice : all_choices()) {
    Result<MappingSystem> system = make(choice, catalog, network);
    if (!system) return system.error();
    systems.push_back(std::move(*system));
  }
  return systems;
}

Result<MappingSystem> published_system(std::string_view name, const Catalog& catalog,
                                       PublishedNetwork network) {
  std::vector<std::string> names;
  for (const Choice& choice : all_choices()) {
    names.push_back(name_of(choice));
    if (names.back() == name) return make(choice, catalog, network);
  }
  return Diagnostic{ErrorCode::kUsage, "", fmt::format("no published system is called '{}'", name),
                    did_you_mean(name, names, "write it like h100/2d_torus_ddr_pcie")};
}

std::vector<std::array<unsigned, kParallelisms>> published_factors(const MappingSystem& system) {
  std::vector<std::array<unsigned, kParallelisms>> factors;
  for (std::size_t d = 0; d < system.dimensions.size(); ++d) {
    std::array<unsigned, kParallelisms> one = {1, 1, 1};
    one[std::min(d, kParallelisms - 1)] = system.dimensions[d].size;
    factors.push_back(one);
  }
  return factors;
}

}  // namespace flopcast
