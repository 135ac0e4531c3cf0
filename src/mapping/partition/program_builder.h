// Floor 5: from a sharded graph to what one chip sees of it (ChipProgram), pass by pass.
#pragma once

#include <vector>

#include "mapping/partition/chip_program.h"
#include "mapping/sharding/sharding.h"

namespace flopcast::mapping {

/// A program and the graph's kernels it is made of.
struct PassProgram {
  ChipProgram program;
  std::vector<std::uint32_t> kernels;  ///< program kernel -> graph kernel
  bool backward = false;
};

/// Everything a program depends on besides the graph.
struct ProgramCase {
  const DataflowWorkload* workload = nullptr;  ///< its graph and boundary at the microbatch
  const MappingSystem* system = nullptr;
  const MappingModel* model = nullptr;
  const MappingShape* shape = nullptr;
  const ShardedGraph* sharded = nullptr;
  std::int64_t microbatch = 1, microbatches = 1;
  std::int64_t tile = 1;  ///< tokens
  bool mix_passes = false;
  bool cut = false;  ///< the graph itself is cut into the pipeline's stages (pipeline_cut.h)
};

/// One program for the forward and one for the backward kernels; one for all where there are no
/// backward ones or passes may mix. Tensors that go from one to the other are an output here and an
/// input there.
std::vector<PassProgram> build_programs(const ProgramCase& of);

}  // namespace flopcast::mapping
