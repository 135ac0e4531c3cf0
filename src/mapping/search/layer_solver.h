// Floor 5: the partitions of one layer for one way to cut it among chips and into microbatches and
// tiles: the innermost problem of the search.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mapping/partition/bounded_path.h"
#include "mapping/partition/ideal_lattice.h"
#include "mapping/partition/path.h"
#include "mapping/partition/program_builder.h"
#include "mapping/search/step_model.h"

namespace flopcast::mapping {

/// The parts of a problem that depend on the graph alone: lattices and pins of its passes.
class GraphPasses {
 public:
  /// Errors (kUsage): pins of kernels that are not there.
  static Result<GraphPasses> make(const DataflowGraph& graph, const MappingSearch& search);
  /// Of pass 0 (forward, or all) and 1 (backward). Null: too many ideals.
  const IdealLattice* lattice(std::size_t pass) const { return passes_[pass].lattice.get(); }
  const PartitionRules& rules(std::size_t pass) const { return passes_[pass].rules; }
  std::uint64_t ideals() const;
  /// No pass has too many.
  bool enumerated() const;

 private:
  struct Pass {
    std::shared_ptr<const IdealLattice> lattice;
    PartitionRules rules;
  };
  std::vector<Pass> passes_;
};

/// Partitions of every pass.
struct LayerPlan {
  std::vector<PartitionPath> paths;  ///< per pass
  LayerTime time, bound;
  double live_bytes = 0;
  std::uint64_t transitions = 0;
  bool exact = true;
  std::vector<std::uint32_t> stage_of;  ///< per partition, where the graph is cut into stages
  double stage_weight_bytes = 0;        ///< there: of the stage that holds most
};

/// The best partitions where tensors may take `live_room` bytes of DRAM. Nothing if none fit.
std::optional<LayerPlan> solve_layer(const std::vector<PassProgram>& programs,
                                     const GraphPasses& passes, const MappingSystem& system,
                                     const MappingSearch& search, double live_room);
/// The best pipeline of a graph without layers, stages and partitions at once. Nothing if none fits.
/// @pre one program, with a lattice and no pins
std::optional<LayerPlan> solve_pipeline(const ProgramCase& of, const PassProgram& pass,
                                        const IdealLattice& lattice);
/// No partitions are faster.
LayerTime layer_bound(const std::vector<PassProgram>& programs);

/// The first kernel that does not fit alone, in words: what is short and by how much. Empty: none.
std::string misfit(const std::vector<PassProgram>& programs, const DataflowGraph& graph);

/// Partitions as the report has them.
std::vector<MappedPartition> describe_partitions(const std::vector<PassProgram>& programs,
                                                 const LayerPlan& plan);

}  // namespace flopcast::mapping
