// Floor 6: the systems of the published studies of DFModel.
//
//   published_systems(Catalog::builtin(), PublishedNetwork::kLanguageModel)
//     80 systems: 4 chips x 5 topologies x 2 memories x 2 interconnects, 1,024 chips each
//
// Source: Ko et al., "DFModel", section VI, with the parameters of its published setups: the ones that
// section VI.C prints do not give the paper's ratios.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast {

/// Which parallelism the published runs put on which dimension.
enum class PublishedNetwork : std::uint8_t {
  kLanguageModel,  ///< 8 x 128 (TP, PP), 3-D 8 x 64 x 2 (TP, PP, DP); NVLink on the first dimension
  kSquare,         ///< DLRM, FFT, HPL: 32 x 32, 3-D 8 x 8 x 16, DGX 8 x 128; NVLink on all
};

/// Chip, topology, memory and interconnect, each as it stands in "h100/2d_torus_ddr_pcie".
struct PublishedNames {
  /// chips
  static constexpr std::array<std::string_view, 4> kChips = {"h100", "tpu", "sn30", "wse-2"};
  /// and their dimensions
  static constexpr std::array<std::string_view, 5> kTopologies = {"2d_torus", "dragonfly",
                                                                  "3d_torus", "dgx_1", "dgx_2"};
  static constexpr std::array<std::string_view, 2> kMemories = {"ddr", "hbm"};  ///< DRAM
  /// of the network
  static constexpr std::array<std::string_view, 2> kLinks = {"pcie", "nvlink"};
};

/// The 80 systems, links varying fastest, named "chip/topology_memory_link". Errors: a
/// catalogue without the published chips or technologies.
Result<std::vector<MappingSystem>> published_systems(const Catalog& catalog,
                                                     PublishedNetwork network);
/// One of them. Errors (kUsage): no such name.
Result<MappingSystem> published_system(std::string_view name, const Catalog& catalog,
                                       PublishedNetwork network);

/// The assignment of the published runs: the first dimension is tensor-, the second pipeline-, the
/// third data-parallel. For MappingSearch::factors.
std::vector<std::array<unsigned, kParallelisms>> published_factors(const MappingSystem& system);

}  // namespace flopcast
