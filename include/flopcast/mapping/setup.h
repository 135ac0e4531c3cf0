// Floor 5: a setup.txt of the published DFModel as a question for the search.
//
//   Result<DfmodelSetup> setup = parse_dfmodel_setup(text, "setup.txt");
//   Result<MappingRequest> request = mapping_of_setup(*setup);
//
// The published model's assumptions (paper_model) and the setup's own numbers: peak rate is
// 2 width height cores clock, prices and powers are per GB/s, dimensions carry the parallelism they
// are bound to. With num_config 0, or as large as the number of kernels, the published code fixes a
// partition for each kernel; so does this.
// Source: src/setup.proto and src/intra_chip.py of DFModel.
#pragma once

#include "flopcast/mapping.h"

namespace flopcast {

/// Errors (kBadInput): a dimension without size or bandwidth, an unknown kind or parallelism,
/// dimensions whose product is not the number of chips, no cores, width, height or clock.
Result<MappingRequest> mapping_of_setup(const DfmodelSetup& setup);

}  // namespace flopcast
