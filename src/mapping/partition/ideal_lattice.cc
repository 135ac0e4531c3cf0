#include "mapping/partition/ideal_lattice.h"

#include <unordered_map>

namespace flopcast::mapping {

std::optional<IdealLattice> ideal_lattice(std::span<const KernelSet> producers, std::size_t most) {
  IdealLattice lattice;
  std::unordered_map<KernelSet, std::uint32_t, KernelSetHash> known;
  lattice.ideals.emplace_back();
  known.emplace(KernelSet{}, 0);
  // Ideals are met in order of size: those of one size follow from those one smaller.
  for (std::size_t at = 0; at < lattice.ideals.size(); ++at) {
    lattice.cover_begin.push_back(static_cast<std::uint32_t>(lattice.covers.size()));
    const KernelSet ideal = lattice.ideals[at];
    for (std::size_t kernel = 0; kernel < producers.size(); ++kernel) {
      if (ideal.has(kernel) || !producers[kernel].within(ideal)) continue;
      KernelSet larger = ideal;
      larger.add(kernel);
      const auto [entry, is_new] =
          known.emplace(larger, static_cast<std::uint32_t>(lattice.ideals.size()));
      if (is_new) {
        if (lattice.ideals.size() == most) return std::nullopt;
        lattice.ideals.push_back(larger);
      }
      lattice.covers.push_back({static_cast<std::uint32_t>(kernel), entry->second});
    }
  }
  lattice.cover_begin.push_back(static_cast<std::uint32_t>(lattice.covers.size()));
  return lattice;
}

}  // namespace flopcast::mapping
