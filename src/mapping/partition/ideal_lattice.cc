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

IdealLattice chain_lattice(std::span<const KernelSet> producers, bool depth_first) {
  IdealLattice lattice;
  lattice.ideals.emplace_back();
  std::vector<std::size_t> last_written(producers.size(), 0);
  while (lattice.size() <= producers.size()) {
    const KernelSet done = lattice.ideals.back();
    std::size_t next = producers.size();
    for (std::size_t kernel = 0; kernel < producers.size(); ++kernel) {
      if (done.has(kernel) || !producers[kernel].within(done)) continue;
      if (next == producers.size() || (depth_first && last_written[kernel] > last_written[next])) {
        next = kernel;
      }
    }
    KernelSet after = done;
    after.add(next);
    for (std::size_t kernel = 0; kernel < producers.size(); ++kernel) {
      if (producers[kernel].has(next)) last_written[kernel] = lattice.size();
    }
    lattice.cover_begin.push_back(static_cast<std::uint32_t>(lattice.covers.size()));
    lattice.covers.push_back(
        {static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(lattice.size())});
    lattice.ideals.push_back(after);
  }
  lattice.cover_begin.push_back(static_cast<std::uint32_t>(lattice.covers.size()));
  lattice.cover_begin.push_back(static_cast<std::uint32_t>(lattice.covers.size()));
  return lattice;
}

}  // namespace flopcast::mapping
