// What the texts, the JSON and the page of a mapping share.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/report/mapping.h"

namespace flopcast::report {

/// A flag of MappingModel by its name in JSON.
struct ModelSwitch {
  std::string_view name;
  bool MappingModel::*field;
  bool counts = true;  ///< without it something is left out; else it is a choice of form
};
std::span<const ModelSwitch> model_switches();

/// Classes of a chip's memory, largest kinds first.
std::array<std::pair<std::string_view, Bytes>, 5> memory_parts(const MappingMemory& memory);

/// Model FLOP of a step: of every layer and sample.
Flops workload_flops(const DataflowWorkload& workload);

/// limit_shares, those that are met, largest first.
std::vector<std::pair<MappingLimit, double>> ranked_limits(const Mapping& mapping);

/// "optimal", or "gap 0.2 %: no mapping takes less than 1.23 s".
std::string proof_words(const Mapping& mapping);
/// short_time, and "23.1 days" of what takes longer than a picosecond clock counts.
std::string time_words(Seconds time);

}  // namespace flopcast::report
